/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program that unmaps, closes or replaces mappings that it does not know would take weft's memory
 * away, and the next handler, or the next write of a context, would end it. So weft's areas
 * (core/maps.c) are left out of munmap and mprotect, which succeed for the rest, and mmap refuses
 * MAP_FIXED where it would replace one: what is unmapped of our areas stays ours, or a later
 * MAP_FIXED would get our records written into the program's own memory.
 *
 * Not kept from them: system calls that the program makes itself, mremap, and madvise, whose
 * MADV_DONTNEED takes nothing from shared memory.
 *
 * Allocators call these functions, also before the constructor and from inside malloc: nothing is
 * looked up here, and before libc's functions are known the system call is made, also where the
 * program filters them: it is its own. Async-signal-safe, as munmap is in practice; the cost is a
 * look at a dozen words.
 */
#include <sys/mman.h>

#include "runtime/core/real.h"
#include "runtime/core/sys.h"
#include "runtime/hooks/hooks.h"

#define PAGE UINT64_C(4096)

static int next_munmap(uint64_t low, uint64_t bytes, int unused)
{
	(void)unused;
	if (weft_real_table.munmap)
		return weft_real_table.munmap((void *)(uintptr_t)low, bytes);
	return (int)sys_result(sys_call_anyway(SYS_munmap, (long)low, (long)bytes, 0, 0, 0, 0));
}

static int next_mprotect(uint64_t low, uint64_t bytes, int protection)
{
	if (weft_real_table.mprotect)
		return weft_real_table.mprotect((void *)(uintptr_t)low, bytes, protection);
	return (int)sys_result(
		sys_call_anyway(SYS_mprotect, (long)low, (long)bytes, protection, 0, 0, 0));
}

/* One past the last byte of its last page; 0: the kernel will refuse the range as it is. */
static uint64_t hook_maps_end(const void *at, size_t bytes)
{
	uint64_t low = (uint64_t)(uintptr_t)at, high = (low + bytes + PAGE - 1) & ~(PAGE - 1);

	return low % PAGE || high <= low ? 0 : high;
}

/* Calls @next for what is the program's own, from the lowest on, until it fails. */
static int around_ours(void *at, size_t bytes, int argument,
		       int (*next)(uint64_t low, uint64_t bytes, int argument))
{
	uint64_t low = (uint64_t)(uintptr_t)at, high = hook_maps_end(at, bytes);
	struct weft_mapping ours;
	int result = 0;

	if (!weft_area_in(low, high, &ours))
		return next(low, bytes, argument);
	while (!result && low < high) {
		uint64_t to = weft_area_in(low, high, &ours) ? ours.low : high;

		if (to > low)
			result = next(low, to - low, argument);
		low = to < high ? ours.high : high;
	}
	return result;
}

WEFT_API int munmap(void *at, size_t bytes)
{
	return around_ours(at, bytes, 0, next_munmap);
}

WEFT_API int mprotect(void *at, size_t bytes, int protection)
{
	return around_ours(at, bytes, protection, next_mprotect);
}

WEFT_API void *mmap(void *at, size_t bytes, int protection, int flags, int fd, off_t offset)
{
	struct weft_mapping ours;

	if ((flags & MAP_FIXED) &&
	    weft_area_in((uint64_t)(uintptr_t)at, hook_maps_end(at, bytes), &ours)) {
		errno = ENOMEM;
		return MAP_FAILED;
	}
	if (weft_real_table.mmap)
		return weft_real_table.mmap(at, bytes, protection, flags, fd, offset);
	return (void *)sys_result(sys_call_anyway(SYS_mmap, SYS_ARG(at), (long)bytes, protection,
						  flags, fd, (long)offset));
}

/* musl has it as a macro, and as a symbol for programs that were linked with it. */
void *weft_mmap64(void *at, size_t bytes, int protection, int flags, int fd,
		  off_t offset) __asm__("mmap64");

WEFT_API void *weft_mmap64(void *at, size_t bytes, int protection, int flags, int fd, off_t offset)
{
	return mmap(at, bytes, protection, flags, fd, offset);
}
