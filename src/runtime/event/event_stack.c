/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An event's stack: walked as in the SIGPROF handler (stack_walk.c), from the registers of the
 * caller of weft_event_*(); or, if the session's mode says so or the walk met something unknown,
 * registers and a copy for the collector to walk. On the thread itself, in handlers of the program
 * too; a SIGPROF handler that interrupts does its own walk.
 *
 * If there is no room for a copy, the frames found are written: of a stack that cannot be walked
 * (yet), the caller only.
 *
 * Only stacks whose bounds are known are walked: no system call is made here. The counters of
 * samples' stacks (stack_walked ...) do not count events.
 */
#include <string.h>

#include "runtime/core/handling.h"
#include "runtime/event/event.h"
#include "runtime/stack/registers.h"
#include "runtime/stack/stack.h"

/* A shorter copy is not worth it. */
#define COPY_LEAST 512

static void tell_frames(const struct weft_sample_record *sample, struct weft_event_stack *out)
{
	out->stack = WEFT_SAMPLE_FRAMES;
	out->end = sample->end;
	out->frame_count = sample->frame_count;
	out->map_number = sample->map_number;
	out->sample_flags = sample->flags;
}

/* Bytes after the head; 0: a copy would give more, and has room. */
static uint32_t event_stack_put_frames(const struct stack_take *take, struct weft_event_stack *out,
				       uint32_t room)
{
	struct weft_sample_record sample = {.end = WEFT_END_NO_MODULE, .flags = WEFT_SAMPLE_CUT};
	uint64_t *pcs = (uint64_t *)(void *)(out + 1);
	int is_good = 0;

	if (take->mode != WEFT_STACK_RAW)
		is_good = weft_stack_frames(take, &sample, pcs, weft_stack_frames_max(room / 8));
	if (!is_good && take->mode != WEFT_STACK_TABLE && take->mode != WEFT_STACK_FP &&
	    room >= REGISTER_COUNT * 8 + COPY_LEAST)
		return 0;
	if (!sample.frame_count) {
		pcs[0] = take->caller->pc;
		sample.frame_count = 1;
	}
	tell_frames(&sample, out);
	return sample.frame_count * 8;
}

static uint32_t put_copy(const struct stack_take *take, struct weft_event_stack *out, uint32_t room)
{
	uint64_t *registers = (uint64_t *)(void *)(out + 1),
		 there = take->view.to - take->view.from;
	uint32_t bytes = weft_stack_copy_bytes(there, room - REGISTER_COUNT * 8);

	registers_of_caller(registers, take->caller);
	weft_ring_copy(registers + REGISTER_COUNT, (const void *)(uintptr_t)take->view.from, bytes);
	out->stack = WEFT_SAMPLE_RAW;
	out->register_count = REGISTER_COUNT;
	out->copy_bytes = bytes;
	out->copy_address = take->view.from;
	out->sample_flags = take->view.flags;
	if (there > bytes)
		out->sample_flags |= WEFT_SAMPLE_CUT;
	return REGISTER_COUNT * 8 + bytes;
}

static uint32_t event_stack_put(const struct stack_take *take, struct weft_event_stack *out,
				uint32_t room)
{
	static const struct weft_event_stack empty;
	uint32_t bytes;

	memcpy(out, &empty, sizeof(empty));
	bytes = event_stack_put_frames(take, out, room);
	return bytes ? bytes : put_copy(take, out, room);
}

uint32_t weft_event_stack_write(struct weft_slot *slot, const struct weft_event_caller *caller,
				uint8_t *to, uint32_t room)
{
	struct stack_take take = {
		.slot = slot,
		.caller = caller,
		.view = weft_stack_find(slot, NULL, caller->sp),
		.mode = load_relaxed(&weft_rt.header->stack_mode),
	};
	uint32_t head = (uint32_t)sizeof(struct weft_event_stack), bytes;
	struct weft_handling handling;

	if (!take.view.known || room < head + 8)
		return 0;
	if (take.mode == WEFT_STACK_CHECK)
		take.mode = WEFT_STACK_AUTO;
	handling = weft_handling_begin();
	handling.before = 0; /* belonged to a walk that was left by a longjmp */
	bytes = event_stack_put(&take, (struct weft_event_stack *)(void *)to, room - head);
	weft_handling_end(handling);
	return bytes ? head + bytes : 0;
}
