/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reader of one station: its identity is held still by `generation`, its newest event by that
 * slot's seq, its context by that record's. What it is at comes from its newest event, so that
 * state, since when, where and on which thread belong together; the state byte only says what no
 * event can (never resumed, woken since, dead). Totals are read one by one and may be an event
 * ahead of it.
 *
 * Stations are copied a few at a time under the guard, and handed out when it is down: a callback
 * may allocate.
 */
#include "coro/engine/snapshot.h"

#include "base/atomic.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define TRIES 64
#define AT_ONCE 32

/* @bytes is a multiple of 4, both aligned so. */
static void load_words(void *to, const void *from, size_t bytes)
{
	for (size_t i = 0; i < bytes / 4; i++)
		((uint32_t *)to)[i] = load_relaxed((const uint32_t *)from + i);
}

/* ---- its events */

/* 1; 0: empty, being written, or it would not hold still. */
static int read_slot(const struct weft_ctp_epoch *slot, int has_busy_mark, struct weft_ctp_epoch *e)
{
	for (int i = 0; i < TRIES; i++) {
		/* pairs with the probe's release of seq; the fence with that behind the odd one */
		uint64_t seq = load_acquire(&slot->seq);

		if (!seq || (has_busy_mark && seq & 1))
			return 0;
		load_words(e, slot, sizeof(*e));
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		e->seq = seq;
		if (load_relaxed(&slot->seq) == seq)
			return 1;
	}
	return 0;
}

/* Slot k of dialect S holds even numbers of laps, that of D numbers that are k, modulo 8. An odd
 * one in a slot that it does not belong to is S's mark. */
static int may_be_read(uint64_t seq, size_t k)
{
	return !(seq & 1) || seq % WEFT_CTP_SLOTS == k;
}

static void snapshot_insert(struct coro_state *state, const struct weft_ctp_epoch *e)
{
	size_t at = state->event_count++;

	for (; at && state->events[at - 1].timestamp > e->timestamp; at--)
		state->events[at] = state->events[at - 1];
	state->events[at] = *e;
}

/* Ours: in order of number, if it is not the last generation's. */
static void snapshot_read_ours(const struct weft_ctp_station *s, uint64_t first_event,
			       struct coro_state *state)
{
	struct weft_ctp_epoch found[WEFT_CTP_SLOTS];
	size_t oldest = 0;

	for (size_t k = 0; k < WEFT_CTP_SLOTS; k++) {
		if (!read_slot(&s->slots[k], 1, &found[k]) || found[k].seq / 2 - 1 < first_event)
			found[k].seq = UINT64_MAX;
		if (found[k].seq < found[oldest].seq)
			oldest = k;
	}
	for (size_t i = 0; i < WEFT_CTP_SLOTS; i++) {
		const struct weft_ctp_epoch *e = &found[(oldest + i) % WEFT_CTP_SLOTS];

		if (e->seq != UINT64_MAX)
			state->events[state->event_count++] = *e;
	}
}

/* Others': by time, for it goes only forward while the numbers are read in two ways. */
static void read_others(const struct weft_ctp_station *s, struct coro_state *state)
{
	struct weft_ctp_epoch e;

	for (size_t k = 0; k < WEFT_CTP_SLOTS; k++)
		if (read_slot(&s->slots[k], 0, &e) && may_be_read(e.seq, k))
			snapshot_insert(state, &e);
}

/* ---- its context */

static int snapshot_read_context(const struct weft_ctp_station *s, struct coro_state *state)
{
	uint32_t seq = load_acquire(&s->context.seq);

	if (!seq)
		return 0;
	if (seq & 1)
		return -EAGAIN;
	load_words(&state->context, &s->context, sizeof(state->context));
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	if (load_relaxed(&s->context.seq) != seq)
		return -EAGAIN;
	if (state->context.label_bytes > sizeof(state->context.labels))
		state->context.label_bytes = sizeof(state->context.labels);
	state->has_context = 1;
	return 0;
}

/* The one that goes along with the event is newer, and has no labels. */
static void add_prefix(const struct weft_ctp_epoch *e, struct coro_state *state)
{
	struct weft_ctp_context_prefix prefix;

	if (e->holds != WEFT_CTP_HOLDS_CONTEXT)
		return;
	memcpy(&prefix, e->reserved, sizeof(prefix));
	state->context.prefix = prefix;
	state->has_context = 1;
}

/* ---- a station */

static void read_totals(const struct weft_ctp_station *s, struct coro_state *state)
{
	load_words(&state->totals, &s->totals, sizeof(state->totals));
	load_words(state->run_histogram, s->run_histogram, sizeof(state->run_histogram));
	load_words(state->wait_histogram, s->wait_histogram, sizeof(state->wait_histogram));
	state->has_totals = 1;
}

static void snapshot_read_head(const struct weft_ctp_station *s, struct coro_state *state)
{
	state->probe_id = load_relaxed(&s->probe_id);
	state->birth_ts = load_relaxed(&s->birth_ts);
	state->is_dead = load_relaxed(&s->is_dead) != 0;
	if (state->dialect != WEFT_CTP_MONOTONIC)
		return;
	state->pid = load_relaxed(&s->pid);
	state->parent_station = load_relaxed(&s->parent_station);
	state->parent_generation = load_relaxed(&s->parent_generation);
	state->site = load_relaxed(&s->site);
	state->last_wake_ns = load_relaxed(&s->last_wake_ns);
}

static uint8_t snapshot_state_of(uint8_t stored, const struct coro_state *state,
				 const struct weft_ctp_epoch *newest)
{
	if (state->is_dead || stored == WEFT_CTP_DEAD || stored == WEFT_CTP_LISTED)
		return WEFT_CTP_DEAD;
	if (!newest)
		return WEFT_CTP_CREATED;
	if (newest->is_active)
		return WEFT_CTP_RUNNING;
	return stored == WEFT_CTP_READY ? WEFT_CTP_READY : WEFT_CTP_SUSPENDED;
}

static void snapshot_settle(struct coro_state *state, uint8_t stored)
{
	const struct weft_ctp_epoch *newest =
		state->event_count ? &state->events[state->event_count - 1] : NULL;

	state->state = snapshot_state_of(stored, state, newest);
	state->since_ns = state->birth_ts;
	if (!newest)
		return;
	state->since_ns = newest->timestamp;
	state->addr = newest->addr;
	state->tid = (uint32_t)newest->tid;
	if (state->dialect == WEFT_CTP_MONOTONIC)
		add_prefix(newest, state);
}

static int try_ours(const struct weft_ctp_station *s, uint32_t generation, struct coro_state *state)
{
	uint8_t stored = load_relaxed(&s->state);
	int rc;

	state->dialect = WEFT_CTP_MONOTONIC;
	state->generation = generation;
	snapshot_read_head(s, state);
	read_totals(s, state);
	snapshot_read_ours(s, load_relaxed(&s->first_event), state);
	rc = snapshot_read_context(s, state);
	/* pairs with the probe's fence behind the odd generation */
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	if (rc < 0 || load_relaxed(&s->generation) != generation)
		return -EAGAIN;
	if (stored == WEFT_CTP_UNUSED)
		return -ENOENT;
	snapshot_settle(state, stored);
	return 0;
}

static int try_legacy(const struct weft_ctp_station *s, struct coro_state *state)
{
	snapshot_read_head(s, state);
	read_others(s, state);
	if (!state->probe_id && !state->birth_ts && !state->event_count)
		return -ENOENT;
	snapshot_settle(state, WEFT_CTP_UNUSED);
	return 0;
}

static int try_station(const struct coro_shm *shm, uint32_t station, struct coro_state *state)
{
	const struct weft_ctp_station *s = &shm->stations[station];
	uint32_t generation = load_acquire(&s->generation);

	memset(state, 0, sizeof(*state));
	state->station = station;
	if (generation & 1)
		return -EAGAIN;
	if (load_relaxed(&s->dialect) == WEFT_CTP_MONOTONIC)
		return try_ours(s, generation, state);
	return try_legacy(s, state);
}

/* Again until it holds still, a bounded number of times. 0, -ENOENT: never had, -EAGAIN. */
static int read_station(const struct coro_shm *shm, uint32_t station, struct coro_state *state)
{
	int rc = -EAGAIN;

	for (int i = 0; rc == -EAGAIN && i < TRIES; i++)
		rc = try_station(shm, station, state);
	return rc;
}

/* ---- under the guard */

struct some {
	const struct coro_shm *shm;
	uint32_t from, to;
	uint32_t found;
	struct coro_state state[AT_ONCE];
};

static int snapshot_read_some(void *arg)
{
	struct some *some = arg;
	uint32_t allocated = coro_shm_allocated(some->shm);

	some->found = 0;
	for (some->to = some->from; some->to < allocated && some->to - some->from < AT_ONCE;
	     some->to++)
		some->found += read_station(some->shm, some->to, &some->state[some->found]) == 0;
	return 0;
}

int coro_snapshot(const struct coro_shm *shm,
		  int (*each)(void *arg, const struct coro_state *state), void *arg)
{
	struct some *some = malloc(sizeof(*some));
	int rc;

	if (!some)
		return -ENOMEM;
	some->shm = shm;
	some->to = 0;
	do {
		some->from = some->to;
		rc = coro_shm_guard(shm, snapshot_read_some, some);
		for (uint32_t i = 0; rc == 0 && i < some->found; i++)
			rc = each(arg, &some->state[i]);
	} while (rc == 0 && some->to > some->from);
	free(some);
	return rc;
}

/* ---- as a trace */

struct coro_event coro_state_event(const struct coro_state *state, size_t index)
{
	const struct weft_ctp_epoch *e = &state->events[index];
	struct coro_event event = {
		.probe_id = state->probe_id,
		.tid = e->tid,
		.addr = e->addr,
		.seq = e->seq,
		.ts = e->timestamp,
		.is_active = e->is_active != 0,
		.known = CORO_KNOWS_IDENTITY | CORO_KNOWS_BIRTH,
		.pid = state->pid,
		.station = state->station,
		.generation = state->generation,
		.birth_ts = state->birth_ts,
	};

	if (state->dialect == WEFT_CTP_MONOTONIC && e->holds == WEFT_CTP_HOLDS_CONTEXT) {
		memcpy(&event.context, e->reserved, sizeof(event.context));
		event.known |= CORO_KNOWS_CONTEXT;
	}
	if (state->state == WEFT_CTP_DEAD && index + 1 == state->event_count)
		event.known |= CORO_KNOWS_DEATH;
	return event;
}
