/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The books of a session: every slot's, closed when its thread ends, and the sums of all.
 *
 * The collector takes nobody's word for it that they balance. What its target counted
 * (attempted, written, lost) and what it counted itself (delivered, refused) must agree:
 *   attempted = written + lost in the handler
 *   written = delivered + refused + stolen
 * for a thread that has ended; a thread that runs, or was killed, may have one handler at
 * work, and records that are not drained yet: they are pending. What these rules do not
 * explain is in no column, so that the sums do not balance either, and is counted as a
 * generation out of balance.
 */
#include "collector/session_private.h"

#include "base/session_layout.h"

#include <string.h>

#define TRIES 8

struct books {
	uint64_t counter[WEFT_COUNTER_COUNT];
	uint64_t attempted, written, lost, stolen;
	uint64_t delivered, refused; /* the collector's own */
};

enum kind { BOOK, LOST, CUT, CTX, INFO };

static const enum kind kinds[WEFT_COUNTER_COUNT] = {
#define KIND(number, id, name, kind, text) [number] = kind,
	WEFT_COUNTERS(KIND)
#undef KIND
};

static uint64_t sum_of_lost(const uint64_t *counter)
{
	uint64_t sum = 0;

	for (unsigned int i = 0; i < WEFT_COUNTER_COUNT; i++)
		if (kinds[i] == LOST)
			sum += counter[i];
	return sum;
}

static void read_counters(const uint64_t *from, uint64_t *to)
{
	for (unsigned int i = 0; i < WEFT_COUNTER_COUNT; i++)
		to[i] = __atomic_load_n(&from[i], __ATOMIC_RELAXED);
}

/* Begun by a handler and not finished. */
static int64_t unfinished(const struct books *b)
{
	return (int64_t)(b->attempted - b->written - (b->lost - b->stolen));
}

/* Written and not taken. */
static int64_t left(const struct books *b)
{
	return (int64_t)(b->written - b->delivered - b->refused - b->stolen);
}

static void read_once(const struct weft_slot *slot, struct books *b)
{
	b->attempted = __atomic_load_n(&slot->counters[WEFT_COUNTER_ATTEMPTED], __ATOMIC_ACQUIRE);
	read_counters(slot->counters, b->counter);
	b->written = __atomic_load_n(&slot->samples_p.written, __ATOMIC_RELAXED);
	b->counter[WEFT_COUNTER_ATTEMPTED] = b->attempted;
	b->lost = sum_of_lost(b->counter);
	b->stolen = b->counter[WEFT_COUNTER_LOST_STOLEN];
}

/* Of a thread that runs: again, when another sample began meanwhile, or its stores are seen
 * in another order than it made them. */
static void read_books(const struct weft_slot *slot, const struct slot_reader *reader,
		       struct books *b)
{
	const uint64_t *attempted = &slot->counters[WEFT_COUNTER_ATTEMPTED];

	for (int i = 0; i < TRIES; i++) {
		read_once(slot, b);
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		if (__atomic_load_n(attempted, __ATOMIC_RELAXED) == b->attempted &&
		    unfinished(b) >= 0)
			break;
	}
	b->delivered = reader->delivered;
	b->refused = reader->refused;
}

static void add_books(const struct books *b, struct session_counts *out)
{
	for (unsigned int i = 0; i < WEFT_COUNTER_COUNT; i++)
		out->counter[i] += b->counter[i];
	out->delivered += b->delivered;
}

/* What a thread that runs, or was killed at any step, may have in its hands. */
static void add_pending(const struct books *b, struct session_counts *out)
{
	if (left(b) > 0)
		out->pending += (uint64_t)left(b);
	if (unfinished(b) == 1)
		out->pending++;
}

static int is_balanced(const struct books *b, enum slot_end end)
{
	if (end == END_RELEASED)
		return unfinished(b) == 0 && left(b) == 0;
	return (unfinished(b) == 0 || unfinished(b) == 1) && left(b) >= 0 &&
	       (end == END_OPENING || left(b) <= 1);
}

/* model: WIPE */
static void wipe_books(struct weft_slot *slot)
{
	memset(slot->counters, 0, sizeof(slot->counters));
	memset(&slot->samples_p, 0, sizeof(slot->samples_p));
	memset(&slot->samples_c, 0, sizeof(slot->samples_c));
	memset(&slot->events_p, 0, sizeof(slot->events_p));
	memset(&slot->events_c, 0, sizeof(slot->events_c));
}

void session_close_books(struct session *s, uint32_t index, struct weft_slot *slot,
			 enum slot_end end)
{
	struct slot_reader *reader = &s->readers[index];
	uint64_t generation = reader->generation;
	struct books b;

	read_books(slot, reader, &b);
	add_books(&b, &s->closed);
	if (is_balanced(&b, end))
		add_pending(&b, &s->closed);
	else
		s->closed.unbalanced++;
	s->closed.generations += generation - reader->closed_generation;
	wipe_books(slot);
	*reader = (struct slot_reader){.closed_generation = generation};
}

static void add_header(const struct session *s, struct session_counts *out)
{
	const struct weft_session_header *h = s->base;
	uint64_t counter[WEFT_COUNTER_COUNT];

	read_counters(h->counters, counter);
	for (unsigned int i = 0; i < WEFT_COUNTER_COUNT; i++)
		out->counter[i] += counter[i];
	out->counter[WEFT_COUNTER_ATTEMPTED] += sum_of_lost(counter);
	for (unsigned int i = 0; i < SESSION_BUCKETS; i++) {
		out->handler_ns[i] = __atomic_load_n(&h->handler_ns[i], __ATOMIC_RELAXED);
		out->claim_ns[i] = __atomic_load_n(&h->claim_ns[i], __ATOMIC_RELAXED);
	}
	out->slots_used = __atomic_load_n(&h->slots_used, __ATOMIC_RELAXED);
}

/* A FREE slot's books are closed, and zero. */
static void add_slot(const struct session *s, uint32_t index, struct session_counts *out)
{
	uint64_t word =
		__atomic_load_n(&weft_session_states(s->base, &s->layout)[index], __ATOMIC_ACQUIRE);
	struct books b;

	if (WEFT_STATE_OF(word) == WEFT_SLOT_FREE)
		return;
	read_books(weft_session_slot(s->base, &s->layout, index), &s->readers[index], &b);
	add_books(&b, out);
	add_pending(&b, out);
}

void session_count(struct session *s, struct session_counts *out)
{
	uint32_t high = session_slots_high(s);

	*out = s->closed;
	add_header(s, out);
	for (uint32_t i = 0; i < high; i++)
		add_slot(s, i, out);
	out->counter[WEFT_COUNTER_LOST_INVALID] += s->invalid;
	out->counter[WEFT_COUNTER_SLOTS_REAPED] += s->reaped;
	out->threads = s->open_threads;
	out->slots_high = high;
}
