/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mlockall costs all address space that is mapped. That of the session and the tables, nearly all
 * of it only reserved, must not count for the program. So only the program's own mappings are
 * locked: if the kernel refuses mlockall by RLIMIT_MEMLOCK, but would not refuse those, they are
 * locked one by one; if it locks everything, ours are unlocked again, or they would use up the
 * limit of a program that gives up its privileges later.
 */
#include <fcntl.h>
#include <link.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "runtime/core/real.h"
#include "runtime/core/runtime.h"
#include "runtime/core/sys.h"
#include "runtime/hooks/hooks.h"
#include "runtime/stack/tables.h"

#ifndef MCL_ONFAULT
#define MCL_ONFAULT 4
#endif
#define LOCK_ON_FAULT 1 /* MLOCK_ONFAULT */
#define PAGE UINT64_C(4096)
#define USER_TOP (UINT64_C(1) << 63) /* the vsyscall page above it is no mapping */

struct range {
	uint64_t low, high;
};
enum { SESSION, TABLES, LIBRARY, OURS };

extern const ElfW(Ehdr) library __asm__("__ehdr_start") __attribute__((visibility("hidden")));

/* Shared objects are linked at address 0. */
static struct range find_library(void)
{
	const uint8_t *begin = (const uint8_t *)&library;
	const ElfW(Phdr) *ph = (const ElfW(Phdr) *)(const void *)(begin + library.e_phoff);
	struct range r = {(uint64_t)(uintptr_t)begin, 0};

	for (int i = 0; i < library.e_phnum; i++)
		if (ph[i].p_type == PT_LOAD && r.low + ph[i].p_vaddr + ph[i].p_memsz > r.high)
			r.high = r.low + ph[i].p_vaddr + ph[i].p_memsz;
	r.high = (r.high + PAGE - 1) & ~(PAGE - 1);
	return r;
}

static void find_ours(struct range ours[OURS])
{
	uint64_t session = (uint64_t)(uintptr_t)weft_rt.base;
	uint64_t tables = (uint64_t)(uintptr_t)weft_tables.base;

	ours[SESSION] = (struct range){session, session ? session + weft_rt.total_bytes : 0};
	ours[TABLES] = (struct range){tables, tables ? tables + weft_tables.bytes : 0};
	ours[LIBRARY] = find_library();
}

static int hook_mlock_is_ours(const struct range ours[OURS], const struct range *r)
{
	for (int i = 0; i < OURS; i++)
		if (r->low >= ours[i].low && r->high <= ours[i].high)
			return 1;
	return 0;
}

/* Parses the range at the beginning of each line of /proc/self/maps. */
struct parser {
	struct range now;
	int part; /* 0: low, 1: high, 2: the rest of the line */
};

/* 1: a mapping is complete. */
static int hook_mlock_take(struct parser *p, char c)
{
	uint64_t *number = p->part == 0 ? &p->now.low : &p->now.high;

	if (c == '\n') {
		*p = (struct parser){{0, 0}, 0};
	} else if (p->part < 2 && ((c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'))) {
		*number = *number << 4 | (uint64_t)(c <= '9' ? c - '0' : c - 'a' + 10);
	} else if (p->part < 2) {
		p->part++;
		return p->part == 2;
	}
	return 0;
}

/* The size of all of the program's mappings; @locks: locks each. 0: unknown. */
static uint64_t go_through(const struct range ours[OURS], int locks, long how)
{
	long fd = sys_call4(SYS_openat, AT_FDCWD, "/proc/self/maps", O_RDONLY | O_CLOEXEC, 0);
	struct parser p = {{0, 0}, 0};
	uint64_t bytes = 0;
	char text[2048] = {0};
	long got;

	if (fd < 0)
		return 0;
	while ((got = sys_call3(SYS_read, fd, text, sizeof(text))) > 0) {
		for (long i = 0; i < got; i++) {
			if (!hook_mlock_take(&p, text[i]) || p.now.low >= USER_TOP ||
			    hook_mlock_is_ours(ours, &p.now))
				continue;
			bytes += p.now.high - p.now.low;
			/* the result is ignored: an area without access is locked all the same */
			if (locks)
				sys_call3(how ? SYS_mlock2 : SYS_mlock, p.now.low,
					  p.now.high - p.now.low, how);
		}
	}
	sys_call1(SYS_close, fd);
	return bytes;
}

static int lock_own(const struct range ours[OURS], int flags)
{
	struct rlimit limit;
	uint64_t bytes = go_through(ours, 0, 0);

	if (!bytes || getrlimit(RLIMIT_MEMLOCK, &limit) || bytes > limit.rlim_cur)
		return -ENOMEM;
	if (flags & MCL_FUTURE) {
		if (sys_call1(SYS_mlockall, flags & ~MCL_CURRENT))
			return -ENOMEM;
	} else {
		sys_call0(SYS_munlockall); /* later mappings are no longer locked */
	}
	go_through(ours, 1, flags & MCL_ONFAULT ? LOCK_ON_FAULT : 0);
	return 0;
}

static void hook_mlock_let_go(const struct range ours[OURS])
{
	for (int i = 0; i < LIBRARY; i++)
		if (ours[i].high)
			sys_call2(SYS_munlock, ours[i].low, ours[i].high - ours[i].low);
}

WEFT_API int mlockall(int flags)
{
	struct range ours[OURS];
	int before = errno, result = weft_real(mlockall)(flags);

	if (!(flags & MCL_CURRENT) || !weft_rt.base || weft_rt_is_careful())
		return result;
	find_ours(ours);
	if (!result) {
		hook_mlock_let_go(ours);
	} else if (errno == ENOMEM && !lock_own(ours, flags)) {
		errno = before;
		result = 0;
	}
	return result;
}
