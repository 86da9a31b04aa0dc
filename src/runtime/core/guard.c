/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The fork guard: one word of private anonymous memory that the kernel wipes in every child made by
 * fork (also by _Fork and raw clone, which run no atfork handler), and not in a vfork child, which
 * runs in the parent's own memory.
 *
 * weft_fork_guard points at an ordinary word until the page is mapped, and for good if it cannot be
 * mapped: then only pthread_atfork protects the parent's slots.
 */
#include "runtime/core/runtime.h"
#include "runtime/core/sys.h"

#define GUARD_BYTES 4096

static uint32_t guard_always = WEFT_GUARD_OWN;
static uint32_t *guard_page;
/* what the page holds in a process that owns its slots */
static uint32_t guard_word = WEFT_GUARD_OWN;

WEFT_API const uint32_t *weft_fork_guard = &guard_always;

int weft_guard_open(void)
{
	long at = sys_map_memory(GUARD_BYTES);
	long failed;

	if (sys_is_error(at))
		return (int)at;
	failed = sys_call3(SYS_madvise, at, GUARD_BYTES, MADV_WIPEONFORK);
	if (failed) {
		sys_call2(SYS_munmap, at, GUARD_BYTES);
		return (int)failed;
	}
	weft_area_add((const void *)at, GUARD_BYTES);
	guard_page = (uint32_t *)at;
	weft_guard_renew();
	store_release(&weft_fork_guard, guard_page);
	return 0;
}

void weft_guard_renew(void)
{
	uint32_t word = load_relaxed(&guard_word);

	store_release(guard_page ? guard_page : &guard_always, word);
}

/* A forked child that has not noticed the fork keeps its 0. */
void weft_guard_publishes(int on)
{
	store_relaxed(&guard_word, WEFT_GUARD_OWN | (on ? WEFT_GUARD_PUBLISHES : 0));
	if (weft_guard_holds())
		weft_guard_renew();
}
