/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See join.h. One array of intervals, sorted by thread, start, and end downwards, so that outer
 * ones stand before inner ones. outer leads from an interval to the nearest one before it that
 * ends later: whatever ended before the moment asked for is skipped together with all that ended
 * no later, which makes a question cost the depth of nesting and not the number of intervals.
 * Crossing intervals cost more and are right, too.
 */
#include "jfr/join/join.h"

#include "base/array.h"

#include <errno.h>
#include <stdlib.h>

#define NONE UINT32_MAX

void join_free(struct join *x)
{
	free(x->intervals);
	*x = (struct join){0};
}

int join_add(struct join *x, const struct join_interval *interval)
{
	struct join_interval *grown = NULL;

	if (x->count < NONE - 1)
		grown = array_grown(x->intervals, x->count + 1u, &x->room, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	x->intervals = grown;
	grown[x->count++] = *interval;
	return 0;
}

static int join_outer_first(const void *left, const void *right)
{
	const struct join_interval *a = left, *b = right;

	if (a->thread != b->thread)
		return a->thread < b->thread ? -1 : 1;
	if (a->start_ns != b->start_ns)
		return join_compare(a->start_ns, b->start_ns);
	if (a->last_ns != b->last_ns)
		return join_compare(b->last_ns, a->last_ns);
	return (a->order > b->order) - (a->order < b->order);
}

static void join_link(struct join *x)
{
	for (uint32_t i = 0; i < x->count; i++) {
		struct join_interval *v = &x->intervals[i];
		uint32_t j = i ? i - 1 : NONE;

		while (j != NONE && x->intervals[j].thread == v->thread &&
		       x->intervals[j].last_ns <= v->last_ns)
			j = x->intervals[j].outer;
		v->outer = j != NONE && x->intervals[j].thread == v->thread ? j : NONE;
	}
	x->sealed = x->count;
}

void join_seal(struct join *x)
{
	if (x->sealed == x->count)
		return;
	qsort(x->intervals, x->count, sizeof(*x->intervals), join_outer_first);
	join_link(x);
}

void join_forget(struct join *x, int64_t from_ns)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < x->count; i++) {
		if (x->intervals[i].last_ns >= from_ns)
			x->intervals[count++] = x->intervals[i];
	}
	x->count = count;
	join_link(x);
}

/* How many stand before the first that is of a later thread, or starts after the moment. */
static uint32_t join_begun(const struct join *x, uint64_t thread, int64_t time_ns)
{
	uint32_t low = 0, high = x->count;

	while (low < high) {
		uint32_t mid = low + (high - low) / 2;
		const struct join_interval *v = &x->intervals[mid];

		if (v->thread < thread || (v->thread == thread && v->start_ns <= time_ns))
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/* The last of the first @count that holds. */
static const struct join_interval *join_holding(const struct join *x, uint32_t count,
						uint64_t thread, int64_t time_ns)
{
	uint32_t i = count ? count - 1 : NONE;

	while (i != NONE && x->intervals[i].thread == thread) {
		if (x->intervals[i].last_ns >= time_ns)
			return &x->intervals[i];
		i = x->intervals[i].outer;
	}
	return NULL;
}

const struct join_interval *join_innermost(const struct join *x, uint64_t thread, int64_t time_ns)
{
	return join_holding(x, join_begun(x, thread, time_ns), thread, time_ns);
}

const struct join_interval *join_outer(const struct join *x, const struct join_interval *inner,
				       int64_t time_ns)
{
	return join_holding(x, (uint32_t)(inner - x->intervals), inner->thread, time_ns);
}

int join_is_contextual(const struct weft_jfr_class *c)
{
	static const char contextual[] = "jdk.jfr.Contextual";
	int is = weft_jfr_class_annotated(c, NULL, contextual);

	for (size_t i = 0; !is && i < weft_jfr_class_fields(c); i++)
		is = weft_jfr_class_annotated(c, weft_jfr_class_field(c, i), contextual);
	return is;
}
