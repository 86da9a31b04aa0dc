/* SPDX-License-Identifier: Apache-2.0 */
/* For the tests of events: a recording that is on, settings, and what is in the thread's ring. */
#ifndef WEFT_TESTS_EVENTS_UNIT_H
#define WEFT_TESTS_EVENTS_UNIT_H

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <weft/event.h>

#include "base/ring_consumer.h"
#include "runtime/core/runtime.h"
#include "runtime/event/event.h"

/* A record as it was taken. */
struct taken {
	struct weft_event_record r;
	uint8_t rest[256 * 1024];
};

static struct taken taken __attribute__((unused));

static inline void record(enum weft_run_state state)
{
	__atomic_store_n(&weft_rt.header->run_state, state, __ATOMIC_RELEASE);
}

/* The collector's word, as it lies in the session: to a target for reading alone. */
static inline void set_text(const char *lines)
{
	struct weft_event_text *text =
		(void *)(weft_rt.base + weft_layout.event_area_offset + WEFT_EVENT_ROWS_BYTES);

	if (mprotect(text, WEFT_EVENT_TEXT_BYTES, PROT_READ | PROT_WRITE))
		abort();
	__atomic_store_n(&text->seq, text->seq + 1, __ATOMIC_RELEASE);
	text->bytes = (uint32_t)strlen(lines);
	memcpy(text + 1, lines, text->bytes);
	__atomic_store_n(&text->seq, text->seq + 1, __ATOMIC_RELEASE);
}

static inline struct weft_event_row *row_of_type(const struct weft_event_type *type)
{
	return &weft_event_rows[type->number];
}

/* Empties the slot's ring and zeroes its counters. */
static inline void events_begin(struct weft_slot *slot, struct ring_reader *reader)
{
	memset(&slot->events_p, 0, sizeof(slot->events_p));
	memset(&slot->events_c, 0, sizeof(slot->events_c));
	memset(slot->counters, 0, sizeof(slot->counters));
	slot->events.commits = slot->events.open_contexts = 0;
	ring_reader_open(reader, &slot->events_p, &slot->events_c,
			 (const uint8_t *)slot + weft_layout.events_offset,
			 weft_layout.events_bytes);
}

static inline uint64_t value_at(unsigned int index)
{
	uint64_t value;

	memcpy(&value, taken.rest + 8 * (size_t)index, sizeof(value));
	return value;
}

#endif
