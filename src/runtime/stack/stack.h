/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One sample's stack, written into the ring: as frames that the handler walks (stack_walk.c), or as
 * registers and a copy for the collector to walk (stack_copy.c). Async-signal-safe; the only system
 * calls are those with counters of their own.
 *
 *   stack_walk.c   frames, walked in place
 *   stack_copy.c   registers and a copy
 *   module_map.c   which rule a pc has
 *   tables.c       the unwind tables, mapped
 *   registers.h    registers, by DWARF number
 */
#ifndef WEFT_RUNTIME_STACK_H
#define WEFT_RUNTIME_STACK_H

#include <stdint.h>
#include <ucontext.h>

#include <weft/abi/session.h>

#include "runtime/core/ring.h"
#include "runtime/core/runtime.h"

/* What is known of the stack that @sp is on: at most [from, to) may be read. */
struct stack_view {
	uint64_t from, to;
	uint16_t flags; /* enum weft_sample_flag */
	int known;
};

/* @uc says where the alternate signal stack lies; NULL: not known. */
struct stack_view weft_stack_find(const struct weft_slot *slot, const ucontext_t *uc, uint64_t sp);

struct weft_event_caller;

/* The input of one sample, or of one event's stack. */
struct stack_take {
	struct weft_slot *slot;
	const ucontext_t *uc; /* NULL: from @caller on, in the thread itself */
	const struct weft_event_caller *caller;
	struct ring ring;
	struct stack_view view;
	enum weft_stack_mode mode;
	uint32_t beside; /* bytes to keep free after the record, for its labels */
};

/* Both return a record in the ring with its stack and length, not published; NULL: no room. */
struct weft_sample_record *weft_stack_copy(const struct stack_take *take);
struct weft_sample_record *weft_stack_walk(const struct stack_take *take);

/* Walks an event's stack into @pcs; flags and counts go to @sample, which is not in a ring. 1: the
 * frames are all there are; 0: a copy would give more. */
int weft_stack_frames(const struct stack_take *take, struct weft_sample_record *sample,
		      uint64_t *pcs, uint32_t max);

/* Appends frames to the copy in @sample, for a CHECK record. */
void weft_stack_check(const struct stack_take *take, struct weft_sample_record *sample);

/* How much of a stack is copied: as the session allows, and at most @room. */
static inline uint32_t weft_stack_copy_bytes(uint64_t there, uint32_t room)
{
	uint32_t limit = load_relaxed(&weft_rt.header->stack_copy_bytes);

	limit = limit < WEFT_STACK_COPY_MAX ? limit : WEFT_STACK_COPY_MAX;
	limit = limit < room ? limit : room;
	return (there < limit ? (uint32_t)there : limit) & ~7u;
}

/* How many frames are kept: as the session allows, and at most @room. */
static inline uint32_t weft_stack_frames_max(uint32_t room)
{
	uint32_t frames = load_relaxed(&weft_rt.header->frames_max);

	frames = frames - 1 < WEFT_FRAMES_MAX ? frames : WEFT_FRAMES_MAX;
	return frames < room ? frames : room;
}

/* By words: a call of memset, or `rep stos`, costs more than these few stores. */
static inline void weft_sample_clear(struct weft_sample_record *sample)
{
	uint64_t *word = (uint64_t *)(void *)sample;

	for (unsigned int i = 0; i < sizeof(*sample) / sizeof(*word); i++)
		store_relaxed(&word[i], 0);
}

/* The largest size of frames, by the session's frames_max. */
uint32_t weft_stack_frames_bytes(const struct ring *ring);

/* Reads our own memory by a system call, up to where it ends. Bytes read, 0 = refused. */
uint32_t weft_stack_self_read(struct weft_slot *slot, void *to, uint64_t from, uint32_t bytes);

#endif
