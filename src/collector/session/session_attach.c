/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Taking over a session that a runtime made itself, as its only recorder (its memfd is locked,
 * attach.h). An earlier recorder may have been killed at any step, and so may we:
 *
 *   1. run_state STOPPED: threads that end leave their slots to us from here on, and timers
 *      that an earlier recording left delete themselves
 *   2. slots: what an earlier recorder held or was closing is freed; what it left in the rings
 *      is skipped, and the books of living threads count from here (session.before)
 *   3. settings, those of events too; no module map and no tables yet
 *   4. attach_number, then run_state RECORDING (release): whoever sees that sees the settings
 *
 * Killed after any of these, the target goes on: without an order nothing is armed in it.
 */
#include "collector/session/attach.h"
#include "collector/session/session_private.h"

#include "base/clock.h"
#include "collector/process/filters.h"
#include "collector/process/order.h"

#include <errno.h>
#include <sched.h>
#include <unistd.h>

#define OPENING_TRIES 1000
#define HANDLER_TRIES 1000

/* ---- slots */

/* Reads both words as they are between two appends; after some tries, as they are. */
static void session_attach_read_ring(const struct weft_slot *slot,
				     const struct weft_ring_producer *p, uint64_t *written,
				     uint64_t *head)
{
	for (int i = 0; i < HANDLER_TRIES; i++) {
		*written = load_acquire(&p->written);
		*head = load_acquire(&p->head);
		if (!load_acquire(&slot->thread.handling) && !load_acquire(&p->busy) &&
		    load_acquire(&p->written) == *written)
			return;
		sched_yield();
	}
}

/* Skips what is in the ring of a living thread: it counts as delivered, so that the books balance.
 */
static struct ring_tally skip_ring(const struct weft_slot *slot, enum weft_counter stolen,
				   const struct weft_ring_producer *p, struct weft_ring_consumer *c)
{
	struct ring_tally t = {
		.refused = load_relaxed(&c->refused),
		.stolen = load_relaxed(&slot->counters[stolen]),
	};
	uint64_t written = 0;

	session_attach_read_ring(slot, p, &written, &t.tail);
	t.delivered = written - t.refused - t.stolen;
	store_relaxed(&c->delivered, t.delivered);
	store_release(&c->tail, t.tail);
	return t;
}

static void take_live(struct session *s, uint32_t index, uint64_t seen)
{
	struct slot_reader *reader = &s->readers[index];
	struct weft_slot *slot = process_slot(s->process, index);

	__atomic_and_fetch(process_slot_state(s->process, index), ~(uint64_t)WEFT_SLOT_HELD,
			   __ATOMIC_RELEASE);
	*reader = (struct slot_reader){
		.who = {.generation = WEFT_GENERATION_OF(seen),
			.tid = load_relaxed(&slot->thread.tid),
			.claimed_ns = s->process->opened_ns},
		.closed_generation = WEFT_GENERATION_OF(seen) - 1,
	};
	reader->samples =
		skip_ring(slot, WEFT_COUNTER_LOST_STOLEN, &slot->samples_p, &slot->samples_c);
	reader->events =
		skip_ring(slot, WEFT_COUNTER_EVENTS_STOLEN, &slot->events_p, &slot->events_c);
	s->open_threads++;
}

/* The thread has ended, and what it left is an earlier recording's. */
static int take_ended(struct session *s, uint32_t index, uint64_t seen)
{
	uint64_t generation = WEFT_GENERATION_OF(seen);
	uint64_t draining = WEFT_STATE_WORD(generation, WEFT_SLOT_DRAINING);

	if (seen != draining && !session_state_changes(s, index, seen, draining))
		return 0;
	session_wipe_books(process_slot(s->process, index));
	s->readers[index] = (struct slot_reader){.closed_generation = generation};
	session_free_slot(s, index, draining);
	return 1;
}

/* Waits for a thread that is claiming the slot at this moment, but not for ever. */
static void take_slot(struct session *s, uint32_t index)
{
	const uint64_t *word = process_slot_state(s->process, index);

	for (int i = 0; i < OPENING_TRIES; i++) {
		uint64_t seen = load_acquire(word);
		enum weft_slot_state state = WEFT_STATE_OF(seen);

		if (WEFT_GENERATION_OF(seen) == 0 || state > WEFT_SLOT_DRAINING)
			return;
		s->readers[index].closed_generation =
			WEFT_GENERATION_OF(seen) - (state == WEFT_SLOT_OPENING);
		if (state == WEFT_SLOT_FREE)
			return;
		if (state == WEFT_SLOT_LIVE) {
			take_live(s, index, seen);
			return;
		}
		if (state != WEFT_SLOT_OPENING && take_ended(s, index, seen))
			return;
		sched_yield();
	}
}

/* ---- the header */

static void lock_out(struct session *s)
{
	struct weft_session_header *h = s->process->base;

	store_relaxed(&h->drained_ns, clock_mono_ns());
	store_relaxed(&h->collector_pid, getpid());
	store_seq_cst(&h->run_state, WEFT_RUN_STOPPED);
}

/* What an earlier recording published is nobody's any more. */
static void session_attach_clear(struct weft_session_header *h)
{
	store_release(&h->map_current, 0);
	store_relaxed(&h->tables_used, 0);
	h->collector_done = 0;
}

static int session_attach_take_over(struct session *s, const struct session_settings *settings)
{
	struct weft_session_header *h = s->process->base;
	uint32_t high = process_slots_high(s->process);
	int rc;

	filters_meet(s->process);
	lock_out(s);
	for (uint32_t i = 0; i < high; i++)
		take_slot(s, i);
	s->touched = high;
	session_count(s, &s->before);
	s->attached = 1;
	session_attach_clear(h);
	session_write_settings(s, settings);
	rc = session_events_begin(s, &settings->events);
	if (rc)
		return rc;
	s->attach_number = __atomic_add_fetch(&h->attach_number, 1, __ATOMIC_RELEASE);
	store_release(&h->run_state, WEFT_RUN_RECORDING);
	return 0;
}

int session_attach(struct session **out, struct process *p, struct attach_target *t,
		   const struct session_settings *settings)
{
	struct session *s = session_of(p);
	int rc;

	if (!s)
		return -ENOMEM;
	s->memfd = t->fd;
	s->process->layout = t->layout;
	rc = session_map(s);
	if (rc)
		s->memfd = -1;
	else
		t->fd = -1;
	if (rc == 0)
		rc = session_attach_take_over(s, settings);
	if (rc)
		session_free(s);
	else
		*out = s;
	return rc;
}

int session_engines_run(const struct session *s)
{
	return load_acquire(&s->process->base->engines_run) != 0;
}

int session_attach_state(const struct session *s)
{
	const struct weft_session_header *h = s->process->base;
	int32_t error;

	if (!s->attached || !order_signal_is_allowed(s->process->layout.prime_signal_used))
		return 0;
	/* Nothing can be asked of it, and of the wall clock alone nothing need be. */
	if (filters_are_feared(s->process) && !(s->event_options.engines & WEFT_ENGINE_CPU))
		return 0;
	/* Pairs with the release store of the thread that carried the order out
	 * (src/runtime/sample/attach.c). */
	if (load_acquire(&h->attach_taken) != s->attach_number)
		return filters_are_feared(s->process) ? -EPERM : -EAGAIN;
	error = load_relaxed(&h->attach_error);
	return error > 0 || error < -4095 || error == -EAGAIN ? -EPROTO : error;
}
