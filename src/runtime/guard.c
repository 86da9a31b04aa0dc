/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The fork guard: one word of private anonymous memory that the kernel wipes in every child
 * made by fork (also by _Fork and raw clone, which no atfork handler sees), and not in a
 * vfork child, which runs in the parent's own memory.
 *
 * weft_fork_guard points at a constant 1 until the page is there, and again if it cannot be
 * had: then only pthread_atfork protects the parent's slots.
 */
#include <sys/mman.h>

#include "runtime/runtime.h"
#include "runtime/sys.h"

#define GUARD_BYTES 4096

static const uint32_t guard_always = 1;
static uint32_t *guard_page;

WEFT_API const uint32_t *weft_fork_guard = &guard_always;

int weft_guard_open(void)
{
	long at = sys_call6(SYS_mmap, 0, GUARD_BYTES, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	long failed;

	if (at < 0 && at > -4096)
		return (int)at;
	failed = sys_call3(SYS_madvise, at, GUARD_BYTES, MADV_WIPEONFORK);
	if (failed) {
		sys_call2(SYS_munmap, at, GUARD_BYTES);
		return (int)failed;
	}
	guard_page = (uint32_t *)at;
	weft_guard_renew();
	__atomic_store_n(&weft_fork_guard, guard_page, __ATOMIC_RELEASE);
	return 0;
}

void weft_guard_renew(void)
{
	if (guard_page)
		__atomic_store_n(guard_page, 1, __ATOMIC_RELEASE);
}
