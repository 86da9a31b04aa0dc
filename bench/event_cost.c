/* SPDX-License-Identifier: Apache-2.0 */
/*
 * event-cost ROUNDS ITERATIONS: what a typed event costs its thread, in interleaved rounds. Prints
 * nanoseconds per event, one per case of event_cost.h.
 *
 * There is no collector: the session is this process's own, told that a recording is on and how
 * fast its TSC is, and the thread itself moves the tail of its ring up every 64 events.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <weft/event.h>
#include <weft/labels.h>

#include "../tests/own_session.h"
#include "event_cost.h"
#include "harness.h"

#define TWO_NUMBERS                                                                                \
	WEFT_EVENT_FIELDS({.name = "a", .kind = WEFT_EVENT_LONG},                                  \
			  {.name = "b", .kind = WEFT_EVENT_LONG})

static struct weft_event_type pair = {.name = "bench.Pair", TWO_NUMBERS};
static struct weft_event_type off = {.name = "bench.Off", .flags = WEFT_EVENT_OFF, TWO_NUMBERS};
static struct weft_event_type slow = {.name = "bench.Slow", .threshold = "1 s", TWO_NUMBERS};
static struct weft_event_type selected = {
	.name = "bench.Selected", .select = "if-context", TWO_NUMBERS};
static struct weft_event_type context = {.name = "bench.Context",
					 .flags = WEFT_EVENT_CONTEXTUAL,
					 .select = "if-triggered",
					 TWO_NUMBERS};
static struct weft_event_type text = {
	.name = "bench.Text",
	WEFT_EVENT_FIELDS({.name = "a", .kind = WEFT_EVENT_STRING},
			  {.name = "b", .kind = WEFT_EVENT_LONG}),
};

static struct weft_session_header *session;
static struct weft_slot *slot;
static uint8_t copies[4096];

static uint64_t clock_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

#if defined(__x86_64__)
static uint64_t clock_now(void)
{
	uint32_t low, high;

	__asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
	return low | (uint64_t)high << 32;
}

/* As a collector does that trusts it. */
static void tell_clock(void)
{
	uint64_t ns = clock_ns(), tsc = clock_now(), after_ns;

	do
		after_ns = clock_ns();
	while (after_ns - ns < 20000000);
	session->mono_anchor_ns = after_ns;
	session->tsc_anchor = clock_now();
	session->tsc_hz =
		(uint64_t)((double)(session->tsc_anchor - tsc) * 1e9 / (double)(after_ns - ns));
	session->features |= WEFT_FEATURE_CLOCKSOURCE_TSC;
}
#else
static uint64_t clock_now(void)
{
	return clock_ns();
}

static void tell_clock(void)
{
}
#endif

static void drain(uint64_t i)
{
	if (i % 64 == 0)
		__atomic_store_n(&slot->events_c.tail, slot->events_p.head, __ATOMIC_RELEASE);
}

static void run_clock(uint64_t iterations, void *arg)
{
	for (uint64_t i = 0; i < iterations; i++) {
		uint64_t now = clock_now();

		bench_keep(&now);
	}
	(void)arg;
}

static void run_copy(uint64_t iterations, void *arg)
{
	static uint64_t from[6];

	for (uint64_t i = 0; i < iterations; i++) {
		from[0] = clock_now();
		memcpy(copies + (i * 48 & 2047), from, sizeof(from));
		bench_keep(copies);
	}
	(void)arg;
}

static void run_nothing(uint64_t iterations, void *arg)
{
	for (uint64_t i = 0; i < iterations; i++)
		bench_keep(&i);
	(void)arg;
}

static void run_off(uint64_t iterations, void *arg)
{
	for (uint64_t i = 0; i < iterations; i++) {
		bench_keep(&i);
		weft_event_emit(&off, WEFT_LONG(i), WEFT_LONG(2));
	}
	(void)arg;
}

static void run_emit(uint64_t iterations, void *arg)
{
	struct weft_event_type *type = arg;

	for (uint64_t i = 0; i < iterations; i++) {
		weft_event_emit(type, WEFT_LONG(i), WEFT_LONG(2));
		drain(i);
	}
}

static void run_timed(uint64_t iterations, void *arg)
{
	struct weft_event_type *type = arg;

	for (uint64_t i = 0; i < iterations; i++) {
		struct weft_event event;

		weft_event_begin(&event, type);
		weft_event_commit(&event, WEFT_LONG(i), WEFT_LONG(2));
		drain(i);
	}
}

static void run_span(uint64_t iterations, void *arg)
{
	for (uint64_t i = 0; i < iterations; i++) {
		struct weft_span span;

		weft_span_begin(&span, "bench", i, 1);
		weft_span_end(&span);
	}
	(void)arg;
}

static void run_context(uint64_t iterations, void *arg)
{
	weft_context_set(1, 2);
	run_emit(iterations, arg);
	weft_context_set(0, 0);
}

static void run_labels(uint64_t iterations, void *arg)
{
	weft_label_set("route", "/checkout");
	weft_label_set("tenant", "acme");
	weft_label_set("user", "4711");
	run_context(iterations, arg);
	weft_labels_clear();
}

static void run_string(uint64_t iterations, void *arg)
{
	for (uint64_t i = 0; i < iterations; i++) {
		weft_event_emit(&text, WEFT_STRING("sixteen bytes, 1"), WEFT_LONG(i));
		drain(i);
	}
	(void)arg;
}

static struct bench_case cases[EVENT_CASE_COUNT] = {
	[EVENT_CLOCK] = {.run = run_clock},
	[EVENT_COPY] = {.run = run_copy},
	[EVENT_OFF] = {.run = run_off},
	[EVENT_NOTHING] = {.run = run_nothing},
	[EVENT_EMIT] = {.run = run_emit, .arg = &pair},
	[EVENT_TIMED] = {.run = run_timed, .arg = &pair},
	[EVENT_UNTRIGGERED] = {.run = run_timed, .arg = &context},
	[EVENT_SPAN] = {.run = run_span},
	[EVENT_SHORT] = {.run = run_timed, .arg = &slow},
	[EVENT_UNSELECTED] = {.run = run_emit, .arg = &selected},
	[EVENT_CONTEXT] = {.run = run_context, .arg = &pair},
	[EVENT_LABELS] = {.run = run_labels, .arg = &pair},
	[EVENT_STRING] = {.run = run_string},
};

/* Spans as they are meant for many: only those in which something happened. */
static void select_spans(void)
{
	struct weft_span span;
	struct weft_event_row *rows;

	weft_span_begin(&span, "first", 1, 1);
	rows = (struct weft_event_row *)(uintptr_t)span.event.type->row;
	weft_span_end(&span);
	rows->flags |= WEFT_EVENT_IF_TRIGGERED;
}

static int lost(void)
{
	return slot->counters[WEFT_COUNTER_EVENTS_RING_FULL] != 0 ||
	       slot->counters[WEFT_COUNTER_EVENTS_NESTED] != 0 ||
	       slot->counters[WEFT_COUNTER_EVENTS_WRITTEN] == 0;
}

int main(int argc, char **argv)
{
	unsigned int rounds = argc > 1 ? (unsigned int)atoi(argv[1]) : 5;
	uint64_t iterations = argc > 2 ? strtoull(argv[2], NULL, 10) : 10000;

	weft_context_set(0, 0);
	slot = weft_thread_slot;
	session = own_session();
	if (!session || !slot || iterations == 0)
		return 1;
	tell_clock();
	__atomic_store_n(&session->run_state, WEFT_RUN_RECORDING, __ATOMIC_RELEASE);
	select_spans();
	if (argc > 3) { /* one case alone, for a look at its instructions */
		run_nothing(1, NULL);
		cases[atoi(argv[3]) % EVENT_CASE_COUNT].run(
			iterations, cases[atoi(argv[3]) % EVENT_CASE_COUNT].arg);
		return lost();
	}
	bench_interleave(cases, EVENT_CASE_COUNT, rounds, iterations);
	for (int i = 0; i < EVENT_CASE_COUNT; i++)
		printf("%.3f ", cases[i].ns);
	puts("");
	return lost();
}
