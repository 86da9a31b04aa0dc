/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mlockall, whose price is the address space that there is: the session's and the tables', all
 * but a little of it reserved and no more, must not count for the program. So what the program
 * locks is its own: where the kernel refuses the whole by RLIMIT_MEMLOCK, and would not refuse
 * the program's own mappings, these are locked one by one; where it locks the whole, ours are
 * let go again, or they would use up the limit of a program that gives up its privileges later.
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
#define USER_TOP (UINT64_C(1) << 63) /* the vsyscall page, which is no mapping, lies above */

struct range {
	uint64_t low, high;
};
enum { SESSION, TABLES, LIBRARY, OURS };

extern const ElfW(Ehdr) library __asm__("__ehdr_start") __attribute__((visibility("hidden")));

/* Linked from 0 on, as shared objects are. */
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

/* The numbers that begin each line of /proc/self/maps. */
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

/* All that the program maps, in bytes; @locks: and each is locked. 0: not to be had. */
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
			if (locks) /* what cannot be touched is locked, and said to be an error */
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
		sys_call0(SYS_munlockall); /* what comes later is locked no longer */
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
