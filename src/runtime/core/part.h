/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a part of the runtime does at the turns of a slot's and a process's life. The ground
 * (slot.c, session.c, fork.c) tells all parts in the order of the table in start/parts.c, and knows
 * none of them by name. A part leaves out what does not concern it. Everything here is
 * async-signal-safe.
 */
#ifndef WEFT_RUNTIME_PART_H
#define WEFT_RUNTIME_PART_H

#include "runtime/core/runtime.h"

struct weft_part {
	/* There is a session, the first or a forked child's: its header says nothing yet. */
	void (*session_begins)(void);
	/* The calling thread has its slot, or has just lost it; signals are blocked. */
	void (*slot_changed)(void);
	/* It is about to lose @slot: nothing outside may lead there any more. */
	void (*slot_ends)(struct weft_slot *slot);
	/* Before a fork: what the child is to begin with, into the slot that will be its own. */
	void (*copy)(struct weft_slot *to, const struct weft_slot *from);
	/* In a child that nobody prepared: @slot may hold another thread's. */
	void (*forget)(struct weft_slot *slot);
	/* In a forked child, whose slot, if its thread had one, is its own now. */
	void (*after_fork)(void);
};

/* WEFT_TELL_PARTS(slot_ends, slot): each part that has something to do then, in order. */
/* clang-format off */
#define WEFT_TELL_PARTS(what, ...) \
	do { \
		for (const struct weft_part *const *part = weft_rt.parts; part && *part; part++) \
			if ((*part)->what) \
				(*part)->what(__VA_ARGS__); \
	} while (0)
/* clang-format on */

#endif
