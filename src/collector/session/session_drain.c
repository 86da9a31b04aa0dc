/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Draining a session, slot by slot; slots whose threads have ended become FREE again.
 * session_rings.c makes batches of what is in a slot's rings.
 *
 * The state word says who may do what (abi/session.h): a LIVE slot is held while records are
 * taken from it, so that nobody else begins with it meanwhile; a DEAD one is taken into
 * DRAINING, where its books are closed (session_books.c). Model: tests/models/slot.pml, whose
 * step names stand here behind "model:".
 */
#include "collector/session/session_private.h"

#include "base/clock.h"

#include <fcntl.h>
#include <linux/falloc.h>

#define TOUCH_AHEAD 4
#define WARM_SLOTS 16
#define ENDED_TRIES 8
#define ALL_SLOTS_NS UINT64_C(2000000000)

static void session_drain_touch(const uint8_t *at)
{
	(void)*(const volatile uint8_t *)at;
}

/* The high-water mark is a word that anybody may have written; each slot's own word must say
 * that it was in use before those after it are touched. */
static int was_in_use(const struct session *s, uint32_t index)
{
	return WEFT_GENERATION_OF(load_relaxed(process_slot_state(s->process, index))) != 0;
}

void session_touch_ahead(struct session *s)
{
	uint32_t until = process_slots_high(s->process) + TOUCH_AHEAD;

	if (until > s->process->layout.slot_count)
		until = s->process->layout.slot_count;
	for (; s->touched < until; s->touched++) {
		const uint8_t *slot = (const uint8_t *)process_slot(s->process, s->touched);

		if (s->touched >= TOUCH_AHEAD && !was_in_use(s, s->touched - TOUCH_AHEAD))
			return;
		session_drain_touch(slot);
		session_drain_touch(slot + s->process->layout.samples_offset);
		session_drain_touch(slot + s->process->layout.events_offset);
	}
}

void session_mark(struct session *s, uint32_t index)
{
	uint32_t block = index / WEFT_SESSION_BLOCK_SLOTS;

	__atomic_fetch_or(&s->process->base->fresh[block / 64], UINT64_C(1) << block % 64,
			  __ATOMIC_RELAXED);
}

/* The counts go on, but the new owner's ring begins at 0. */
static struct ring_tally tally_on(const struct ring_tally *before, const struct weft_slot *slot,
				  enum weft_counter stolen)
{
	return (struct ring_tally){
		.delivered = before->delivered,
		.refused = before->refused,
		.stolen = load_relaxed(&slot->counters[stolen]),
	};
}

/* Begins the books of a generation that was not met before. If its thread has stolen the slot, the
 * books of the one before, which were not closed, go on. */
static void begin_reader(struct pass *pass, uint32_t index, uint64_t generation,
			 const struct weft_slot *slot)
{
	struct session *s = pass->session;
	struct slot_reader *reader = &s->readers[index];

	if (reader->who.generation == generation)
		return;
	session_end_thread(pass, index);
	*reader = (struct slot_reader){
		.who = {.generation = generation,
			.tid = load_relaxed(&slot->thread.tid),
			.claimed_ns = process_slot_claimed(slot, session_now(s))},
		.closed_generation = reader->closed_generation,
		.samples = tally_on(&reader->samples, slot, WEFT_COUNTER_LOST_STOLEN),
		.events = tally_on(&reader->events, slot, WEFT_COUNTER_EVENTS_STOLEN),
		.reaped = reader->reaped,
	};
	s->open_threads++;
}

void session_punch(struct session *s, uint32_t index, uint32_t from)
{
	uint64_t at = s->process->layout.slots_offset + index * s->process->layout.slot_stride;

	fallocate(s->memfd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)(at + from),
		  (off_t)(s->process->layout.slot_stride - from));
}

int session_state_changes(struct session *s, uint32_t index, uint64_t from, uint64_t to)
{
	return cas_acq_rel(process_slot_state(s->process, index), &from, to);
}

/* model: FREE, HINT */
void session_free_slot(struct session *s, uint32_t index, uint64_t from)
{
	uint64_t *bits = weft_session_free_bits(s->process->base, &s->process->layout);
	uint64_t to = WEFT_STATE_WORD(WEFT_GENERATION_OF(from), WEFT_SLOT_FREE);

	if (session_state_changes(s, index, from, to))
		__atomic_or_fetch(&bits[index / 64], UINT64_C(1) << (index % 64), __ATOMIC_RELEASE);
}

/* The slot is in DRAINING and its rings are empty: the books are closed, and it is given back. */
static void end_slot(struct pass *pass, uint32_t index, struct weft_slot *slot)
{
	struct session *s = pass->session;
	struct slot_reader *reader = &s->readers[index];
	uint64_t generation = reader->who.generation;
	int killed = pass->last == DRAIN_GONE || reader->reaped;

	pass->is_working = 1;
	session_end_thread(pass, index);
	session_close_books(s, index, slot, killed ? END_KILLED : END_RELEASED);
	if (index >= WARM_SLOTS && pass->last != DRAIN_GONE) /* then all of it goes at once */
		session_punch(s, index, WEFT_SLOT_TOUCHED_BYTES);
	session_free_slot(s, index, WEFT_STATE_WORD(generation, WEFT_SLOT_DRAINING));
}

/* The slot is in DRAINING: it is emptied, in several passes if the queue is full. */
static void drain_ended(struct pass *pass, uint32_t index, uint64_t generation,
			struct weft_slot *slot)
{
	struct slot_reader *reader = &pass->session->readers[index];
	int is_taken = 0;

	begin_reader(pass, index, generation, slot);
	pass->is_ending = 1;
	for (int i = 0; i < ENDED_TRIES; i++) { /* a liar's head may never be reached */
		is_taken = session_drain_rings(pass, index, slot);
		if (!is_taken || session_rings_are_empty(reader, slot))
			break;
	}
	pass->is_ending = 0;
	if (is_taken)
		end_slot(pass, index, slot);
}

/* Where there is nothing new this costs two loads, and the owner nothing. model: HOLD .. LET_GO */
static void drain_live(struct pass *pass, uint32_t index, uint64_t seen, struct weft_slot *slot)
{
	struct session *s = pass->session;
	struct slot_reader *reader = &s->readers[index];

	if (reader->who.generation == WEFT_GENERATION_OF(seen) &&
	    session_rings_are_empty(reader, slot))
		return;
	if (!session_state_changes(s, index, seen, seen | WEFT_SLOT_HELD))
		return;
	begin_reader(pass, index, WEFT_GENERATION_OF(seen), slot);
	session_drain_rings(pass, index, slot);
	__atomic_and_fetch(process_slot_state(s->process, index), ~(uint64_t)WEFT_SLOT_HELD,
			   __ATOMIC_RELEASE);
}

/* The process is gone, and the thread that was claiming the slot has written nothing yet. */
static void close_opening(struct pass *pass, uint32_t index, struct weft_slot *slot)
{
	session_end_thread(pass, index);
	session_close_books(pass->session, index, slot, END_OPENING);
}

static void drain_slot(struct pass *pass, uint32_t index)
{
	struct session *s = pass->session;
	uint64_t *word = process_slot_state(s->process, index);
	uint64_t seen = load_acquire(word);
	uint64_t generation = WEFT_GENERATION_OF(seen);
	uint64_t draining = WEFT_STATE_WORD(generation, WEFT_SLOT_DRAINING);
	enum weft_slot_state state = WEFT_STATE_OF(seen);
	struct weft_slot *slot = process_slot(s->process, index);

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

/* Has the pass taken its time? The clock is read after a slot that there was something to do for.
 */
static int pass_is_over(struct pass *pass)
{
	if (!pass->is_working || pass->last || pass->result.unfinished)
		return pass->result.unfinished;
	pass->is_working = 0;
	pass->result.unfinished =
		session_now(pass->session) - pass->now_ns >= pass->session->pass_ns;
	return pass->result.unfinished;
}

static void drain_block(struct pass *pass, uint32_t block, uint32_t high)
{
	uint32_t at = block * WEFT_SESSION_BLOCK_SLOTS;

	for (uint32_t k = 0; k < WEFT_SESSION_BLOCK_SLOTS && at + k < high; k++)
		drain_slot(pass, at + k);
}

/* What is new from here on sets the bit again. Pairs with weft_rt_mark(). */
static void drain_word(struct pass *pass, uint64_t *word, uint32_t first, uint32_t high)
{
	uint64_t bits = load_relaxed(word);

	if (bits)
		bits = __atomic_exchange_n(word, 0, __ATOMIC_ACQUIRE);
	for (; bits && !pass_is_over(pass); bits &= bits - 1)
		drain_block(pass, first + (uint32_t)__builtin_ctzll(bits), high);
	if (bits)
		__atomic_fetch_or(word, bits, __ATOMIC_RELAXED);
}

static void drain_fresh(struct pass *pass, uint32_t high)
{
	struct session *s = pass->session;
	uint32_t words = (high + 64 * WEFT_SESSION_BLOCK_SLOTS - 1) / 64 / WEFT_SESSION_BLOCK_SLOTS;

	for (uint32_t i = 0; i < words && !pass_is_over(pass); i++) {
		s->fresh_next = s->fresh_next < words ? s->fresh_next : 0;
		drain_word(pass, &s->process->base->fresh[s->fresh_next], s->fresh_next * 64, high);
		s->fresh_next += !pass->result.unfinished;
	}
}

/* All slots, from where the last pass has stopped. */
static void drain_every_slot(struct pass *pass, uint32_t high)
{
	struct session *s = pass->session;

	if (s->sweep_next == 0)
		s->drained_ns = pass->now_ns;
	for (; s->sweep_next < high && !pass_is_over(pass); s->sweep_next++)
		drain_slot(pass, s->sweep_next);
	if (s->sweep_next >= high)
		s->sweep_next = 0;
}

/* All slots are due every two seconds. While more passes than one are needed for them, every other
 * pass is for what is marked. */
static void drain_some(struct pass *pass, uint32_t high)
{
	struct session *s = pass->session;
	int is_due = s->sweep_next || pass->now_ns - s->drained_ns >= ALL_SLOTS_NS;

	s->is_sweeping = is_due && !s->is_sweeping;
	if (s->is_sweeping)
		drain_every_slot(pass, high);
	else
		drain_fresh(pass, high);
	pass->result.unfinished |= s->sweep_next != 0;
}

struct drain_result session_drain(struct session *s, struct queue *q, enum drain_mode mode)
{
	struct pass pass = {.session = s, .queue = q, .last = (int)mode, .now_ns = session_now(s)};
	uint32_t high = process_slots_high(s->process);

	store_relaxed(&s->process->base->drained_ns, pass.now_ns);
	session_events_read(s);
	session_events_tell(s, q);
	if (mode == DRAIN_RUNNING) {
		session_touch_ahead(s);
		drain_some(&pass, high);
	} else {
		s->sweep_next = 0;
		drain_every_slot(&pass, high);
	}
	session_account_tell(s, q, session_now(s));
	return pass.result;
}
