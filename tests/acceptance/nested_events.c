/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The same tree of events in every run with one seed: contextual ones and spans that nest, and
 * regular ones in and between them, on several threads. Each has an id of its own.
 *
 *	nested-events SEED THREADS EVENTS
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <weft/event.h>

#define DEEPEST 6
#define MOST_THREADS 16

static struct weft_event_type contextual[] = {
	{.name = "test.Outer",
	 .flags = WEFT_EVENT_CONTEXTUAL,
	 WEFT_EVENT_FIELDS({.name = "id", .kind = WEFT_EVENT_LONG})},
	{.name = "test.Inner",
	 .flags = WEFT_EVENT_CONTEXTUAL,
	 WEFT_EVENT_FIELDS({.name = "id", .kind = WEFT_EVENT_LONG})},
};
static struct weft_event_type step = {.name = "test.Step",
				      WEFT_EVENT_FIELDS({.name = "id", .kind = WEFT_EVENT_LONG})};
static struct weft_event_type point = {.name = "test.Point",
				       .flags = WEFT_EVENT_INSTANT,
				       WEFT_EVENT_FIELDS({.name = "id", .kind = WEFT_EVENT_LONG})};

struct walk {
	uint64_t seed, id;
	long left;
};

static uint64_t mix(struct walk *w)
{
	w->seed ^= w->seed << 13;
	w->seed ^= w->seed >> 7;
	w->seed ^= w->seed << 17;
	return w->seed >> 8;
}

static void level(struct walk *w, int depth);

static void in_context(struct walk *w, int depth, struct weft_event_type *type)
{
	struct weft_event event;
	uint64_t id = ++w->id;

	weft_event_begin(&event, type);
	level(w, depth + 1);
	weft_event_commit(&event, WEFT_LONG(id));
}

static void in_span(struct walk *w, int depth)
{
	struct weft_span span;
	uint64_t id = ++w->id;

	weft_span_begin(&span, "work", id, id);
	level(w, depth + 1);
	weft_span_end(&span);
}

static void plain(struct walk *w)
{
	struct weft_event event;
	uint64_t id = ++w->id; /* also if the event is left out */

	if (mix(w) % 2) {
		weft_event_emit(&point, WEFT_LONG(id));
		return;
	}
	weft_event_begin(&event, &step);
	weft_event_commit(&event, WEFT_LONG(id));
}

static void level(struct walk *w, int depth)
{
	for (uint64_t count = mix(w) % 5; count && w->left > 0; count--) {
		uint64_t what = mix(w) % 8;

		w->left--;
		if (what < 3 || depth >= DEEPEST)
			plain(w);
		else if (what == 3)
			in_span(w, depth);
		else
			in_context(w, depth, &contextual[what % 2]);
	}
}

static void *walk(void *arg)
{
	struct walk *w = arg;

	while (w->left > 0)
		level(w, 0);
	return NULL;
}

int main(int argc, char **argv)
{
	struct walk walks[MOST_THREADS];
	pthread_t threads[MOST_THREADS];
	int count = argc == 4 ? atoi(argv[2]) : 0;

	if (count < 1 || count > MOST_THREADS) {
		fprintf(stderr, "usage: nested-events SEED THREADS EVENTS\n");
		return 2;
	}
	for (int i = 0; i < count; i++) {
		walks[i].seed = (strtoul(argv[1], NULL, 10) + 1) * UINT64_C(0x9E3779B97F4A7C15) +
				(uint64_t)i;
		walks[i].id = (uint64_t)(i + 1) * 1000000;
		walks[i].left = atol(argv[3]);
		if (pthread_create(&threads[i], NULL, walk, &walks[i]) != 0)
			return 1;
	}
	for (int i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
