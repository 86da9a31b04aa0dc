/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Draining a session: rings into batches, dead slots back to FREE.
 *
 * The state word says who may do what (abi/session.h): a LIVE slot is held while records are
 * taken from it, so that nobody else begins with it meanwhile; a DEAD one is taken into
 * DRAINING, where its books are closed (session_books.c). Model: tests/models/slot.pml, whose
 * step names stand here behind "model:".
 */
#include "collector/session_private.h"

#include "base/recording.h"
#include "base/ring_consumer.h"
#include "base/session_layout.h"
#include "collector/clock.h"

#include <fcntl.h>
#include <linux/falloc.h>
#include <stdio.h>
#include <stdlib.h>

#define TOUCH_AHEAD 4
#define WARM_SLOTS 16
#define ENDED_TRIES 8
#define REGISTERS_MAX 33
#define RECORD_MAX                                                                                 \
	(sizeof(struct weft_sample_record) + REGISTERS_MAX * 8 + WEFT_STACK_COPY_MAX +             \
	 WEFT_FRAMES_MAX * 8 + 64)
#define CLOCK_SLACK_NS UINT64_C(1000000000)
#define NAME_PAUSE_MIN_NS UINT64_C(50000000)
#define NAME_PAUSE_MAX_NS UINT64_C(10000000000)

struct pass {
	struct session *session;
	struct queue *queue;
	int last;
	uint64_t now_ns;
	struct drain_result result;
};

static void touch(const uint8_t *at)
{
	(void)*(const volatile uint8_t *)at;
}

uint32_t session_slots_high(const struct session *s)
{
	const struct weft_session_header *h = s->base;
	uint32_t high = __atomic_load_n(&h->slots_high, __ATOMIC_RELAXED);

	return high < s->layout.slot_count ? high : s->layout.slot_count;
}

/* The high-water mark is a word that anybody may have written; each slot's own word must say
 * that it was in use before those after it are touched. */
static int was_in_use(const struct session *s, uint32_t index)
{
	const uint64_t *word = &weft_session_states(s->base, &s->layout)[index];

	return WEFT_GENERATION_OF(__atomic_load_n(word, __ATOMIC_RELAXED)) != 0;
}

void session_touch_ahead(struct session *s)
{
	uint32_t until = session_slots_high(s) + TOUCH_AHEAD;

	if (until > s->layout.slot_count)
		until = s->layout.slot_count;
	for (; s->touched < until; s->touched++) {
		const uint8_t *slot =
			(const uint8_t *)weft_session_slot(s->base, &s->layout, s->touched);

		if (s->touched >= TOUCH_AHEAD && !was_in_use(s, s->touched - TOUCH_AHEAD))
			return;
		touch(slot);
		touch(slot + s->layout.samples_offset);
		touch(slot + s->layout.events_offset);
	}
}

/* Every length that later readers rely on, and a time that can be true. */
static int sample_is_sound(const struct weft_sample_record *r, const struct session *s,
			   uint64_t now_ns)
{
	uint64_t need = sizeof(*r);

	if (r->record.type != WEFT_RECORD_SAMPLE || r->record.bytes < sizeof(*r))
		return 0;
	if (r->time_ns > now_ns + CLOCK_SLACK_NS ||
	    r->time_ns + CLOCK_SLACK_NS < s->process->opened_ns)
		return 0;
	if (r->stack == WEFT_SAMPLE_RAW) {
		need += r->register_count * UINT64_C(8) + ((r->copy_bytes + UINT64_C(7)) & ~7u);
		if (r->flags & WEFT_SAMPLE_CHECK)
			need += r->frame_count * UINT64_C(8);
		return r->register_count <= REGISTERS_MAX && r->copy_bytes <= WEFT_STACK_COPY_MAX &&
		       r->frame_count <= WEFT_FRAMES_MAX && need <= r->record.bytes;
	}
	need += r->frame_count * UINT64_C(8);
	return r->stack == WEFT_SAMPLE_FRAMES && r->frame_count <= WEFT_FRAMES_MAX &&
	       need <= r->record.bytes;
}

static void read_comm(const struct session *s, struct slot_reader *reader)
{
	char path[48];
	size_t bytes = 0;
	char *text;

	snprintf(path, sizeof(path), "task/%d/comm", (int)reader->tid);
	text = process_read_file(s->process->proc_fd, path, &bytes);
	if (text)
		snprintf(reader->name, sizeof(reader->name), "%.*s", (int)strcspn(text, "\n"),
			 text);
	free(text);
}

/* Threads name themselves soon after their start, some later: looked at ever less often. */
static void refresh_name(const struct pass *pass, struct slot_reader *reader,
			 const struct weft_slot *slot)
{
	char name[sizeof(slot->name)];

	if (pass->now_ns - reader->named_ns < reader->name_pause_ns)
		return;
	reader->named_ns = pass->now_ns;
	reader->name_pause_ns =
		reader->name_pause_ns ? reader->name_pause_ns * 2 : NAME_PAUSE_MIN_NS;
	if (reader->name_pause_ns > NAME_PAUSE_MAX_NS)
		reader->name_pause_ns = NAME_PAUSE_MAX_NS;
	memcpy(name, slot->name, sizeof(name));
	name[sizeof(name) - 1] = 0;
	read_comm(pass->session, reader);
	if (!reader->name[0])
		memcpy(reader->name, name, sizeof(name));
}

static struct batch *thread_batch(const struct session *s, enum batch_kind kind, uint32_t index,
				  const struct slot_reader *reader, size_t bytes)
{
	struct batch *b = batch_new(kind, s->process, bytes);

	if (!b)
		return NULL;
	b->thread.slot = index;
	b->thread.tid = reader->tid;
	b->thread.generation = reader->generation;
	b->thread.claimed_ns = reader->claimed_ns;
	memcpy(b->thread.name, reader->name, sizeof(b->thread.name));
	return b;
}

/* The reader met something malformed and jumped to head: what it left behind is refused,
 * as many records as the producer says, if that many could have been there. */
static void refuse(struct session *s, struct slot_reader *reader, const struct ring_reader *ring,
		   uint64_t before)
{
	uint64_t written = __atomic_load_n(&ring->producer->written, __ATOMIC_RELAXED);
	uint64_t lost = written - ring->delivered - reader->refused - reader->stolen;
	uint64_t possible = (ring->tail - before) / sizeof(struct weft_record);

	if (lost == 0 || lost > possible)
		lost = 1;
	reader->refused += lost;
	s->invalid += lost;
}

/* Copies records out until the batch holds what was pending at first. */
static void fill_batch(struct pass *pass, struct slot_reader *reader, struct ring_reader *ring,
		       struct batch *b, uint64_t pending)
{
	struct session *s = pass->session;
	size_t room = b->bytes;

	b->bytes = 0;
	while (b->bytes < pending) {
		uint64_t before = ring->tail;
		void *at = b->data + b->bytes;
		int n = ring_reader_next(ring, at, (uint32_t)(room - b->bytes));
		const struct weft_sample_record *r = at;

		if (n == 0)
			return;
		if (n < 0) {
			refuse(s, reader, ring, before);
			return;
		}
		if (r->record.generation != (uint32_t)reader->generation ||
		    !sample_is_sound(r, s, pass->now_ns)) {
			ring->delivered--;
			reader->refused++;
			s->invalid++;
			continue;
		}
		b->bytes += (size_t)n;
		if ((uint32_t)n > pass->result.largest)
			pass->result.largest = (uint32_t)n;
	}
}

/* We hold the slot, or it is in DRAINING: the ring is still that generation's. model: TAIL */
static void release_ring(struct slot_reader *reader, struct ring_reader *ring)
{
	reader->tail = ring->tail;
	reader->delivered = ring->delivered;
	__atomic_store_n(&ring->consumer->refused, reader->refused, __ATOMIC_RELAXED);
	ring_reader_release(ring);
}

/* Returns 0 when the queue would not take any more: the slot is left as it is. */
static int drain_ring(struct pass *pass, uint32_t index, struct slot_reader *reader,
		      struct weft_slot *slot)
{
	struct session *s = pass->session;
	struct ring_reader ring;
	struct batch *b;
	uint64_t pending, delivered;
	uint32_t fill;

	ring_reader_open(&ring, &slot->samples_p, &slot->samples_c,
			 (const uint8_t *)slot + s->layout.samples_offset, s->layout.samples_bytes);
	ring.tail = reader->tail;
	ring.delivered = delivered = reader->delivered;
	pending = ring_reader_pending(&ring);
	if (pending == 0)
		pending = __atomic_load_n(&slot->samples_p.head, __ATOMIC_RELAXED) != ring.tail;
	if (pending == 0)
		return 1;
	fill = (uint32_t)(pending * 1000 / s->layout.samples_bytes);
	if (fill > pass->result.fill_permille)
		pass->result.fill_permille = fill;
	if (!pass->last && !queue_has_room(pass->queue))
		return 0;
	refresh_name(pass, reader, slot);
	b = thread_batch(s, BATCH_SAMPLES, index, reader, pending + RECORD_MAX);
	if (!b)
		return 0;
	fill_batch(pass, reader, &ring, b, pending);
	release_ring(reader, &ring);
	pass->result.samples += reader->delivered - delivered;
	if (b->bytes == 0) {
		free(b);
		return 1;
	}
	reader->announced = 1;
	queue_push(pass->queue, b);
	return 1;
}

static void end_thread(const struct pass *pass, uint32_t index, const struct slot_reader *reader)
{
	if (reader->announced)
		queue_push(pass->queue,
			   thread_batch(pass->session, BATCH_THREAD_END, index, reader, 0));
}

/* A generation not met before. Its books go on where those of a stolen one ended. */
static void begin_reader(struct pass *pass, uint32_t index, uint64_t generation,
			 const struct weft_slot *slot)
{
	struct session *s = pass->session;
	struct slot_reader *reader = &s->readers[index];

	if (reader->generation == generation)
		return;
	end_thread(pass, index, reader);
	*reader = (struct slot_reader){
		.generation = generation,
		.closed_generation = reader->closed_generation,
		.delivered = reader->delivered,
		.refused = reader->refused,
		.reaped = reader->reaped,
		.stolen = __atomic_load_n(&slot->counters[WEFT_COUNTER_LOST_STOLEN],
					  __ATOMIC_RELAXED),
		.tid = __atomic_load_n(&slot->thread.tid, __ATOMIC_RELAXED),
		.claimed_ns = __atomic_load_n(&slot->thread.claimed_ns, __ATOMIC_RELAXED),
	};
	s->open_threads++;
}

/* Give the memory back of everything above @from. */
void session_punch(struct session *s, uint32_t index, uint32_t from)
{
	uint64_t at = s->layout.slots_offset + index * s->layout.slot_stride;

	fallocate(s->memfd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)(at + from),
		  (off_t)(s->layout.slot_stride - from));
}

int session_state_changes(struct session *s, uint32_t index, uint64_t from, uint64_t to)
{
	return __atomic_compare_exchange_n(&weft_session_states(s->base, &s->layout)[index], &from,
					   to, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

/* model: FREE, HINT */
void session_free_slot(struct session *s, uint32_t index, uint64_t from)
{
	uint64_t *bits = weft_session_free_bits(s->base, &s->layout);
	uint64_t to = WEFT_STATE_WORD(WEFT_GENERATION_OF(from), WEFT_SLOT_FREE);

	if (session_state_changes(s, index, from, to))
		__atomic_or_fetch(&bits[index / 64], UINT64_C(1) << (index % 64), __ATOMIC_RELEASE);
}

/* The slot is in DRAINING and its ring empty: close the books and give it back. */
static void end_slot(struct pass *pass, uint32_t index, struct weft_slot *slot)
{
	struct session *s = pass->session;
	struct slot_reader *reader = &s->readers[index];
	uint64_t generation = reader->generation;
	int killed = pass->last == DRAIN_GONE || reader->reaped;

	end_thread(pass, index, reader);
	session_close_books(s, index, slot, killed ? END_KILLED : END_RELEASED);
	if (index >= WARM_SLOTS)
		session_punch(s, index, WEFT_SLOT_TOUCHED_BYTES);
	session_free_slot(s, index, WEFT_STATE_WORD(generation, WEFT_SLOT_DRAINING));
}

/* In DRAINING: all of it, in as many passes as the queue asks for. */
static void drain_ended(struct pass *pass, uint32_t index, uint64_t generation,
			struct weft_slot *slot)
{
	struct slot_reader *reader = &pass->session->readers[index];

	begin_reader(pass, index, generation, slot);
	for (int i = 0; i < ENDED_TRIES; i++) { /* a liar's head may never be reached */
		if (!drain_ring(pass, index, reader, slot))
			return;
		if (reader->tail == __atomic_load_n(&slot->samples_p.head, __ATOMIC_RELAXED))
			break;
	}
	end_slot(pass, index, slot);
}

/* Nothing new costs one load, and the owner nothing. model: HOLD .. LET_GO */
static void drain_live(struct pass *pass, uint32_t index, uint64_t seen, struct weft_slot *slot)
{
	struct session *s = pass->session;
	struct slot_reader *reader = &s->readers[index];

	if (reader->generation == WEFT_GENERATION_OF(seen) &&
	    reader->tail == __atomic_load_n(&slot->samples_p.head, __ATOMIC_RELAXED))
		return;
	if (!session_state_changes(s, index, seen, seen | WEFT_SLOT_HELD))
		return;
	begin_reader(pass, index, WEFT_GENERATION_OF(seen), slot);
	drain_ring(pass, index, reader, slot);
	__atomic_and_fetch(&weft_session_states(s->base, &s->layout)[index],
			   ~(uint64_t)WEFT_SLOT_HELD, __ATOMIC_RELEASE);
}

/* The process is gone: whose slot this was going to be has nothing in its ring yet. */
static void close_opening(struct pass *pass, uint32_t index, struct weft_slot *slot)
{
	end_thread(pass, index, &pass->session->readers[index]);
	session_close_books(pass->session, index, slot, END_OPENING);
}

static void drain_slot(struct pass *pass, uint32_t index)
{
	struct session *s = pass->session;
	uint64_t *word = &weft_session_states(s->base, &s->layout)[index];
	uint64_t seen = __atomic_load_n(word, __ATOMIC_ACQUIRE);
	uint64_t generation = WEFT_GENERATION_OF(seen);
	uint64_t draining = WEFT_STATE_WORD(generation, WEFT_SLOT_DRAINING);
	enum weft_slot_state state = WEFT_STATE_OF(seen);
	struct weft_slot *slot = weft_session_slot(s->base, &s->layout, index);

	if (generation == 0 || state == WEFT_SLOT_FREE || state > WEFT_SLOT_DRAINING)
		return;
	if (state == WEFT_SLOT_OPENING) {
		if (pass->last == DRAIN_GONE)
			close_opening(pass, index, slot);
		return;
	}
	if (state == WEFT_SLOT_LIVE && pass->last != DRAIN_GONE) {
		drain_live(pass, index, seen, slot);
		return;
	}
	/* model: TAKE */
	if (state != WEFT_SLOT_DRAINING && !session_state_changes(s, index, seen, draining))
		return;
	drain_ended(pass, index, generation, slot);
}

struct drain_result session_drain(struct session *s, struct queue *q, enum drain_mode mode)
{
	struct pass pass = {.session = s, .queue = q, .last = (int)mode};
	uint32_t high = session_slots_high(s);

	pass.now_ns = clock_mono_ns();
	__atomic_store_n(&((struct weft_session_header *)s->base)->drained_ns, pass.now_ns,
			 __ATOMIC_RELAXED);
	if (mode == DRAIN_RUNNING)
		session_touch_ahead(s);
	for (uint32_t i = 0; i < high; i++)
		drain_slot(&pass, i);
	return pass.result;
}
