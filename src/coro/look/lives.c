/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lives lie in blocks that never move, for intervals and callers point into them. A map leads
 * from a station (or a probe_id, where a trace has no stations) to the life that is on it now;
 * lives before it keep their place, and are over.
 */
#include "coro/look/lives.h"

#include "base/array.h"
#include "base/map.h"

#include <errno.h>
#include <stdlib.h>

#define BLOCK 512

/* The key of a coroutine: what its events have in common. */
struct lives_place {
	uint64_t has_station, number;
};

struct coro_lives *coro_lives_new(void (*interval)(void *arg, const struct coro_interval *interval),
				  void *arg)
{
	struct coro_lives *l = calloc(1, sizeof(*l));

	if (!l)
		return NULL;
	l->interval = interval;
	l->arg = arg;
	l->now = map_new();
	if (!l->now) {
		free(l);
		return NULL;
	}
	return l;
}

void coro_lives_free(struct coro_lives *l)
{
	if (!l)
		return;
	for (size_t i = 0; i * BLOCK < l->count; i++)
		free(l->blocks[i]);
	free(l->blocks);
	map_free(l->now);
	free(l);
}

struct coro_life *coro_lives_at(struct coro_lives *l, size_t index)
{
	return &l->blocks[index / BLOCK][index % BLOCK];
}

static struct coro_life *life_new(struct coro_lives *l)
{
	if (l->count % BLOCK == 0) {
		size_t at = l->count / BLOCK;
		struct coro_life **one =
			array_add(&l->blocks, &at, &l->blocks_room, sizeof(struct coro_life *));

		if (!one || !(*one = calloc(BLOCK, sizeof(struct coro_life))))
			return NULL;
	}
	return coro_lives_at(l, l->count++);
}

/* Numbers that begin anew are those of another coroutine with the same id. */
static int began_anew(const struct coro_life *life, const struct coro_event *e)
{
	if (e->ts < life->last_ns)
		return 0;
	if (e->seq < life->last_seq)
		return 1;
	return e->seq == life->last_seq &&
	       (life->counting != CORO_COUNTS_LAPS || life->lap >= WEFT_CTP_SLOTS) &&
	       life->counting != CORO_COUNTS_UNKNOWN;
}

static int lives_is_same(const struct coro_life *life, const struct coro_event *e)
{
	if (!life->knows_identity)
		return !life->is_dead && !began_anew(life, e);
	return life->generation == e->generation && life->pid == e->pid &&
	       life->probe_id == e->probe_id && (e->generation || !began_anew(life, e));
}

/* A life begins, and ends the one that was in its place. *first: no event of it was lost before. */
static struct coro_life *lives_begin(struct coro_lives *l, uint64_t *index,
				     const struct coro_event *e, int *first)
{
	struct coro_life *last = *index ? coro_lives_at(l, *index - 1) : NULL, *life = life_new(l);

	if (!life)
		return NULL;
	*first = e->seq <= 2 || (last && last->knows_identity && e->seq == last->last_seq + 2);
	if (last) {
		last->is_replaced = !last->is_dead;
		last->is_dead = 1;
	}
	*index = l->count;
	life->probe_id = e->probe_id;
	life->first_ns = life->last_ns = e->ts;
	if (e->known & CORO_KNOWS_IDENTITY) {
		life->knows_identity = 1;
		life->pid = e->pid;
		life->station = e->station;
		life->generation = e->generation;
	}
	return life;
}

/* How many events are left out between the last one and this one. Learns how they are counted. */
static uint64_t left_out(struct coro_life *life, uint64_t seq)
{
	uint64_t step = seq - life->last_seq;

	if ((seq | life->last_seq) & 1)
		life->counting = CORO_COUNTS_ONES;
	else if (seq == life->last_seq)
		life->counting = CORO_COUNTS_LAPS;
	else if (life->counting == CORO_COUNTS_UNKNOWN && (step > 2 || life->generation))
		life->counting = CORO_COUNTS_EVENTS;
	if (seq <= life->last_seq) {
		life->lap++;
		return 0;
	}
	if (life->counting == CORO_COUNTS_ONES)
		return step - 1;
	if (life->counting == CORO_COUNTS_LAPS) {
		uint64_t whole = (step / 2 - 1) * WEFT_CTP_SLOTS;
		uint64_t rest = life->lap < WEFT_CTP_SLOTS ? WEFT_CTP_SLOTS - life->lap : 0;

		life->lap = 1;
		return whole + rest;
	}
	return step / 2 - (step > 1);
}

static void lives_hand_out(struct coro_lives *l, const struct coro_life *life,
			   enum coro_interval_kind k, uint64_t begin_ns, uint64_t end_ns,
			   uint64_t addr, unsigned int flags)
{
	struct coro_interval i = {.kind = k,
				  .is_open = flags & 1,
				  .is_first = (flags & 2) != 0,
				  .begin_ns = begin_ns,
				  .end_ns = end_ns,
				  .addr = addr,
				  .tid = k == CORO_RUN ? life->last_tid : 0,
				  .life = life};

	if (l->interval)
		l->interval(l->arg, &i);
}

static void resumed(struct coro_lives *l, struct coro_life *life, const struct coro_event *e,
		    int first)
{
	uint64_t since = life->open_ns, addr = life->last_suspend_addr;

	life->resumes++;
	if (first && life->birth_ns && life->birth_ns <= e->ts) {
		since = life->birth_ns;
		addr = 0;
	} else if (!life->is_open) {
		return;
	}
	if (e->ts - since > life->max_wait_ns)
		life->max_wait_ns = e->ts - since;
	lives_hand_out(l, life, CORO_WAIT, since, e->ts, addr, first ? 2 : 0);
}

static void suspended(struct coro_lives *l, struct coro_life *life, const struct coro_event *e)
{
	life->suspends++;
	if (life->is_open)
		lives_hand_out(l, life, CORO_RUN, life->open_ns, e->ts, e->addr, 0);
}

static void lives_count_move(struct coro_life *life, uint64_t tid)
{
	int is_new = life->resumes + life->suspends == 0;

	if (!is_new && tid != life->last_tid) {
		life->tids++;
		if (tid == life->previous_tid)
			life->returns++;
		life->previous_tid = life->last_tid;
	}
	life->last_tid = tid;
}

static void lives_learn(struct coro_life *life, const struct coro_event *e)
{
	if (e->known & CORO_KNOWS_BIRTH)
		life->birth_ns = e->birth_ts;
	if (e->known & CORO_KNOWS_CONTEXT) {
		life->context = e->context;
		life->has_context = 1;
	}
	life->is_dead = (e->known & CORO_KNOWS_DEATH) != 0;
	life->knows_death = life->knows_identity && life->generation;
}

/* An event in order: the open interval ends, and the next begins. */
static void lives_switch(struct coro_lives *l, struct coro_life *life, const struct coro_event *e,
			 int first)
{
	lives_count_move(life, e->tid);
	if (e->is_active) {
		resumed(l, life, e, first);
	} else {
		suspended(l, life, e);
		life->last_suspend_addr = e->addr;
	}
	life->is_running = e->is_active != 0;
	life->is_open = 1;
	life->open_ns = life->last_ns = e->ts;
	life->last_addr = e->addr;
	life->last_seq = e->seq;
}

static struct coro_life *life_of(struct coro_lives *l, const struct coro_event *e, int *is_new,
				 int *first)
{
	int has_station = (e->known & CORO_KNOWS_IDENTITY) != 0;
	struct lives_place place = {(uint64_t)has_station, has_station ? e->station : e->probe_id};
	uint64_t *index = map_put(l->now, &place, sizeof(place), is_new);

	if (!index)
		return NULL;
	if (!*is_new && *index && lives_is_same(coro_lives_at(l, *index - 1), e)) {
		*is_new = 0;
		return coro_lives_at(l, *index - 1);
	}
	*is_new = 1;
	return lives_begin(l, index, e, first);
}

int coro_lives_event(struct coro_lives *l, const struct coro_event *e)
{
	int is_new, first = 0;
	struct coro_life *life = life_of(l, e, &is_new, &first);
	uint64_t lost;

	if (!life)
		return -ENOMEM;
	if (!l->first_ns || e->ts < l->first_ns)
		l->first_ns = e->ts;
	if (e->ts > l->last_ns)
		l->last_ns = e->ts;
	if (is_new) {
		life->lap = 1;
	} else if (e->ts < life->last_ns) {
		life->gaps++;
		life->is_open = 0;
		return 0;
	} else {
		lost = left_out(life, e->seq);
		if (lost || (life->is_open && life->is_running == (e->is_active != 0))) {
			life->gaps++;
			life->lost += lost;
			l->lost += lost;
			life->is_open = 0;
		}
	}
	lives_learn(life, e);
	lives_switch(l, life, e, first);
	return 0;
}

void coro_lives_death(struct coro_lives *l, const struct coro_death *death)
{
	struct lives_place place = {1, death->station};
	const uint64_t *index = map_get(l->now, &place, sizeof(place));
	struct coro_life *life = index && *index ? coro_lives_at(l, *index - 1) : NULL;

	if (!life || life->is_dead || life->generation != death->generation ||
	    life->pid != death->pid)
		return;
	life->is_dead = 1;
	life->death_ns = death->ts > life->last_ns ? death->ts : life->last_ns;
}

void coro_lives_end(struct coro_lives *l)
{
	for (size_t i = 0; i < l->count; i++) {
		struct coro_life *life = coro_lives_at(l, i);

		if (life->is_dead || !life->is_open)
			continue;
		lives_hand_out(l, life, life->is_running ? CORO_RUN : CORO_WAIT, life->open_ns,
			       l->last_ns, life->last_addr, 1);
	}
}
