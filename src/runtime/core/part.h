/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a part of the runtime does when a slot or a process begins or ends. The core (slot.c,
 * session.c, fork.c) calls all parts in the order of the table in start/parts.c, and knows none of
 * them by name. A part leaves out the calls that do not concern it. Everything here is
 * async-signal-safe.
 */
#ifndef WEFT_RUNTIME_PART_H
#define WEFT_RUNTIME_PART_H

#include "runtime/core/runtime.h"

struct weft_part {
	/* A session has begun, the first or a forked child's; its header is still empty. */
	void (*session_begins)(void);
	/* The calling thread has its slot, or has just lost it; signals are blocked. */
	void (*slot_changed)(void);
	/* The thread is about to lose @slot: no pointer that others see may lead there any more. */
	void (*slot_ends)(struct weft_slot *slot);
	/* Before a fork: copies what the child begins with into its private slot. */
	void (*copy)(struct weft_slot *to, const struct weft_slot *from);
	/* In a child whose fork ran no handlers: @slot may hold another thread's state. */
	void (*forget)(struct weft_slot *slot);
	/* In a forked child, whose thread has its private slot now, if it had a slot. */
	void (*after_fork)(void);
};

/* WEFT_CALL_PARTS(slot_ends, slot) calls slot_ends() of each part that has one, in order. */
/* clang-format off */
#define WEFT_CALL_PARTS(what, ...) \
	do { \
		for (const struct weft_part *const *part = weft_rt.parts; part && *part; part++) \
			if ((*part)->what) \
				(*part)->what(__VA_ARGS__); \
	} while (0)
/* clang-format on */

#endif
