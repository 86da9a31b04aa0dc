/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See context.h. One array of intervals, sorted by thread, start, and end downwards, so
 * that outer ones stand before inner ones. outer[] leads from an interval to the nearest
 * one before it that ends later: whatever ended before the moment asked for is skipped
 * together with all that ended no later, which makes a question cost the depth of nesting
 * and not the number of intervals. Crossing intervals cost more and are right, too.
 */
#include "report/read/context.h"

#include "base/array.h"

#include <errno.h>
#include <stdlib.h>

#define NONE UINT32_MAX

struct interval {
	uint64_t thread;
	int64_t start_ns, end_ns;
	uint32_t items, count; /* in x->items */
	uint32_t outer;        /* index; NONE */
	uint32_t order;        /* of arrival: of equals, the later one is the inner one */
};

struct context_index {
	struct interval *intervals;
	uint32_t count;
	size_t room;
	struct context_item *items;
	uint32_t item_count;
	size_t item_room;
};

struct context_index *context_index_new(void)
{
	return calloc(1, sizeof(struct context_index));
}

void context_index_free(struct context_index *x)
{
	if (!x)
		return;
	free(x->intervals);
	free(x->items);
	free(x);
}

int context_index_add(struct context_index *x, uint64_t thread, int64_t start_ns, int64_t end_ns,
		      const struct context_item *items, uint32_t count)
{
	struct interval *intervals;
	struct context_item *pool;

	if (x->count == NONE - 1 || count > NONE - x->item_count)
		return -ENOMEM;
	intervals = array_grown(x->intervals, x->count + 1u, &x->room, sizeof(*intervals));
	if (intervals)
		x->intervals = intervals;
	pool = array_grown(x->items, x->item_count + count, &x->item_room, sizeof(*pool));
	if (pool)
		x->items = pool;
	if (!intervals || !pool)
		return -ENOMEM;
	x->intervals[x->count] = (struct interval){
		.thread = thread,
		.start_ns = start_ns,
		.end_ns = end_ns > start_ns ? end_ns : start_ns + 1,
		.items = x->item_count,
		.count = count,
		.order = x->count,
	};
	x->count++;
	for (uint32_t i = 0; i < count; i++)
		x->items[x->item_count++] = items[i];
	return 0;
}

static int order_of(int64_t a, int64_t b)
{
	return (a > b) - (a < b);
}

static int outer_first(const void *left, const void *right)
{
	const struct interval *a = left, *b = right;

	if (a->thread != b->thread)
		return a->thread < b->thread ? -1 : 1;
	if (a->start_ns != b->start_ns)
		return order_of(a->start_ns, b->start_ns);
	if (a->end_ns != b->end_ns)
		return order_of(b->end_ns, a->end_ns);
	return order_of(a->order, b->order);
}

int context_index_seal(struct context_index *x)
{
	if (x->count)
		qsort(x->intervals, x->count, sizeof(*x->intervals), outer_first);
	for (uint32_t i = 0; i < x->count; i++) {
		struct interval *v = &x->intervals[i];
		uint32_t j = i ? i - 1 : NONE;

		while (j != NONE && x->intervals[j].thread == v->thread &&
		       x->intervals[j].end_ns <= v->end_ns)
			j = x->intervals[j].outer;
		if (j != NONE && x->intervals[j].thread != v->thread)
			j = NONE;
		v->outer = j;
	}
	return 0;
}

/* The last interval of the thread that starts no later than the moment; NONE. */
static uint32_t last_begun(const struct context_index *x, uint64_t thread, int64_t time_ns)
{
	uint32_t low = 0, high = x->count;

	while (low < high) {
		uint32_t mid = low + (high - low) / 2;
		const struct interval *v = &x->intervals[mid];

		if (v->thread < thread || (v->thread == thread && v->start_ns <= time_ns))
			low = mid + 1;
		else
			high = mid;
	}
	if (!low || x->intervals[low - 1].thread != thread)
		return NONE;
	return low - 1;
}

/* Goes through those that hold, from @i, the last begun, on; their index, or NONE. */
static uint32_t next_holding(const struct context_index *x, uint32_t i, uint64_t thread,
			     int64_t time_ns)
{
	while (i != NONE && x->intervals[i].thread == thread) {
		if (x->intervals[i].end_ns > time_ns)
			return i;
		i = x->intervals[i].outer;
	}
	return NONE;
}

static uint32_t before(uint32_t i)
{
	return i ? i - 1 : NONE;
}

uint32_t context_index_holding(const struct context_index *x, uint64_t thread, int64_t time_ns,
			       uint32_t *out, uint32_t room)
{
	uint32_t i = last_begun(x, thread, time_ns), count = 0;

	while (count < room && (i = next_holding(x, i, thread, time_ns)) != NONE) {
		out[count++] = x->intervals[i].order;
		i = before(i);
	}
	return count;
}

/* What was taken in so far: per event type the end of the innermost interval. */
struct taken {
	uint32_t count;
	struct {
		uint32_t type;
		int64_t end_ns;
	} of[CONTEXT_ITEMS];
};

/* May this interval lend, or does one of the same type that is no part of it hold already? */
static int may_lend(struct taken *t, uint32_t type, int64_t end_ns)
{
	for (uint32_t i = 0; i < t->count; i++) {
		if (t->of[i].type != type)
			continue;
		if (end_ns <= t->of[i].end_ns)
			return 0;
		t->of[i].end_ns = end_ns;
		return 1;
	}
	if (t->count < CONTEXT_ITEMS) {
		t->of[t->count].type = type;
		t->of[t->count++].end_ns = end_ns;
	}
	return 1;
}

void context_index_ask(const struct context_index *x, uint64_t thread, int64_t time_ns,
		       struct context *out)
{
	uint32_t i = last_begun(x, thread, time_ns);
	struct taken taken = {.count = 0};

	while ((i = next_holding(x, i, thread, time_ns)) != NONE) {
		const struct interval *v = &x->intervals[i];

		if (v->count && may_lend(&taken, x->items[v->items].type, v->end_ns))
			for (uint32_t k = 0; k < v->count; k++)
				context_add(out, x->items[v->items + k]);
		i = before(i);
	}
}
