/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One sample's stack, into the ring: as frames that the handler walks (stack_walk.c), or as
 * registers and a copy for the collector to walk (stack_copy.c). Async-signal-safe; no system
 * call but those that are counted where they stand.
 *
 *   stack_walk.c   frames, walked in place
 *   stack_copy.c   registers and a copy
 *   module_map.c   which rule a pc has
 *   tables.c       the unwind tables, mapped
 */
#ifndef WEFT_RUNTIME_STACK_H
#define WEFT_RUNTIME_STACK_H

#include <stdint.h>
#include <ucontext.h>

#include <weft/abi/session.h>

#include "runtime/core/ring.h"

/* What is known of the stack at some SP: [from, to) may be read, at most. */
struct stack_view {
	uint64_t from, to;
	uint16_t flags; /* enum weft_sample_flag */
	int known;
};

/* @uc: for where the alternate signal stack lies; NULL: not known. */
struct stack_view weft_stack_find(const struct weft_slot *slot, const ucontext_t *uc, uint64_t sp);

struct weft_event_caller;

/* What one sample, or one event's stack, is made from. */
struct stack_take {
	struct weft_slot *slot;
	const ucontext_t *uc; /* NULL: from @caller on, on the thread itself */
	const struct weft_event_caller *caller;
	struct ring ring;
	struct stack_view view;
	enum weft_stack_mode mode;
	uint32_t beside; /* bytes to keep free behind the record, for its labels */
};

/* Both: a record in the ring, its stack and length filled in, not published; NULL = full. */
struct weft_sample_record *weft_stack_copy(const struct stack_take *take);
struct weft_sample_record *weft_stack_walk(const struct stack_take *take);

/* Frames of an event's stack to @pcs, and what is to be said of them to @sample, which is not in a
 * ring. 1: they are all that there is; 0: a copy would tell more. */
int weft_stack_frames(const struct stack_take *take, struct weft_sample_record *sample,
		      uint64_t *pcs, uint32_t max);

/* Frames for a CHECK record, behind the copy that @sample has already. */
void weft_stack_check(const struct stack_take *take, struct weft_sample_record *sample);

/* By words: a call of memset, or `rep stos`, costs more than these few stores. */
static inline void weft_sample_clear(struct weft_sample_record *sample)
{
	uint64_t *word = (uint64_t *)(void *)sample;

	for (unsigned int i = 0; i < sizeof(*sample) / sizeof(*word); i++)
		__atomic_store_n(&word[i], 0, __ATOMIC_RELAXED);
}

/* Bytes of frames at most, as the session wants them. */
uint32_t weft_stack_frames_bytes(const struct ring *ring);

/* The one system call on a stack: stops cleanly where the memory ends. Bytes, 0 = refused. */
uint32_t weft_stack_self_read(struct weft_slot *slot, void *to, uint64_t from, uint32_t bytes);

#endif
