/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A sweep over each thread's slices by their begin, with a stack of those that are open. A slice
 * that ends behind the one it began in is cut there; the rest waits in a heap for its turn. It is
 * cut at most CUTS_MAX times, then what remains of it is left out, so that a trace in which all
 * threads have one id costs no more than that.
 */
#include "coro/look/timeline.h"

#include "base/array.h"

#include <errno.h>
#include <stdlib.h>

#define CUTS_MAX 32

struct rest {
	struct coro_slice slice;
	unsigned int cuts;
};

struct sweep {
	struct slices *out;
	size_t *open; /* indexes in out, innermost last */
	size_t depth, open_room;
	struct rest *rests; /* a heap: what begins first is on top */
	size_t rest_count, rest_room;
};

int slices_add(struct slices *s, const struct coro_slice *slice)
{
	struct coro_slice *one = array_add(&s->at, &s->count, &s->room, sizeof(*one));

	if (!one)
		return -ENOMEM;
	*one = *slice;
	return 0;
}

static int timeline_nest_order(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

/* By thread and begin; what lasts longer first, for it may hold the other. */
static int timeline_nest_compare(const void *left, const void *right)
{
	const struct coro_slice *a = left, *b = right;
	int by = timeline_nest_order(a->thread, b->thread);

	if (!by)
		by = timeline_nest_order(a->begin_ns, b->begin_ns);
	if (!by)
		by = timeline_nest_order(b->end_ns, a->end_ns);
	return by ? by : timeline_nest_order(a->flow, b->flow);
}

void slices_sort(struct slices *s)
{
	if (!s->count)
		return;
	qsort(s->at, s->count, sizeof(*s->at), timeline_nest_compare);
	for (size_t i = 0; i + 1 < s->count; i++) {
		struct coro_slice *slice = &s->at[i], *next = slice + 1;
		int knows = slice->life->knows_death && !slice->life->is_dead;

		if (slice->is_open && !knows && next->thread == slice->thread &&
		    next->begin_ns < slice->end_ns)
			slice->end_ns = next->begin_ns;
	}
}

static int rest_before(const struct rest *a, const struct rest *b)
{
	return timeline_nest_compare(&a->slice, &b->slice) < 0;
}

static void timeline_nest_swap(struct rest *a, struct rest *b)
{
	struct rest kept = *a;

	*a = *b;
	*b = kept;
}

static int push_rest(struct sweep *s, const struct rest *rest)
{
	size_t at = s->rest_count;
	struct rest *one = array_add(&s->rests, &s->rest_count, &s->rest_room, sizeof(*one));

	if (!one)
		return -ENOMEM;
	*one = *rest;
	for (; at && rest_before(&s->rests[at], &s->rests[(at - 1) / 2]); at = (at - 1) / 2)
		timeline_nest_swap(&s->rests[at], &s->rests[(at - 1) / 2]);
	return 0;
}

static struct rest pop_rest(struct sweep *s)
{
	struct rest top = s->rests[0];
	size_t at = 0;

	s->rests[0] = s->rests[--s->rest_count];
	for (;;) {
		size_t child = 2 * at + 1;

		if (child >= s->rest_count)
			return top;
		if (child + 1 < s->rest_count &&
		    rest_before(&s->rests[child + 1], &s->rests[child]))
			child++;
		if (!rest_before(&s->rests[child], &s->rests[at]))
			return top;
		timeline_nest_swap(&s->rests[child], &s->rests[at]);
		at = child;
	}
}

static int open_slice(struct sweep *s, const struct coro_slice *slice)
{
	size_t *one = array_add(&s->open, &s->depth, &s->open_room, sizeof(*one));

	if (!one)
		return -ENOMEM;
	*one = s->out->count;
	return slices_add(s->out, slice);
}

/* Closes slices that ended before @slice begins; the innermost that is still open, or NULL. */
static const struct coro_slice *outside(struct sweep *s, const struct coro_slice *slice)
{
	while (s->depth) {
		const struct coro_slice *last = &s->out->at[s->open[s->depth - 1]];

		if (last->thread == slice->thread && last->end_ns > slice->begin_ns)
			return last;
		s->depth--;
	}
	return NULL;
}

static int timeline_nest_place(struct sweep *s, struct rest *item)
{
	const struct coro_slice *around = outside(s, &item->slice);
	struct rest rest = *item;

	if (!around || around->end_ns >= item->slice.end_ns)
		return open_slice(s, &item->slice);
	item->slice.end_ns = around->end_ns;
	if (!item->slice.is_open && item->cuts < CUTS_MAX) {
		item->slice.is_cut = 1;
		item->slice.goes = 1;
		rest.slice.begin_ns = around->end_ns;
		rest.slice.is_rest = 1;
		rest.slice.comes = 1;
		rest.cuts++;
		if (push_rest(s, &rest))
			return -ENOMEM;
	}
	return open_slice(s, &item->slice);
}

int slices_nest(const struct slices *sorted, struct slices *nested)
{
	struct sweep s = {.out = nested};
	size_t i = 0;
	int rc = 0;

	while (!rc && (i < sorted->count || s.rest_count)) {
		struct rest item = {.cuts = 0};

		if (i < sorted->count)
			item.slice = sorted->at[i];
		if (s.rest_count && (i >= sorted->count || rest_before(&s.rests[0], &item)))
			item = pop_rest(&s);
		else
			i++;
		rc = timeline_nest_place(&s, &item);
	}
	free(s.open);
	free(s.rests);
	return rc;
}
