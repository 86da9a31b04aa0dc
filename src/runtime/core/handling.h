/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Marks handlers of ours that run, and events that walk a stack, for those who wait until they are
 * done: on a thread with a slot by a plain store, else by a shared count. weft_handling_end() takes
 * the result of begin; a handler that interrupts a walk restores what it found.
 */
#ifndef WEFT_RUNTIME_HANDLING_H
#define WEFT_RUNTIME_HANDLING_H

#include "runtime/core/runtime.h"

struct weft_handling {
	struct weft_slot *slot; /* NULL: counted */
	uint64_t before;
};

static inline struct weft_handling weft_handling_begin(void)
{
	struct weft_handling h = {.slot = weft_slot_mine()};

	if (LIKELY(h.slot != NULL)) {
		h.before = load_relaxed(&h.slot->thread.handling);
		store_relaxed(&h.slot->thread.handling,
			      (uint64_t)(uintptr_t)__builtin_frame_address(0));
	} else {
		__atomic_fetch_add(&weft_rt.header->handling, 1, __ATOMIC_RELAXED);
	}
	KEEP_ORDER();
	return h;
}

static inline void weft_handling_end(struct weft_handling h)
{
	if (LIKELY(h.slot != NULL))
		store_release(&h.slot->thread.handling, h.before);
	else
		__atomic_fetch_sub(&weft_rt.header->handling, 1, __ATOMIC_RELEASE);
}

#endif
