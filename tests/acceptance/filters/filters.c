/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program that filters its system calls: what is not in its list kills. It computes, says "done"
 * and exits with 7.
 *
 *   filters HOW LIST WORK
 *
 *   HOW    by whom the filter is set: prctl and syscall are libc's; library: as libseccomp does,
 *          which asks first whether there could be one; raw: the program's own instruction; all:
 *          the same for all threads at once (TSYNC); strict: strict mode, where LIST is not used
 *   LIST   docker, system: what a container and a service may call (lists.h); refuse: the former,
 *          but by EPERM; tight: what it calls itself; bare: the same without the signal's return
 *   WORK   alone: it computes; long: for seconds; threads: so do four threads, begun afterwards;
 *          before: threads begun before; wait: until its stdin ends; exec PROGRAM...: becomes
 *          that; thread: the filter is one thread's own, and others are begun by it
 *
 * no_new_privs is set only where root does not have to (FILTERS_PRIVS=keep: by root, it is not).
 * Where the filter is set behind libc's back, threads are begun when the session says that it was
 * seen: a process alone cannot know how long that takes.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <weft/abi/session.h>

#include "base/sys_call.h"
#include "lists.h"

#if defined(__x86_64__)
#define OWN_ARCH AUDIT_ARCH_X86_64
#else
#define OWN_ARCH AUDIT_ARCH_AARCH64
#endif
#define FILTER_MAX 1024
#define THREADS 4
#define STEPS 40000000ul
#define LONG 16
#define PATIENCE 2000 /* times STEPS: minutes */

static const struct weft_session_header *session; /* NULL: there is none */
static volatile unsigned long sink;
static int begin_threads_now;

static void compute(void)
{
	for (unsigned long i = 0; i < STEPS; i++)
		sink += i * i;
}

/* Where weft's session lies in this process. */
static void find_session(void)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	char line[512];

	while (maps && fgets(line, sizeof(line), maps)) {
		uint64_t low = strtoull(line, NULL, 16);

		if (!session && strstr(line, "memfd:weft-session"))
			session = (const void *)(uintptr_t)low;
	}
	if (maps)
		fclose(maps);
}

static void await_word(void)
{
	/* of a collector */
	if (!session || session->features & WEFT_FEATURE_RUNTIME_MADE)
		return;
	for (int i = 0; i < PATIENCE; i++) {
		if (__atomic_load_n(&session->features, __ATOMIC_ACQUIRE) & WEFT_FEATURE_CAREFUL)
			return;
		compute();
	}
}

/* ---- the filter */

static struct sock_fprog *filter_of(const char *list)
{
	static struct sock_filter code[FILTER_MAX];
	static struct sock_fprog program = {.filter = code};
	uint32_t others =
		strcmp(list, "refuse") ? SECCOMP_RET_KILL_PROCESS : SECCOMP_RET_ERRNO | EPERM;
	const struct list *l = lists_find(list);
	unsigned short n = 0;

	if (!l)
		return NULL;
	code[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
						 offsetof(struct seccomp_data, arch));
	code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, OWN_ARCH, 1, 0);
	code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
	code[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
						 offsetof(struct seccomp_data, nr));
	for (size_t i = 0; i < l->count; i++) {
		code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K,
							 (uint32_t)l->number[i], 0, 1);
		code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	}
	code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, others);
	program.len = n;
	return &program;
}

static long set_filter(const char *how, struct sock_fprog *program)
{
	if (!strcmp(how, "strict"))
		return prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
	if (!strcmp(how, "prctl"))
		return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, program);
	if (!strcmp(how, "library")) {
		(void)syscall(SYS_seccomp, SECCOMP_SET_MODE_STRICT, 1, NULL);
		(void)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC,
			      NULL);
	}
	if (!strcmp(how, "library") || !strcmp(how, "syscall"))
		return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, program);
	return sys_call3(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
			 strcmp(how, "all") ? 0 : SECCOMP_FILTER_FLAG_TSYNC, program);
}

static int is_hidden(const char *how)
{
	return !strcmp(how, "raw") || !strcmp(how, "all");
}

static int give_up_privileges(const char *how)
{
	const char *keep = getenv("FILTERS_PRIVS");

	if (keep && !strcmp(keep, "keep") && geteuid() == 0)
		return 0;
	return is_hidden(how) ? (int)sys_call5(SYS_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
			      : prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
}

static void begin_filter(const char *how, const char *list)
{
	struct sock_fprog *program = filter_of(list);

	if (!program || give_up_privileges(how) || set_filter(how, program)) {
		perror(how);
		exit(3);
	}
}

/* ---- work */

static void *work(void *arg)
{
	while (arg && !__atomic_load_n(&begin_threads_now, __ATOMIC_ACQUIRE))
		compute();
	for (int i = 0; i < 4; i++)
		compute();
	return NULL;
}

static void begin_threads(pthread_t thread[THREADS], void *arg)
{
	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&thread[i], NULL, work, arg))
			exit(4);
}

static void join_threads(const pthread_t thread[THREADS])
{
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
}

static void wait_for_stdin(void)
{
	char byte;

	while (read(0, &byte, 1) < 0 && errno == EAGAIN)
		compute();
}

static void begin_threads_after(const char *how, pthread_t thread[THREADS])
{
	if (is_hidden(how))
		await_word();
	begin_threads(thread, NULL);
}

static void *filtered(void *arg)
{
	char **word = arg;
	pthread_t thread[THREADS];

	begin_filter(word[0], word[1]);
	begin_threads_after(word[0], thread);
	join_threads(thread);
	return NULL;
}

static void do_work(char **word)
{
	pthread_t thread[THREADS], one;

	if (!strcmp(word[2], "before"))
		begin_threads(thread, &begin_threads_now);
	if (!strcmp(word[2], "thread")) {
		pthread_create(&one, NULL, filtered, word);
		pthread_join(one, NULL);
		return;
	}
	begin_filter(word[0], word[1]);
	__atomic_store_n(&begin_threads_now, 1, __ATOMIC_RELEASE);
	if (!strcmp(word[2], "threads"))
		begin_threads_after(word[0], thread);
	if (!strcmp(word[2], "threads") || !strcmp(word[2], "before"))
		join_threads(thread);
	if (!strcmp(word[2], "wait"))
		wait_for_stdin();
	if (!strcmp(word[2], "exec")) {
		execv(word[3], word + 3);
		_exit(5);
	}
	for (int i = 0; i < (strcmp(word[2], "long") ? 1 : LONG); i++)
		work(NULL);
}

int main(int argc, char **argv)
{
	if (argc < 4)
		return 2;
	if (!strcmp(argv[3], "wait"))
		fcntl(0, F_SETFL, O_NONBLOCK);
	find_session();
	if (!strcmp(argv[1], "none"))
		wait_for_stdin();
	else
		do_work(argv + 1);
	if (write(1, "done\n", 5) != 5)
		return 6;
	if (!strcmp(argv[1], "strict")) /* exit_group is not allowed there */
		sys_call1(SYS_exit, 7);
	return 7;
}
