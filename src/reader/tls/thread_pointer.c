/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A thread's pointer from outside. glibc registers a robust list in every thread: its head lies in
 * the thread's own struct, at a distance that is the same for all threads of a process. On x86-64
 * the struct begins with a pointer to itself, twice, and the thread pointer is its address. Else
 * the libc's lists of threads are asked. Nobody is stopped for it: that may end a wait.
 */
#include "proc/process_file.h"
#include "reader/tls/tls_place.h"

#include <elf.h>
#include <errno.h>
#include <linux/futex.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#if defined(__x86_64__)
#include <asm/prctl.h>
#include <sys/user.h>
#endif

#define DISTANCE_MAX 2048
#define PAGE_BYTES 4096
#ifndef NT_ARM_TLS
#define NT_ARM_TLS 0x401
#endif

int thread_pointer_of_stopped(int32_t tid, uint64_t *pointer)
{
#if defined(__x86_64__)
	struct user_regs_struct registers;
	struct iovec where = {&registers, sizeof(registers)};

	if (ptrace(PTRACE_GETREGSET, tid, NT_PRSTATUS, &where) < 0)
		return -errno;
	if (where.iov_len < sizeof(registers)) /* 32 bits */
		return -ENOTSUP;
	*pointer = registers.fs_base;
#else
	struct iovec where = {pointer, sizeof(*pointer)};

	if (ptrace(PTRACE_GETREGSET, tid, NT_ARM_TLS, &where) < 0)
		return -errno;
#endif
	return 0;
}

#if defined(__x86_64__)
static int begins_thread(const uint64_t *words, uint64_t at)
{
	return words[0] == at && words[2] == at;
}

/* The nearest struct that begins below the list's head. */
static int scan_back(struct target *t, uint64_t head, uint64_t *pointer)
{
	uint64_t words[DISTANCE_MAX / 8], low = head - DISTANCE_MAX;
	size_t count;
	int rc = target_read(t, low, words, DISTANCE_MAX);

	if (rc == -EFAULT) {
		low = head & ~(uint64_t)(PAGE_BYTES - 1);
		low = head - low > DISTANCE_MAX ? head - DISTANCE_MAX : low;
		rc = target_read(t, low, words, head - low);
	}
	if (rc)
		return rc;
	count = (head - low) / 8;
	for (size_t i = count < 3 ? 0 : count - 2; i-- > 0;)
		if (begins_thread(&words[i], low + i * 8)) {
			*pointer = low + i * 8;
			t->robust_distance = head - *pointer;
			return 0;
		}
	return -ENOTSUP;
}

static int pointer_of_head(struct target *t, uint64_t head, uint64_t *pointer)
{
	uint64_t at = head - t->robust_distance, words[3];

	if (head & 7 || head < DISTANCE_MAX)
		return -ENOTSUP;
	if (!t->robust_distance || target_read(t, at, words, sizeof(words)) ||
	    !begins_thread(words, at))
		return scan_back(t, head, pointer);
	*pointer = at;
	return 0;
}
#else
static int pointer_of_head(struct target *t, uint64_t head, uint64_t *pointer)
{
	(void)t, (void)head, (void)pointer;
	return -ENOTSUP;
}
#endif

static int find_by_robust_list(struct target *t, int32_t tid, uint64_t *pointer)
{
	struct robust_list_head *head = NULL;
	size_t bytes;

	if (syscall(SYS_get_robust_list, tid, &head, &bytes) < 0)
		return -errno;
	return head ? pointer_of_head(t, (uint64_t)(uintptr_t)head, pointer) : -ENOTSUP;
}

/* The thread's id in its innermost PID namespace. */
static int32_t thread_pointer_inside_tid(const struct target *t, int32_t tid)
{
	char text[4096] = "";

	if (t->proc_fd >= 0)
		proc_read_task(t->proc_fd, tid, "status", text, sizeof(text));
	return pid_innermost(text, tid, NULL);
}

int thread_pointer_find(struct target *t, int32_t tid, uint64_t *pointer)
{
	int rc = find_by_robust_list(t, tid, pointer);

	if (rc == 0 || rc == -ESRCH)
		return rc;
	rc = thread_lists_find(t, thread_pointer_inside_tid(t, tid), pointer);
	return rc == 0 || rc == -ESRCH ? rc : -ENOTSUP;
}
