/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records out of a slot's two rings into batches: samples for the walker to walk, switches of
 * coroutines and events for it to place. We hold the slot, or it is in DRAINING: both rings are
 * that generation's until we let go. What is malformed is refused and counted.
 */
#include "collector/session/session_private.h"

#include "base/ring_consumer.h"
#include "collector/process/label_sets.h"

#include <stdio.h>
#include <stdlib.h>

#define SAMPLE_MAX                                                                                 \
	(sizeof(struct weft_sample_record) + CAPTURED_REGISTERS_MAX * 8 + WEFT_STACK_COPY_MAX +    \
	 WEFT_FRAMES_MAX * 8 + LABEL_BYTES_MAX + 64)
#define NAME_PAUSE_MIN_NS UINT64_C(50000000)
#define NAME_PAUSE_MAX_NS UINT64_C(10000000000)

/* A ring, and what is to become of what is in it. */
struct slot_ring {
	struct ring_reader reader;
	struct ring_tally *tally;
	uint64_t *invalid, *mistimed; /* the session's counts of refused records */
	uint64_t *taken;              /* the pass's */
	uint32_t *largest;            /* record of the pass; NULL = nobody asks */
	size_t record_max;
	enum batch_kind kind; /* BATCH_SAMPLES or BATCH_EVENTS */
};

/* The name that the thread was given since its claim; "" = none, or it changes all the time.
 * Pairs: hook_name_put() (src/runtime/hooks/hook_prctl.c). */
static void slot_name(const struct weft_slot *slot, char name[sizeof(slot->given_name) + 1])
{
	uint64_t words[2], again;

	name[0] = name[sizeof(words)] = 0;
	for (int tries = 0; tries < 3; tries++) {
		words[0] = load_acquire(&slot->given_name[0]);
		words[1] = load_acquire(&slot->given_name[1]);
		again = load_relaxed(&slot->given_name[0]);
		if (words[0] && words[0] == again) {
			memcpy(name, words, sizeof(words));
			return;
		}
	}
}

/*
 * The slot is looked at each time. /proc is read ever less often, as most threads get their name
 * soon after their start.
 */
static void refresh_name(const struct pass *pass, struct slot_reader *reader,
			 const struct weft_slot *slot)
{
	char name[sizeof(slot->given_name) + 1];

	slot_name(slot, name);
	if (name[0]) {
		memcpy(reader->who.name, name, sizeof(name));
		return;
	}
	if (pass->now_ns - reader->named_ns < reader->name_pause_ns)
		return;
	reader->named_ns = pass->now_ns;
	reader->name_pause_ns =
		reader->name_pause_ns ? reader->name_pause_ns * 2 : NAME_PAUSE_MIN_NS;
	if (reader->name_pause_ns > NAME_PAUSE_MAX_NS)
		reader->name_pause_ns = NAME_PAUSE_MAX_NS;
	process_thread_name(pass->session->process, reader->who.tid, reader->who.name,
			    sizeof(reader->who.name));
	if (!reader->who.name[0]) /* the name of its birth is most often its creator's */
		snprintf(reader->who.name, sizeof(reader->who.name), "%.*s",
			 (int)sizeof(slot->name), slot->name);
}

static struct batch *thread_batch(const struct session *s, enum batch_kind kind, uint32_t index,
				  const struct slot_reader *reader, size_t bytes)
{
	struct batch *b = batch_new(kind, s->process, bytes);

	if (!b)
		return NULL;
	b->thread = reader->who;
	b->thread.slot = index;
	return b;
}

/* The reader met something malformed and jumped to head: what it left behind is refused,
 * as many records as the producer says, if that many could have been there. */
static void session_rings_refuse(struct slot_ring *ring, uint64_t before)
{
	uint64_t written = load_relaxed(&ring->reader.producer->written);
	uint64_t lost =
		written - ring->reader.delivered - ring->tally->refused - ring->tally->stolen;
	uint64_t possible = (ring->reader.tail - before) / sizeof(struct weft_record);

	if (lost == 0 || lost > possible)
		lost = 1;
	ring->tally->refused += lost;
	*ring->invalid += lost;
}

/* What stands before each record in the batch. */
static size_t head_bytes(const struct slot_ring *ring)
{
	return ring->kind == BATCH_EVENTS ? sizeof(struct checked_event) : 0;
}

static enum record_fault fault_of(const struct slot_ring *ring, void *at, struct session *s,
				  uint64_t generation)
{
	const struct weft_record *record = (const void *)((uint8_t *)at + head_bytes(ring));

	if (record->generation != (uint32_t)generation)
		return RECORD_MALFORMED;
	return ring->kind == BATCH_EVENTS ? fault_of_event(at, s) : fault_of_sample(record, s);
}

static int session_rings_is_refused(struct slot_ring *ring, void *at, struct session *s,
				    uint64_t generation)
{
	enum record_fault fault = fault_of(ring, at, s, generation);

	if (fault == RECORD_SOUND)
		return 0;
	ring->reader.delivered--;
	ring->tally->refused++;
	(*(fault == RECORD_MISTIMED ? ring->mistimed : ring->invalid))++;
	return 1;
}

/* The shortest record. */
#define RECORD_MIN sizeof(struct weft_event_record)

/* What a batch of @pending bytes of the ring can need, with what stands before each record, and
 * one record more. */
static size_t batch_room(const struct slot_ring *ring, uint64_t pending)
{
	return pending + (pending / RECORD_MIN + 1) * head_bytes(ring) + ring->record_max;
}

/* Copies records out until the batch holds what was pending at first. */
static void fill_batch(const struct pass *pass, uint64_t generation, struct slot_ring *ring,
		       struct batch *b, uint64_t pending)
{
	size_t room = b->bytes, head = head_bytes(ring);
	uint64_t copied = 0;

	b->bytes = 0;
	while (copied < pending) {
		uint64_t before = ring->reader.tail;
		uint8_t *at = b->data + b->bytes;
		int n = ring_reader_next(&ring->reader, at + head,
					 (uint32_t)(room - b->bytes - head));

		if (n == 0)
			return;
		if (n < 0) {
			session_rings_refuse(ring, before);
			return;
		}
		if (session_rings_is_refused(ring, at, pass->session, generation))
			continue;
		copied += (uint64_t)n;
		b->bytes += head + (size_t)n;
		if (ring->largest && (uint32_t)n > *ring->largest)
			*ring->largest = (uint32_t)n;
	}
}

/* model: TAIL */
static void release_ring(struct slot_ring *ring)
{
	ring->tally->tail = ring->reader.tail;
	ring->tally->delivered = ring->reader.delivered;
	store_relaxed(&ring->reader.consumer->refused, ring->tally->refused);
	ring_reader_release(&ring->reader);
}

/* Bytes that are new. A head that makes no sense counts as 1: reading refuses it. */
static uint64_t pending_of(const struct slot_ring *ring)
{
	const struct ring_reader *r = &ring->reader;
	uint64_t pending = ring_reader_pending(r);

	return pending ? pending : load_relaxed(&r->producer->head) != r->tail;
}

/* The less room the queue has, the fuller is a ring that may use it. */
static int is_its_turn(struct pass *pass, uint32_t fill)
{
	uint32_t least = pass->last ? 0 : queue_fill_needed(pass->queue);

	return least <= (pass->is_ending ? 1000 : fill);
}

static int drain_ring(struct pass *pass, uint32_t index, const struct weft_slot *slot,
		      struct slot_ring *ring)
{
	struct session *s = pass->session;
	struct slot_reader *reader = &s->readers[index];
	uint64_t pending, delivered = ring->tally->delivered;
	uint32_t fill;
	struct batch *b;

	ring->reader.tail = ring->tally->tail;
	ring->reader.delivered = delivered;
	pending = pending_of(ring);
	if (pending == 0)
		return 1;
	fill = (uint32_t)(pending * 1000 / ring->reader.bytes);
	if (fill > pass->result.fill_permille)
		pass->result.fill_permille = fill;
	if (!is_its_turn(pass, fill)) {
		session_mark(s, index);
		return 0;
	}
	pass->is_working = 1;
	refresh_name(pass, reader, slot);
	b = thread_batch(s, ring->kind, index, reader, batch_room(ring, pending));
	if (!b)
		return 0;
	fill_batch(pass, reader->who.generation, ring, b, pending);
	release_ring(ring);
	*ring->taken += ring->tally->delivered - delivered;
	if (b->bytes == 0) {
		free(b);
		return 1;
	}
	reader->announced = 1;
	session_events_tell(s, pass->queue);
	queue_push(pass->queue, batch_trim(b));
	return 1;
}

/* No record of an event is longer than half the ring. */
static int drain_kind(struct pass *pass, uint32_t index, struct weft_slot *slot,
		      enum batch_kind kind)
{
	struct session *s = pass->session;
	const struct weft_session_header *layout = &s->process->layout;
	struct slot_reader *reader = &s->readers[index];
	int is_events = kind == BATCH_EVENTS;
	struct slot_ring ring = {
		.tally = is_events ? &reader->events : &reader->samples,
		.invalid = is_events ? &s->events_invalid : &s->invalid,
		.mistimed = is_events ? &s->events_mistimed : &s->mistimed,
		.taken = is_events ? &pass->result.events : &pass->result.samples,
		.largest = is_events ? NULL : &pass->result.largest,
		.record_max = is_events ? layout->events_bytes / 2 + 64 : SAMPLE_MAX,
		.kind = kind,
	};

	if (is_events)
		ring_reader_open(&ring.reader, &slot->events_p, &slot->events_c,
				 (const uint8_t *)slot + layout->events_offset,
				 layout->events_bytes);
	else
		ring_reader_open(&ring.reader, &slot->samples_p, &slot->samples_c,
				 (const uint8_t *)slot + layout->samples_offset,
				 layout->samples_bytes);
	return drain_ring(pass, index, slot, &ring);
}

/* Each ring has its own turn: one that must wait does not hold up the other. */
int session_drain_rings(struct pass *pass, uint32_t index, struct weft_slot *slot)
{
	int is_taken = drain_kind(pass, index, slot, BATCH_SAMPLES);

	return drain_kind(pass, index, slot, BATCH_EVENTS) && is_taken;
}

int session_rings_are_empty(const struct slot_reader *reader, const struct weft_slot *slot)
{
	return reader->samples.tail == load_relaxed(&slot->samples_p.head) &&
	       reader->events.tail == load_relaxed(&slot->events_p.head);
}

void session_end_thread(const struct pass *pass, uint32_t index)
{
	const struct slot_reader *reader = &pass->session->readers[index];
	struct slot_words words = session_last_words(pass->session, index);
	struct batch *b;

	process_tell_words(pass->session->process, index, &words);
	if (!reader->announced) {
		session_account_end(pass->session, reader->who.tid, words.cpu_ns);
		return;
	}
	b = thread_batch(pass->session, BATCH_THREAD_END, index, reader, 0);
	if (b) {
		b->thread.cpu_ns = words.cpu_ns;
		b->thread.ended_ns = words.ended_ns;
		b->time_ns = session_now(pass->session);
	}
	queue_push(pass->queue, b);
}
