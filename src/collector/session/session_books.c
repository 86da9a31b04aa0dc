/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The books of a session: every slot's, closed when its thread ends, and the sums of all.
 *
 * The collector takes nobody's word for it that they balance. What its target counted
 * (attempted, written, lost) and what it counted itself (delivered, refused) must agree:
 *   attempted = written + lost in the handler
 *   written = delivered + refused + stolen
 * for a thread that has ended; and likewise of the events ring, by counters of its own; a thread
 * that runs, or was killed, may have one handler at work, and records that are not drained yet:
 * they are pending. What these rules do not explain is in no column, so that the sums do not
 * balance either, and is counted as a generation out of balance.
 */
#include "collector/session/session_private.h"

#define TRIES 8

/* Of one ring. */
struct ledger {
	uint64_t attempted, written, lost, stolen; /* lost: with what was stolen */
	uint64_t delivered, refused;               /* the collector's own */
};

struct books {
	uint64_t counter[WEFT_COUNTER_COUNT];
	struct ledger samples, events;
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
		to[i] = load_relaxed(&from[i]);
}

/* Appends that were begun and not finished. */
static int64_t unfinished(const struct ledger *l)
{
	return (int64_t)(l->attempted - l->written - (l->lost - l->stolen));
}

/* Records that were written and not taken out. */
static int64_t left(const struct ledger *l)
{
	return (int64_t)(l->written - l->delivered - l->refused - l->stolen);
}

static void session_books_read_once(const struct weft_slot *slot, struct books *b)
{
	struct ledger *s = &b->samples, *e = &b->events;

	s->attempted = load_acquire(&slot->counters[WEFT_COUNTER_ATTEMPTED]);
	e->attempted = load_acquire(&slot->counters[WEFT_COUNTER_EVENTS_ATTEMPTED]);
	read_counters(slot->counters, b->counter);
	s->written = load_relaxed(&slot->samples_p.written);
	e->written = load_relaxed(&slot->events_p.written);
	b->counter[WEFT_COUNTER_ATTEMPTED] = s->attempted;
	b->counter[WEFT_COUNTER_EVENTS_ATTEMPTED] = e->attempted;
	s->lost = sum_of_lost(b->counter);
	s->stolen = b->counter[WEFT_COUNTER_LOST_STOLEN];
	e->stolen = b->counter[WEFT_COUNTER_EVENTS_STOLEN];
	e->lost = b->counter[WEFT_COUNTER_EVENTS_RING_FULL] +
		  b->counter[WEFT_COUNTER_EVENTS_NESTED] + e->stolen;
}

static int has_changed(const uint64_t *counters, enum weft_counter counter, uint64_t seen)
{
	return load_relaxed(&counters[counter]) != seen;
}

/* The thread may be running: all is read again if it began another record meanwhile, or if its
 * stores were seen in another order than it made them. */
static void read_books(const struct weft_slot *slot, const struct slot_reader *reader,
		       struct books *b)
{
	const uint64_t *c = slot->counters;

	for (int i = 0; i < TRIES; i++) {
		session_books_read_once(slot, b);
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		if (!has_changed(c, WEFT_COUNTER_ATTEMPTED, b->samples.attempted) &&
		    !has_changed(c, WEFT_COUNTER_EVENTS_ATTEMPTED, b->events.attempted) &&
		    unfinished(&b->samples) >= 0 && unfinished(&b->events) >= 0)
			break;
	}
	b->samples.delivered = reader->samples.delivered;
	b->samples.refused = reader->samples.refused;
	b->events.delivered = reader->events.delivered;
	b->events.refused = reader->events.refused;
}

static void add_books(const struct books *b, struct session_counts *out)
{
	for (unsigned int i = 0; i < WEFT_COUNTER_COUNT; i++)
		out->counter[i] += b->counter[i];
	out->delivered += b->samples.delivered;
	out->events_delivered += b->events.delivered;
}

/* Of a thread that runs, or was killed at any step: what is in its ring, and up to @most records
 * that it has begun. */
static uint64_t pending(const struct ledger *l, int64_t most)
{
	uint64_t sum = left(l) > 0 ? (uint64_t)left(l) : 0;

	return sum + (unfinished(l) > 0 && unfinished(l) <= most ? (uint64_t)unfinished(l) : 0);
}

/* An append that was left halfway may be in no column; who took it over has counted it as healed.
 */
static int64_t events_unfinished_max(const struct books *b)
{
	uint64_t healed = b->counter[WEFT_COUNTER_EVENTS_HEALED];

	return healed < INT32_MAX ? 1 + (int64_t)healed : 1;
}

static void add_pending(const struct books *b, struct session_counts *out)
{
	out->pending += pending(&b->samples, 1);
	out->events_pending += pending(&b->events, events_unfinished_max(b));
}

static int is_balanced(const struct ledger *l, int64_t most, int64_t left_most)
{
	return unfinished(l) >= 0 && unfinished(l) <= most && left(l) >= 0 && left(l) <= left_most;
}

static int are_balanced(const struct books *b, enum slot_end end)
{
	int64_t in_hand = end == END_RELEASED ? 0 : 1;
	int64_t left_most = end == END_OPENING ? INT64_MAX : in_hand;

	return is_balanced(&b->samples, in_hand, left_most) &&
	       is_balanced(&b->events, events_unfinished_max(b), left_most);
}

/* By words: other threads of the collector read these counters meanwhile, to see who gets samples.
 */
static void wipe_words(void *at, size_t bytes)
{
	uint64_t *word = at;

	for (size_t i = 0; i < bytes / sizeof(*word); i++)
		store_relaxed(&word[i], 0);
}

/* model: WIPE */
void session_wipe_books(struct weft_slot *slot)
{
	wipe_words(slot->counters, sizeof(slot->counters));
	wipe_words(&slot->samples_p, sizeof(slot->samples_p));
	wipe_words(&slot->samples_c, sizeof(slot->samples_c));
	wipe_words(&slot->events_p, sizeof(slot->events_p));
	wipe_words(&slot->events_c, sizeof(slot->events_c));
}

void session_close_books(struct session *s, uint32_t index, struct weft_slot *slot,
			 enum slot_end end)
{
	struct slot_reader *reader = &s->readers[index];
	uint64_t generation = reader->who.generation;
	struct books b;

	read_books(slot, reader, &b);
	add_books(&b, &s->closed);
	if (are_balanced(&b, end))
		add_pending(&b, &s->closed);
	else
		s->closed.unbalanced++;
	s->closed.generations += generation - reader->closed_generation;
	session_wipe_books(slot);
	*reader = (struct slot_reader){.closed_generation = generation};
}

static void session_books_add_header(const struct session *s, struct session_counts *out)
{
	const struct weft_session_header *h = s->process->base;
	uint64_t counter[WEFT_COUNTER_COUNT];

	read_counters(h->counters, counter);
	for (unsigned int i = 0; i < WEFT_COUNTER_COUNT; i++)
		out->counter[i] += counter[i];
	out->counter[WEFT_COUNTER_ATTEMPTED] += sum_of_lost(counter);
	out->counter[WEFT_COUNTER_EVENTS_ATTEMPTED] += counter[WEFT_COUNTER_EVENTS_NO_SLOT];
	for (unsigned int i = 0; i < SESSION_BUCKETS; i++) {
		out->handler_ns[i] = load_relaxed(&h->handler_ns[i]);
		out->claim_ns[i] = load_relaxed(&h->claim_ns[i]);
	}
	out->slots_used = load_relaxed(&h->slots_used);
	if (out->slots_used > s->process->layout.slot_count) /* the target says so */
		out->slots_used = s->process->layout.slot_count;
}

/* A FREE slot's books are closed, and zero. */
static void add_slot(const struct session *s, uint32_t index, struct session_counts *out)
{
	struct books b;

	if (WEFT_STATE_OF(load_acquire(process_slot_state(s->process, index))) == WEFT_SLOT_FREE)
		return;
	read_books(process_slot(s->process, index), &s->readers[index], &b);
	add_books(&b, out);
	add_pending(&b, out);
}

/* The earlier sum is the larger one only if the target lies, or frees its slots itself. */
static void session_books_take_away(uint64_t *from, uint64_t before)
{
	*from -= before < *from ? before : *from;
}

static void leave_out_earlier(const struct session_counts *before, struct session_counts *out)
{
	for (unsigned int i = 0; i < WEFT_COUNTER_ROOM; i++)
		session_books_take_away(&out->counter[i], before->counter[i]);
	for (unsigned int i = 0; i < SESSION_BUCKETS; i++) {
		session_books_take_away(&out->handler_ns[i], before->handler_ns[i]);
		session_books_take_away(&out->claim_ns[i], before->claim_ns[i]);
	}
	session_books_take_away(&out->delivered, before->delivered);
	session_books_take_away(&out->events_delivered, before->events_delivered);
}

void session_count(struct session *s, struct session_counts *out)
{
	uint32_t high = process_slots_high(s->process);

	*out = s->closed;
	session_books_add_header(s, out);
	for (uint32_t i = 0; i < high; i++)
		add_slot(s, i, out);
	out->counter[WEFT_COUNTER_LOST_INVALID] += s->invalid;
	out->counter[WEFT_COUNTER_EVENTS_INVALID] += s->events_invalid;
	out->counter[WEFT_COUNTER_LOST_MISTIMED] += s->mistimed;
	out->counter[WEFT_COUNTER_EVENTS_MISTIMED] += s->events_mistimed;
	out->counter[WEFT_COUNTER_EVENT_TYPES_REFUSED] += s->events.types_refused;
	out->counter[WEFT_COUNTER_SLOTS_REAPED] += s->reaped;
	out->threads = s->open_threads;
	out->slots_high = high;
	if (s->attached)
		leave_out_earlier(&s->before, out);
}
