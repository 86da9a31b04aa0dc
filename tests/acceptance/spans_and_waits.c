/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A server as the idea of contextual events has it: threads wait for work, a few milliseconds at a
 * time, then do a batch of short steps, each of which takes a lock or a queue for a moment: an
 *event app.Wait. One batch of a hundred is a request that somebody cares about: a contextual event
 * app.Request around it, and a span. It counts what it did, and prints it as JSON.
 *
 *	spans-and-waits THREADS BATCHES       batches of each thread, 125 short waits each
 *	spans-and-waits --idle SPANS          spans in which nothing happens
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <weft/event.h>

#define WAITS 125
#define PAUSE_NS 10000000 /* between two batches: 8 threads make 100 000 waits a second */
#define REQUEST_EACH 100

static struct weft_event_type wait_type = {
	.name = "app.Wait",
	.category = "App",
	WEFT_EVENT_FIELDS({.name = "queue", .kind = WEFT_EVENT_INT}),
};
static struct weft_event_type request_type = {
	.name = "app.Request",
	.category = "App",
	.flags = WEFT_EVENT_CONTEXTUAL,
	WEFT_EVENT_FIELDS({.name = "number", .kind = WEFT_EVENT_LONG}),
};

static long batches;
static long waits, waits_in_spans, spans; /* atomic */
static volatile uint64_t sink;

static void short_wait(int queue)
{
	struct weft_event event;

	weft_event_begin(&event, &wait_type);
	for (int i = 0; i < 100; i++)
		sink += (uint64_t)i;
	weft_event_commit(&event, WEFT_LONG(queue));
}

static void long_wait(void)
{
	struct timespec pause = {.tv_nsec = PAUSE_NS};
	struct weft_event event;

	weft_event_begin(&event, &wait_type);
	nanosleep(&pause, NULL);
	weft_event_commit(&event, WEFT_LONG(-1));
}

static void batch(void)
{
	for (int i = 0; i < WAITS; i++) {
		short_wait(i);
		for (int k = 0; k < 3000; k++) /* the work itself */
			sink += (uint64_t)k;
	}
}

static void request(long number)
{
	struct weft_ids before = weft_context_set((uint64_t)number + 1, (uint64_t)number + 1);
	struct weft_event event;

	weft_event_begin(&event, &request_type);
	batch();
	weft_event_commit(&event, WEFT_LONG(number));
	weft_context_set(before.span_id, before.root_span_id);
	__atomic_add_fetch(&waits_in_spans, WAITS, __ATOMIC_RELAXED);
	__atomic_add_fetch(&spans, 1, __ATOMIC_RELAXED);
}

static void *serve(void *arg)
{
	long first = (long)(intptr_t)arg;

	for (long i = 0; i < batches; i++) {
		long_wait();
		if ((i + first * 13) % REQUEST_EACH == 0)
			request(first * 1000000 + i);
		else
			batch();
		__atomic_add_fetch(&waits, WAITS + 1, __ATOMIC_RELAXED);
	}
	return NULL;
}

static void idle_spans(long count)
{
	struct weft_event event;

	for (long i = 0; i < count; i++) {
		weft_event_begin(&event, &request_type);
		weft_event_commit(&event, WEFT_LONG(i));
		spans++;
	}
}

int main(int argc, char **argv)
{
	pthread_t thread[64];
	long threads;

	if (argc < 3)
		return 2;
	if (!strcmp(argv[1], "--idle")) {
		idle_spans(atol(argv[2]));
	} else {
		threads = atol(argv[1]);
		batches = atol(argv[2]);
		for (long i = 0; i < threads; i++)
			if (pthread_create(&thread[i], NULL, serve, (void *)(intptr_t)i))
				return 1;
		for (long i = 0; i < threads; i++)
			pthread_join(thread[i], NULL);
	}
	printf("{\"waits\":%ld,\"waits_in_spans\":%ld,\"spans\":%ld}\n", waits, waits_in_spans,
	       spans);
	return 0;
}
