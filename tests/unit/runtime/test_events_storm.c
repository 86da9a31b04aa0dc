/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads that commit as fast as they can, contextual events around them, while one that stands in
 * for the collector takes what is in their rings and changes their settings. Each thread's kept
 * events are in its ring, in order and whole; the books balance; of a throttled type just so many
 * pass, however many threads want them; what each contextual event says of itself agrees with what
 * was committed in it.
 */
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

#include "unit.h"

#include "base/event_row.h"
#include "events_unit.h"

#define THREADS 6
#define ADMITTED 1000

static struct weft_event_type plain = {
	.name = "storm.Plain",
	WEFT_EVENT_FIELDS({.name = "thread", .kind = WEFT_EVENT_LONG},
			  {.name = "n", .kind = WEFT_EVENT_LONG}),
};
static struct weft_event_type text = {
	.name = "storm.Text",
	WEFT_EVENT_FIELDS({.name = "n", .kind = WEFT_EVENT_LONG},
			  {.name = "s", .kind = WEFT_EVENT_STRING}),
};
static struct weft_event_type flickering = {.name = "storm.Flickering"};
static struct weft_event_type scarce = {.name = "storm.Scarce"};
static struct weft_event_type request = {
	.name = "storm.Request", .flags = WEFT_EVENT_CONTEXTUAL, .select = "if-triggered"};

struct worker {
	pthread_t thread;
	struct weft_slot *slot;
	struct ring_reader reader;
	uint64_t number, rounds, kept, scarce, wrong;
	uint64_t seen, last, torn; /* the collector's */
	int is_ready, is_done;
};

static struct worker workers[THREADS];
static struct taken record_taken;

static uint64_t rounds(void)
{
	const char *ticks = getenv("WEFT_TICKS");

	return ticks ? strtoull(ticks, NULL, 10) : 3000;
}

/* What is kept in it decides what becomes of it. */
static void one_request(struct worker *w, uint64_t n)
{
	uint64_t before = w->kept;
	struct weft_event event;
	int kept;

	weft_event_begin(&event, &request);
	if (n % 3 == 0) {
		w->kept += (uint64_t)weft_event_emit(&plain, WEFT_LONG(w->number), WEFT_LONG(n));
		w->kept += (uint64_t)weft_event_emit(&text, WEFT_LONG(n), WEFT_STRING("storm"));
	}
	if (n % 5 == 0)
		w->kept += (uint64_t)weft_event_emit(&flickering);
	kept = weft_event_commit(&event);
	w->wrong += kept && w->kept == before;
	w->kept += (uint64_t)kept;
	kept = weft_event_emit(&scarce);
	w->scarce += (uint64_t)kept;
	w->kept += (uint64_t)kept;
}

static void *work(void *arg)
{
	struct worker *w = arg;

	w->slot = weft_thread_own_slot();
	__atomic_store_n(&w->is_ready, 1, __ATOMIC_RELEASE);
	for (uint64_t n = 1; n <= w->rounds; n++)
		one_request(w, n);
	w->wrong += w->slot->events.open_contexts != 0;
	__atomic_store_n(&w->is_done, 1, __ATOMIC_RELEASE);
	while (__atomic_load_n(&w->is_done, __ATOMIC_ACQUIRE) == 1)
		sched_yield(); /* its slot is looked at */
	return NULL;
}

static void check_record(struct worker *w)
{
	const uint64_t *value = (const void *)record_taken.rest;

	if (record_taken.r.record.type != WEFT_RECORD_EVENT ||
	    record_taken.r.end < record_taken.r.begin)
		w->torn++;
	if (record_taken.r.record.rsv != plain.number)
		return;
	w->torn += value[0] != w->number || value[1] <= w->last;
	w->last = value[1];
}

static void drain(struct worker *w)
{
	int bytes;

	while ((bytes = ring_reader_next(&w->reader, &record_taken, sizeof(record_taken))) > 0) {
		check_record(w);
		w->seen++;
	}
	w->torn += bytes < 0;
	ring_reader_release(&w->reader);
}

static void flicker(unsigned int turn)
{
	const struct event_settings s = {.enabled = turn % 2,
					 .threshold_ns = turn % 3 ? 0 : UINT64_MAX,
					 .throttle_count = 10,
					 .throttle_window_ns = turn % 5 ? 0 : 1000};

	event_row_fill(row_of_type(&flickering), &s, 0, 0, 1);
}

static int collect(void)
{
	static unsigned int turn;
	int done = 0;

	flicker(turn++);
	for (int i = 0; i < THREADS; i++) {
		int is_done = __atomic_load_n(&workers[i].is_done, __ATOMIC_ACQUIRE);

		drain(&workers[i]);
		done += is_done;
	}
	return done == THREADS;
}

static uint64_t count(const struct worker *w, enum weft_counter counter)
{
	return w->slot->counters[counter];
}

static void check_books(const struct worker *w)
{
	assert_int_equal(w->wrong, 0);
	assert_int_equal(w->torn, 0);
	assert_int_equal(w->seen, w->kept);
	assert_int_equal(count(w, WEFT_COUNTER_EVENTS_WRITTEN), w->kept);
	assert_int_equal(count(w, WEFT_COUNTER_EVENTS_ATTEMPTED),
			 w->kept + count(w, WEFT_COUNTER_EVENTS_RING_FULL) +
				 count(w, WEFT_COUNTER_EVENTS_NESTED));
	assert_int_equal(w->slot->events.commits, w->kept);
	assert_int_equal(count(w, WEFT_COUNTER_EVENTS_THROTTLED) + w->scarce +
					 count(w, WEFT_COUNTER_EVENTS_RING_FULL) >=
				 w->rounds,
			 1);
}

static void open_workers(void)
{
	for (uint64_t i = 0; i < THREADS; i++) {
		struct worker *w = &workers[i];

		*w = (struct worker){.number = i + 1, .rounds = rounds()};
		assert_int_equal(pthread_create(&w->thread, NULL, work, w), 0);
		while (!__atomic_load_n(&w->is_ready, __ATOMIC_ACQUIRE))
			sched_yield();
		ring_reader_open(&w->reader, &w->slot->events_p, &w->slot->events_c,
				 (const uint8_t *)w->slot + weft_layout.events_offset,
				 weft_layout.events_bytes);
	}
}

static void threads_commit_while_settings_change(void **state)
{
	const struct event_settings rare = {
		.enabled = 1, .throttle_count = ADMITTED, .throttle_window_ns = UINT64_C(1) << 62};
	uint64_t passed = 0, lost = 0;

	(void)state;
	record(WEFT_RUN_RECORDING);
	weft_event_type_enrol(&plain);
	weft_event_type_enrol(&text);
	weft_event_type_enrol(&flickering);
	weft_event_type_enrol(&request);
	weft_event_type_enrol(&scarce);
	event_row_fill(row_of_type(&scarce), &rare, 0, 0, 1);
	open_workers();
	while (!collect())
		sched_yield();
	for (int i = 0; i < THREADS; i++) {
		drain(&workers[i]);
		check_books(&workers[i]);
		passed += workers[i].scarce;
		lost += count(&workers[i], WEFT_COUNTER_EVENTS_RING_FULL);
		__atomic_store_n(&workers[i].is_done, 2, __ATOMIC_RELEASE);
	}
	for (int i = 0; i < THREADS; i++)
		pthread_join(workers[i].thread, NULL);
	assert_true(passed <= ADMITTED && passed + lost >= ADMITTED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(threads_commit_while_settings_change),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
