/* SPDX-License-Identifier: Apache-2.0 */
/* Collects the intervals of coro_lives; at the end cuts, nests and sorts them. */
#include "coro/look/timeline.h"

#include "base/array.h"
#include "base/map.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LOST_MAX (INT64_C(1) << 60)

struct coro_step {
	uint64_t ns;
	int64_t what; /* by * CORO_COUNTERS + enum coro_counter */
};

/* life->user: the runs of a coroutine that follow one another. */
struct chain {
	uint64_t flow;
	size_t last;   /* 1 + index of its last run */
	int continues; /* the wait after it was seen whole: the next run follows it */
};

static int add_step(struct coro_timeline *t, uint64_t ns, enum coro_counter counter, int64_t by)
{
	struct coro_step *one = array_add(&t->steps, &t->step_count, &t->step_room, sizeof(*one));

	if (!one)
		return -ENOMEM;
	*one = (struct coro_step){ns, by * CORO_COUNTERS + (int64_t)counter};
	return 0;
}

static int timeline_add_span(struct coro_timeline *t, enum coro_counter counter, uint64_t begin_ns,
			     uint64_t end_ns)
{
	int rc = end_ns > begin_ns ? add_step(t, begin_ns, counter, 1) : 0;

	return rc || end_ns <= begin_ns ? rc : add_step(t, end_ns, counter, -1);
}

static int thread_index(struct coro_timeline *t, uint32_t pid, uint64_t tid, uint32_t *index)
{
	uint64_t key[2] = {pid, tid};
	int fresh;
	uint64_t *found = map_put(t->thread_of, key, sizeof(key), &fresh);

	if (!found)
		return -ENOMEM;
	if (fresh) {
		struct coro_thread *one =
			array_add(&t->threads, &t->thread_count, &t->thread_room, sizeof(*one));

		if (!one)
			return -ENOMEM;
		*found = t->thread_count - 1;
		*one = (struct coro_thread){tid, pid};
	}
	*index = (uint32_t)*found;
	return 0;
}

static int context_index(struct coro_timeline *t, const struct coro_life *life, uint32_t *index)
{
	const struct weft_ctp_context_prefix *p = &life->context;
	uint64_t *found;
	int fresh;

	*index = 0;
	if (!life->has_context || !p->valid)
		return 0;
	found = map_put(t->context_of, p, sizeof(*p), &fresh);
	if (!found)
		return -ENOMEM;
	if (fresh) {
		struct weft_ctp_context_prefix *one =
			array_add(&t->contexts, &t->context_count, &t->context_room, sizeof(*one));

		if (!one)
			return -ENOMEM;
		*one = *p;
		*found = t->context_count;
	}
	*index = (uint32_t)*found;
	return 0;
}

/* life->user is free for us: nobody else has these lives. */
static struct chain *chain_of(const struct coro_life *life)
{
	if (!life->user)
		((struct coro_life *)(uintptr_t)life)->user = calloc(1, sizeof(struct chain));
	return life->user;
}

static int add_run(struct coro_timeline *t, const struct coro_interval *i)
{
	struct chain *chain = chain_of(i->life);
	struct coro_slice s = {.begin_ns = i->begin_ns,
			       .end_ns = i->end_ns,
			       .addr = i->is_open ? 0 : i->addr,
			       .life = i->life,
			       .is_open = i->is_open};
	int rc = chain ? thread_index(t, i->life->pid, i->tid, &s.thread) : -ENOMEM;

	if (!rc)
		rc = context_index(t, i->life, &s.context);
	if (rc)
		return rc;
	if (chain->continues) {
		s.comes = 1;
		t->runs.at[chain->last - 1].goes = 1;
	} else {
		chain->flow = ++t->flows;
	}
	s.flow = chain->flow;
	chain->continues = 0;
	rc = slices_add(&t->runs, &s);
	chain->last = t->runs.count;
	return rc;
}

static int timeline_longest_first(const void *left, const void *right)
{
	const struct coro_wait *a = left, *b = right;
	uint64_t first = a->end_ns - a->begin_ns, second = b->end_ns - b->begin_ns;

	if (first != second)
		return first > second ? -1 : 1;
	if (a->begin_ns != b->begin_ns)
		return a->begin_ns < b->begin_ns ? -1 : 1;
	return (a->addr > b->addr) - (a->addr < b->addr);
}

static void keep_longest(struct coro_timeline *t)
{
	if (t->wait_count <= t->longest)
		return;
	qsort(t->waits, t->wait_count, sizeof(*t->waits), timeline_longest_first);
	t->wait_count = t->longest;
}

static int add_wait(struct coro_timeline *t, const struct coro_interval *i)
{
	struct chain *chain = chain_of(i->life);
	struct coro_wait *one = NULL;

	if (t->wait_count == 2 * t->longest)
		keep_longest(t);
	if (chain)
		one = array_add(&t->waits, &t->wait_count, &t->wait_room, sizeof(*one));
	if (!one)
		return -ENOMEM;
	*one = (struct coro_wait){i->begin_ns, i->end_ns,  i->addr,
				  i->life,     i->is_open, i->is_first};
	/* the run before it was handed out just now, or was not seen whole */
	chain->continues = !i->is_open && !i->is_first && chain->last &&
			   t->runs.at[chain->last - 1].end_ns == i->begin_ns;
	return timeline_add_span(t, CORO_SUSPENDED, i->begin_ns, i->end_ns);
}

static void timeline_interval(void *arg, const struct coro_interval *i)
{
	struct coro_timeline *t = arg;
	int rc = i->kind == CORO_RUN ? add_run(t, i) : add_wait(t, i);

	if (rc && !t->error)
		t->error = rc;
}

static int count_lost(struct coro_timeline *t, uint64_t ns, uint64_t lost)
{
	uint64_t more = lost > t->lost ? lost - t->lost : 0;

	if (!more)
		return 0;
	t->lost = lost;
	/* a larger number comes from a broken trace */
	return add_step(t, ns, CORO_LOST, more > LOST_MAX ? LOST_MAX : (int64_t)more);
}

static int timeline_add_event(void *arg, const struct coro_event *event)
{
	struct coro_timeline *t = arg;
	int rc = coro_lives_event(t->lives, event);

	if (!rc)
		rc = count_lost(t, event->ts, t->lives->lost);
	return rc ? rc : t->error;
}

int coro_timeline_new(struct coro_timeline **out, uint32_t longest)
{
	struct coro_timeline *t = calloc(1, sizeof(*t));

	if (!t)
		return -ENOMEM;
	t->order.next = timeline_add_event;
	t->order.arg = t;
	t->longest = longest ? longest : CORO_LONGEST_DEFAULT;
	t->lives = coro_lives_new(timeline_interval, t);
	t->thread_of = map_new();
	t->context_of = map_new();
	if (!t->lives || !t->thread_of || !t->context_of) {
		coro_timeline_free(t);
		return -ENOMEM;
	}
	*out = t;
	return 0;
}

void coro_timeline_free(struct coro_timeline *t)
{
	if (!t)
		return;
	for (size_t i = 0; t->lives && i < t->lives->count; i++)
		free(coro_lives_at(t->lives, i)->user);
	coro_lives_free(t->lives);
	map_free(t->thread_of);
	map_free(t->context_of);
	free(t->threads);
	free(t->contexts);
	free(t->runs.at);
	free(t->nested.at);
	free(t->waits);
	free(t->steps);
	free(t);
}

int coro_timeline_event(struct coro_timeline *t, const struct coro_event *event)
{
	return order_event(&t->order, event);
}

/* Runs of coroutines that have ended after a resume, their last event: nobody saw the end. */
static int add_last_runs(struct coro_timeline *t)
{
	int rc = 0;

	for (size_t i = 0; !rc && i < t->lives->count; i++) {
		struct coro_life *life = coro_lives_at(t->lives, i);
		struct coro_interval last = {.kind = CORO_RUN,
					     .is_open = 1,
					     .begin_ns = life->open_ns,
					     .end_ns = t->lives->last_ns,
					     .tid = life->last_tid,
					     .life = life};

		if (life->is_dead && life->is_open && life->is_running)
			rc = add_run(t, &last);
	}
	return rc;
}

/* How long a coroutine lived, as far as the trace says. */
static int add_lives(struct coro_timeline *t)
{
	uint64_t end = t->lives->last_ns;
	int rc = 0;

	for (size_t i = 0; !rc && i < t->lives->count; i++) {
		const struct coro_life *life = coro_lives_at(t->lives, i);
		const struct chain *chain = life->user;
		uint64_t begin = life->first_ns, until = end;

		if (life->birth_ns && life->birth_ns < begin)
			begin = life->birth_ns;
		if (life->is_dead || (!life->knows_death && life->is_running))
			until = life->last_ns;
		if (chain && chain->last && until < t->runs.at[chain->last - 1].end_ns)
			until = t->runs.at[chain->last - 1].end_ns;
		rc = timeline_add_span(t, CORO_LIVE, begin, until);
	}
	return rc;
}

static int add_running(struct coro_timeline *t)
{
	int rc = 0;

	for (size_t i = 0; !rc && i < t->runs.count; i++)
		rc = timeline_add_span(t, CORO_RUNNING, t->runs.at[i].begin_ns,
				       t->runs.at[i].end_ns);
	return rc;
}

/* Sorting has moved the runs: finds the last one of each life again. */
static void find_last_runs(struct coro_timeline *t)
{
	for (size_t i = 0; i < t->lives->count; i++) {
		struct chain *chain = coro_lives_at(t->lives, i)->user;

		if (chain)
			chain->last = 0;
	}
	for (size_t i = 0; i < t->runs.count; i++) {
		struct chain *chain = t->runs.at[i].life->user;

		if (!chain->last || t->runs.at[chain->last - 1].begin_ns <= t->runs.at[i].begin_ns)
			chain->last = i + 1;
	}
}

static int timeline_by_time(const void *left, const void *right)
{
	const struct coro_step *a = left, *b = right;

	return (a->ns > b->ns) - (a->ns < b->ns);
}

static int by_life(const void *left, const void *right)
{
	const struct coro_wait *a = left, *b = right;
	uint64_t first = a->life->first_ns, second = b->life->first_ns;

	if (first != second)
		return first < second ? -1 : 1;
	if (a->life != b->life)
		return (uintptr_t)a->life < (uintptr_t)b->life ? -1 : 1;
	return (a->begin_ns > b->begin_ns) - (a->begin_ns < b->begin_ns);
}

int coro_timeline_finish(struct coro_timeline *t, const struct coro_books *books)
{
	int rc = order_flush(&t->order);

	if (rc)
		return rc;
	coro_lives_end(t->lives);
	if (books)
		rc = count_lost(t, t->lives->last_ns, books->lost);
	if (!rc)
		rc = add_last_runs(t);
	if (!rc)
		rc = t->error;
	if (rc)
		return rc;
	slices_sort(&t->runs);
	find_last_runs(t);
	rc = slices_nest(&t->runs, &t->nested);
	if (!rc)
		rc = add_running(t);
	if (!rc)
		rc = add_lives(t);
	if (t->step_count)
		qsort(t->steps, t->step_count, sizeof(*t->steps), timeline_by_time);
	keep_longest(t);
	if (t->wait_count)
		qsort(t->waits, t->wait_count, sizeof(*t->waits), by_life);
	return rc;
}

static void timeline_apply(int64_t *counters, int64_t what)
{
	int64_t counter = (what % CORO_COUNTERS + CORO_COUNTERS) % CORO_COUNTERS;

	counters[counter] += (what - counter) / CORO_COUNTERS;
}

int coro_timeline_counters(const struct coro_timeline *t,
			   int (*each)(void *arg, uint64_t ns, const int64_t *counters,
				       unsigned int changed),
			   void *arg)
{
	int64_t now[CORO_COUNTERS] = {0}, told[CORO_COUNTERS] = {-1, -1, -1, -1};
	int rc = 0;

	for (size_t i = 0; !rc && i < t->step_count;) {
		uint64_t ns = t->steps[i].ns;
		unsigned int changed = 0;

		for (; i < t->step_count && t->steps[i].ns == ns; i++)
			timeline_apply(now, t->steps[i].what);
		for (unsigned int c = 0; c < CORO_COUNTERS; c++)
			changed |= (unsigned int)(now[c] != told[c]) << c;
		memcpy(told, now, sizeof(told));
		if (changed)
			rc = each(arg, ns, now, changed);
	}
	return rc;
}

void coro_timeline_name(char name[CORO_SHORT_BYTES], const struct coro_life *life)
{
	uint64_t id = life->probe_id;

	/* weft's own: pid << 31 | number */
	if (life->pid && id >> 31 == life->pid)
		snprintf(name, CORO_SHORT_BYTES, "coro %" PRIu64, id & 0x7FFFFFFF);
	else if (id < 1000000000)
		snprintf(name, CORO_SHORT_BYTES, "coro %" PRIu64, id);
	else
		snprintf(name, CORO_SHORT_BYTES, "coro 0x%" PRIx64, id);
}
