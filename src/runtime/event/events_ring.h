/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A thread's events ring, for its two writers: coro_switch.c and event_put.c.
 *
 * Books: attempted is counted before the append, and the outcome after it. Handlers of the program
 * that append, too, may come in between, so each count is one instruction: none of theirs is
 * overwritten. Pairs: read_events() in src/collector/session/session_books.c.
 */
#ifndef WEFT_RUNTIME_EVENTS_RING_H
#define WEFT_RUNTIME_EVENTS_RING_H

#include "runtime/core/ring_append.h"
#include "runtime/event/event.h"

static inline struct ring events_ring(struct weft_slot *slot)
{
	return (struct ring){.producer = &slot->events_p,
			     .consumer = &slot->events_c,
			     .data = (uint8_t *)slot + weft_rt.events_offset,
			     .bytes = weft_layout.events_bytes,
			     .stack_low = slot->thread.stack_low,
			     .stack_high = slot->thread.stack_high};
}

static inline void events_add_one(struct weft_slot *slot, enum weft_counter counter)
{
	weft_event_add(&slot->counters[counter], 1);
}

/* Tells the collector that the ring is not empty. The index costs a division, once. */
static inline void events_mark(struct weft_slot *slot)
{
	if (UNLIKELY(!slot->events.index))
		slot->events.index = UINT64_C(1) + weft_rt_index(slot);
	weft_rt_mark((uint32_t)(slot->events.index - 1));
}

/* Counts the outcome. 1: written. */
static inline int events_count(struct weft_slot *slot, enum weft_ring_result result)
{
	if (UNLIKELY(result == WEFT_RING_FULL)) {
		events_add_one(slot, WEFT_COUNTER_EVENTS_RING_FULL);
		return 0;
	}
	if (UNLIKELY(result == WEFT_RING_NESTED)) {
		events_add_one(slot, WEFT_COUNTER_EVENTS_NESTED);
		return 0;
	}
	if (UNLIKELY(result == WEFT_RING_HEALED))
		events_add_one(slot, WEFT_COUNTER_EVENTS_HEALED);
	events_add_one(slot, WEFT_COUNTER_EVENTS_WRITTEN);
	events_mark(slot);
	return 1;
}

#endif
