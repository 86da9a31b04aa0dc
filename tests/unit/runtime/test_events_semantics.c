/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_events_semantics TABLE [SHARE]: what select, contexts, threshold and throttle make of events
 * that nest, on two threads and in a coroutine. The programs and the results that they must have
 * are events_model.py's, which knows nothing of the library; its head tells what the letters are.
 * SHARE: every so many-th program only.
 */
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <weft/coro_carry.h>

#include "base/event_row.h"
#include "events_unit.h"

#define DEPTH 3
#define PROGRAM_BYTES 64

static struct weft_event_type contextual[DEPTH] = {
	{.name = "test.Outer", .flags = WEFT_EVENT_CONTEXTUAL},
	{.name = "test.Middle", .flags = WEFT_EVENT_CONTEXTUAL},
	{.name = "test.Inner", .flags = WEFT_EVENT_CONTEXTUAL},
};
static struct weft_event_type regular = {.name = "test.Regular",
					 WEFT_EVENT_FIELDS({.name = "n", .kind = WEFT_EVENT_LONG})};
static struct weft_event_type housekeeping = {.name = "test.Housekeeping",
					      .flags = WEFT_EVENT_HOUSEKEEPING};

/* Contextual events that have begun on a thread, or in the coroutine. */
struct flow {
	struct weft_event event[DEPTH];
	int depth;
};

struct run {
	const char *program;
	char results[PROGRAM_BYTES];
	size_t at;
	struct flow flows[2], coroutine;
	struct weft_coro coro;
	int is_resumed[2];
};

static struct run run;
static sem_t turn[2];
static struct ring_reader readers[2];
static struct weft_slot *slots[2];
static int is_over;

/* ---- settings by their letter: enabled, select, threshold, throttle, the last the fastest */

static struct event_settings settings_of(char letter)
{
	static const enum event_select selects[] = {SELECT_ALL, SELECT_IF_CONTEXT,
						    SELECT_IF_TRIGGERED};
	int n = letter <= '9' ? letter - '0' : letter - 'a' + 10;

	return (struct event_settings){
		.enabled = n < 18,
		.select = selects[n / 6 % 3],
		.threshold_ns = n / 3 % 2 ? UINT64_MAX : 0,
		.throttle_window_ns = n % 3 ? UINT64_C(1) << 62 : 0, /* one, for ever */
		.throttle_count = n % 3 == 1,
	};
}

static void set(const struct weft_event_type *type, char letter)
{
	struct event_settings s = settings_of(letter);
	struct weft_event_row *row = row_of_type(type);

	(void)weft_settings_settle(&s, (type->flags & WEFT_EVENT_CONTEXTUAL) != 0);
	event_row_fill(row, &s, type->flags, weft_rt.header->tsc_hz, 1);
	row->used = 0;
}

/* ---- a program */

static uint64_t count(int thread, enum weft_counter counter)
{
	return __atomic_load_n(&slots[thread]->counters[counter], __ATOMIC_RELAXED);
}

static const struct {
	enum weft_counter counter;
	char letter;
} told[] = {
	{WEFT_COUNTER_EVENTS_WRITTEN, 'K'},     {WEFT_COUNTER_EVENTS_UNSELECTED, 'X'},
	{WEFT_COUNTER_EVENTS_UNTRIGGERED, 'U'}, {WEFT_COUNTER_EVENTS_SHORT, 'S'},
	{WEFT_COUNTER_EVENTS_THROTTLED, 'T'},
};
#define TOLD (sizeof(told) / sizeof(told[0]))

/* What has been counted once more; '?': more than one thing, or what cannot be. */
static char result_of(int thread, const uint64_t before[TOLD + 1], int kept)
{
	char result = '-';

	for (size_t i = 0; i < TOLD; i++) {
		uint64_t more = count(thread, told[i].counter) - before[i];

		if (told[i].letter == 'K') /* switches are written too */
			more -= count(thread, WEFT_COUNTER_CORO_SWITCHES) - before[TOLD];
		if (more > 1 || (more && result != '-'))
			return '?';
		if (more)
			result = told[i].letter;
	}
	return kept >= 0 && kept != (result == 'K') ? '?' : result;
}

static struct flow *flow_of(int thread)
{
	return run.is_resumed[thread] ? &run.coroutine : &run.flows[thread];
}

static void resume(int thread, int on)
{
	run.is_resumed[thread] = on;
	if (on)
		weft_coro_carry_v1.resume(&run.coro, 2);
	else
		weft_coro_carry_v1.suspend(&run.coro, 3);
	run.coro.state = on ? WEFT_CTP_RUNNING : WEFT_CTP_SUSPENDED;
}

static int regular_event(char act)
{
	struct weft_event event;

	if (act == 'n')
		return weft_event_emit(&regular, WEFT_LONG(1));
	if (act == 'a')
		return weft_event_emit_at(&regular, 5, 10, WEFT_LONG(2));
	weft_event_begin(&event, &regular);
	return weft_event_commit(&event, WEFT_LONG(3));
}

/* What a commit returned; -1: nothing was to be committed. */
static int contextual_event(struct flow *flow, char act)
{
	if (act == '(') {
		weft_event_begin(&flow->event[flow->depth], &contextual[flow->depth]);
		flow->depth++;
		return -1;
	}
	if (act == 'd') {
		weft_event_end(&flow->event[flow->depth - 1]);
		return -1;
	}
	flow->depth--;
	if (act == ')')
		return weft_event_commit(&flow->event[flow->depth]);
	weft_event_cancel(&flow->event[flow->depth]);
	return -1;
}

static int act_on(int thread, char act)
{
	struct weft_slot *slot = slots[thread];

	if (strchr("()dx", act))
		return contextual_event(flow_of(thread), act);
	if (strchr("ena", act))
		return regular_event(act);
	if (act == 'h')
		return weft_event_emit(&housekeeping);
	if (act == 's')
		weft_event_add(&slot->events.commits, 1); /* as the handler does */
	else if (act == 'w')
		__atomic_fetch_add(&slot->outside.samples, 1, __ATOMIC_RELAXED);
	else if (act == 'S' || act == 'Z')
		weft_context_set(act == 'S' ? 77 : 0, 0);
	else if (act == 'r' || act == 'u')
		resume(thread, act == 'r');
	return -1;
}

/* Up to the end, or to where the other thread goes on. 1: that. */
static int go_on(int thread)
{
	for (; run.program[run.at]; run.at++) {
		uint64_t before[TOLD + 1];
		char act = run.program[run.at];

		for (size_t i = 0; i < TOLD; i++)
			before[i] = count(thread, told[i].counter);
		before[TOLD] = count(thread, WEFT_COUNTER_CORO_SWITCHES);
		run.results[run.at] = '-';
		if (act == 't') {
			run.at++;
			return 1;
		}
		run.results[run.at] = result_of(thread, before, act_on(thread, act));
	}
	return 0;
}

static void *be_second(void *arg)
{
	slots[1] = weft_thread_own_slot();
	sem_post(&turn[0]);
	for (;;) {
		while (sem_wait(&turn[1]))
			;
		if (is_over)
			return arg;
		is_over = !go_on(1); /* as the first finds it */
		sem_post(&turn[0]);
	}
}

static void run_program(void)
{
	while (go_on(0)) {
		sem_post(&turn[1]);
		while (sem_wait(&turn[0]))
			;
		if (is_over)
			break;
	}
	is_over = 0;
}

/* ---- the table */

static void begin_run(const char *letters, char of_regular, const char *program)
{
	memset(&run, 0, sizeof(run));
	run.program = program;
	run.coro.id = 9;
	run.coro.flags = WEFT_CORO_DETACHED;
	weft_coro_carry_v1.create(&run.coro, 1);
	for (int i = 0; i < DEPTH; i++)
		set(&contextual[i], letters[i]);
	set(&regular, of_regular);
	for (int i = 0; i < 2; i++) {
		memset(&slots[i]->context, 0, sizeof(slots[i]->context));
		ring_reader_open(&readers[i], &slots[i]->events_p, &slots[i]->events_c,
				 (const uint8_t *)slots[i] + weft_layout.events_offset,
				 weft_layout.events_bytes);
		ring_reader_skip_to_head(&readers[i], slots[i]->events_p.head);
		ring_reader_release(&readers[i]);
	}
}

/* Nothing of it is left on the threads. */
static int is_left_clean(void)
{
	weft_coro_carry_v1.destroy(&run.coro, 4);
	for (int i = 0; i < 2; i++)
		if (slots[i]->events.open_contexts)
			return 0;
	return 1;
}

static int check(unsigned long line, const char *letters, char of_regular, const char *program,
		 const char *expected)
{
	int is_clean;

	begin_run(letters, of_regular, program);
	run_program();
	is_clean = is_left_clean();
	if (!strcmp(run.results, expected) && is_clean)
		return 0;
	printf("# line %lu, %s %c %s: %s, expected %s%s\n", line, letters, of_regular, program,
	       run.results, expected, is_clean ? "" : ", a context is left open");
	/* what it left is not the next one's */
	for (int i = 0; i < 2; i++)
		slots[i]->events.open_contexts = 0;
	return 1;
}

static int check_all(FILE *table, unsigned long share)
{
	char letters[DEPTH + 1], of_regular, program[PROGRAM_BYTES], expected[PROGRAM_BYTES];
	unsigned long lines = 0, done = 0, wrong = 0;

	while (fscanf(table, "%3s %c %63s %63s", letters, &of_regular, program, expected) == 4) {
		if (lines++ % share)
			continue;
		done++;
		wrong += (unsigned long)check(lines, letters, of_regular, program, expected);
		if (wrong > 20)
			break;
	}
	printf("%sok 1 - %lu of %lu programs\n1..1\n", wrong || !done ? "not " : "", done, lines);
	return wrong || !done;
}

static void enrol_all(void)
{
	weft_event_type_enrol(&housekeeping);
	weft_event_type_enrol(&regular);
	for (int i = 0; i < DEPTH; i++)
		weft_event_type_enrol(&contextual[i]);
}

int main(int argc, char **argv)
{
	unsigned long share = argc > 2 ? strtoul(argv[2], NULL, 10) : 1;
	FILE *table = argc > 1 ? fopen(argv[1], "re") : NULL;
	pthread_t second;
	int failed;

	if (!table || !share || sem_init(&turn[0], 0, 0) || sem_init(&turn[1], 0, 0))
		return 99;
	slots[0] = weft_thread_own_slot();
	record(WEFT_RUN_RECORDING);
	enrol_all();
	if (!slots[0] || pthread_create(&second, NULL, be_second, NULL))
		return 99;
	while (sem_wait(&turn[0]))
		;
	failed = check_all(table, share);
	is_over = 1;
	sem_post(&turn[1]);
	pthread_join(second, NULL);
	fclose(table);
	return failed;
}
