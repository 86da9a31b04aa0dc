/* SPDX-License-Identifier: Apache-2.0 */
/* Events in order of time, and what is decided of each. */
#include "base/array.h"
#include "base/map.h"
#include "jfr/merge/filter_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- events */

static int filter_order_by_end(const void *left, const void *right)
{
	const struct filter_event *a = left, *b = right;

	if (a->end != b->end)
		return join_compare(a->end, b->end);
	if (a->rule->contextual != b->rule->contextual)
		return a->rule->contextual ? 1 : -1;
	if (a->rule->contextual && a->begin != b->begin)
		return join_compare(b->begin, a->begin);
	return a->number < b->number ? -1 : 1;
}

static struct filter_thread *filter_order_thread_of(struct filter *f, uint64_t key)
{
	uint64_t *place = map_put(f->threads, &key, sizeof(key), NULL);
	struct filter_thread *t;

	if (!place || *place)
		return place ? (struct filter_thread *)(uintptr_t)*place : NULL;
	t = arena_alloc(&f->memory, sizeof(*t));
	if (t)
		*t = (struct filter_thread){INT64_MIN, INT64_MIN};
	*place = (uintptr_t)t;
	return t;
}

static int filter_order_is_selected(const struct filter_event *e, const struct filter_thread *t)
{
	switch (e->rule->settings.select) {
	case SELECT_IF_CONTEXT:
		return e->in_context;
	case SELECT_IF_TRIGGERED:
		return t && (t->kept_end >= e->begin || t->kept_begin >= e->begin);
	case SELECT_ALL:
		break;
	}
	return 1;
}

static int is_long_enough(const struct filter_event *e)
{
	uint64_t lasted = (uint64_t)e->end - (uint64_t)e->begin;

	return !e->rule->lasts || lasted >= e->rule->settings.threshold_ns;
}

static int is_in_rate(const struct filter_event *e)
{
	const struct event_settings *s = &e->rule->settings;
	struct filter_rate *rate = e->rule->rate;
	int64_t window;

	if (!s->throttle_window_ns)
		return 1;
	window = e->end / (int64_t)s->throttle_window_ns;
	if (rate->window != window) {
		rate->window = window;
		rate->used = 0;
	}
	return rate->used++ < s->throttle_count;
}

static int decide(struct filter *f, const struct filter_event *e)
{
	struct filter_thread *t = NULL;

	if (e->thread) {
		t = filter_order_thread_of(f, e->thread);
		if (!t)
			return -ENOMEM;
	}
	if (!e->rule->settings.enabled || !filter_order_is_selected(e, t) || !is_long_enough(e) ||
	    !is_in_rate(e))
		return 0;
	f->wanted[e->number / 8] |= (uint8_t)(1u << (e->number % 8));
	if (!t || !e->rule->triggers)
		return 0;
	if (!e->rule->contextual)
		t->kept_end = e->end;
	else if (e->begin > t->kept_begin)
		t->kept_begin = e->begin;
	return 0;
}

/* ---- events that wait: a heap, the first in order on top */

static int comes_first(const struct filter_events *heap, size_t a, size_t b)
{
	return filter_order_by_end(&heap->event[a], &heap->event[b]) < 0;
}

static void filter_order_swap(struct filter_events *heap, size_t a, size_t b)
{
	struct filter_event kept = heap->event[a];

	heap->event[a] = heap->event[b];
	heap->event[b] = kept;
}

int filter_events_add(struct filter_events *events, const struct filter_event *e)
{
	struct filter_event *added =
		array_add(&events->event, &events->count, &events->room, sizeof(*added));

	if (added)
		*added = *e;
	return added ? 0 : -ENOMEM;
}

int filter_wait(struct filter *f, const struct filter_event *e)
{
	struct filter_events *heap = &f->waiting;
	int err = filter_events_add(heap, e);

	for (size_t i = heap->count - 1; !err && i && comes_first(heap, i, (i - 1) / 2);
	     i = (i - 1) / 2)
		filter_order_swap(heap, i, (i - 1) / 2);
	return err;
}

static void filter_order_take_first(struct filter_events *heap)
{
	size_t i = 0;

	heap->event[0] = heap->event[--heap->count];
	for (;;) {
		size_t least = i, left = 2 * i + 1, right = left + 1;

		if (left < heap->count && comes_first(heap, left, least))
			least = left;
		if (right < heap->count && comes_first(heap, right, least))
			least = right;
		if (least == i)
			return;
		filter_order_swap(heap, i, least);
		i = least;
	}
}

int filter_decide(struct filter *f, int64_t before, int all)
{
	struct filter_events *heap = &f->waiting;

	while (heap->count && (all || heap->event[0].end < before)) {
		struct filter_event e = heap->event[0];
		int err;

		filter_order_take_first(heap);
		err = decide(f, &e);
		if (err)
			return err;
	}
	return 0;
}
