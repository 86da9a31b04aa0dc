/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Switch records in the events ring: what one says, with ids, tags and labels; nothing while no
 * recording is on; and the books, whatever becomes of an append.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

#include <weft/labels.h>

#include "base/ring_consumer.h"
#include "runtime/coro/coro.h"
#include "unit.h"

static struct ring_reader reader;
static struct weft_slot *slot;
static struct {
	struct weft_switch_record r;
	uint8_t rest[1024];
} taken;

static uint64_t count(enum weft_counter counter)
{
	return __atomic_load_n(&slot->counters[counter], __ATOMIC_RELAXED);
}

static void record(enum weft_run_state state)
{
	__atomic_store_n(&weft_rt.header->run_state, state, __ATOMIC_RELEASE);
}

/* The slot's ring is empty, and a recording is on. */
static int begin(void **state)
{
	(void)state;
	slot = weft_thread_own_slot();
	assert_non_null(slot);
	record(WEFT_RUN_RECORDING);
	weft_context_clear();
	weft_labels_clear();
	memset(&slot->events_p, 0, sizeof(slot->events_p));
	memset(&slot->events_c, 0, sizeof(slot->events_c));
	memset(slot->counters, 0, sizeof(slot->counters));
	ring_reader_open(&reader, &slot->events_p, &slot->events_c,
			 (const uint8_t *)slot + weft_layout.events_offset,
			 weft_layout.events_bytes);
	return 0;
}

static int end(void **state)
{
	(void)state;
	record(WEFT_RUN_IDLE);
	return 0;
}

static int take(void)
{
	int bytes = ring_reader_next(&reader, &taken, sizeof(taken));

	assert_true(bytes >= 0);
	return bytes;
}

static void put(uint64_t id)
{
	const struct weft_switch interval = {
		.begin_ns = id, .end_ns = id + 5, .coroutine = id, .flags = WEFT_SWITCH_RUN};

	weft_switch_put(weft_thread_own_slot(), &interval, NULL);
}

/* attempted = written + lost by cause */
static void assert_balanced(void)
{
	assert_int_equal(count(WEFT_COUNTER_EVENTS_ATTEMPTED),
			 slot->events_p.written + count(WEFT_COUNTER_EVENTS_RING_FULL) +
				 count(WEFT_COUNTER_EVENTS_NESTED));
	assert_int_equal(count(WEFT_COUNTER_EVENTS_WRITTEN), slot->events_p.written);
}

static void nothing_is_written_without_a_recording(void **state)
{
	struct weft_coro coro = {.id = 7, .last_ns = 10, .state = WEFT_CTP_SUSPENDED};

	(void)state;
	for (int run = WEFT_RUN_IDLE; run <= WEFT_RUN_CLOSED; run++) {
		record((enum weft_run_state)run);
		weft_switch_wait(slot, &coro, 20, NULL);
		weft_switch_run(slot, &coro, 20, 0, NULL);
		for (int i = 0; i < 2; i++)
			assert_int_equal(take() != 0, run == WEFT_RUN_RECORDING);
	}
	assert_int_equal(count(WEFT_COUNTER_EVENTS_ATTEMPTED), 2);
	assert_balanced();
}

static void a_wait_knows_its_begin_and_its_wake(void **state)
{
	struct weft_coro coro = {.id = 7, .last_ns = 100, .last_addr = 0xabc};

	(void)state;
	coro.state = WEFT_CTP_CREATED;
	weft_switch_wait(slot, &coro, 130, NULL);
	assert_int_equal(take(), sizeof(taken.r));
	assert_int_equal(taken.r.record.type, WEFT_RECORD_SWITCH);
	assert_int_equal(taken.r.record.flags, WEFT_SWITCH_FIRST);
	assert_int_equal(taken.r.record.generation, (uint32_t)slot->thread.generation);
	assert_int_equal(taken.r.begin_ns, 100);
	assert_int_equal(taken.r.end_ns, 130);
	assert_int_equal(taken.r.coroutine, 7);
	assert_int_equal(taken.r.addr, 0); /* it has suspended nowhere yet */
	coro.state = WEFT_CTP_READY;
	coro.woken_ns = 120;
	weft_switch_wait(slot, &coro, 130, NULL);
	take();
	assert_int_equal(taken.r.record.flags, WEFT_SWITCH_WOKEN);
	assert_int_equal(taken.r.woken_ns, 120);
	assert_int_equal(taken.r.addr, 0xabc);
	coro.woken_ns = 99; /* of the wait before */
	weft_switch_wait(slot, &coro, 130, NULL);
	take();
	assert_int_equal(taken.r.record.flags, 0);
	assert_int_equal(taken.r.woken_ns, 0);
	weft_switch_wait(slot, &coro, 90, NULL); /* time does not go back */
	take();
	assert_int_equal(taken.r.end_ns, 100);
}

static void a_run_knows_its_end(void **state)
{
	struct weft_coro coro = {
		.id = 9, .last_ns = 100, .last_addr = 0xabc, .state = WEFT_CTP_RUNNING};

	(void)state;
	weft_switch_run(slot, &coro, 170, 0, NULL);
	take();
	assert_int_equal(taken.r.record.flags, WEFT_SWITCH_RUN);
	assert_int_equal(taken.r.begin_ns, 100);
	assert_int_equal(taken.r.end_ns, 170);
	assert_int_equal(taken.r.addr, 0xabc);
	weft_switch_run(slot, &coro, 180, 1, NULL);
	take();
	assert_int_equal(taken.r.record.flags, WEFT_SWITCH_RUN | WEFT_SWITCH_LAST);
	assert_int_equal(taken.r.addr, 0); /* it ends, and suspends nowhere */
}

static void the_context_is_the_slots(void **state)
{
	struct weft_context c = {
		.span_id = 1, .root_span_id = 2, .trace_id = {3}, .tags = {[4] = 44}};
	const uint32_t *tags = (const uint32_t *)(const void *)taken.rest;

	(void)state;
	put(1);
	assert_int_equal(take(), sizeof(taken.r));
	assert_int_equal(taken.r.span_id, 0);
	weft_context_write(&c);
	put(2);
	assert_int_equal(take(), sizeof(taken.r) + sizeof(c.tags));
	assert_int_equal(taken.r.span_id, 1);
	assert_int_equal(taken.r.root_span_id, 2);
	assert_int_equal(taken.r.trace_id[0], 3);
	assert_true(taken.r.record.flags & WEFT_SWITCH_TAGS);
	assert_int_equal(tags[4], 44);
	assert_int_equal(tags[3], 0);
	weft_context_set(5, 6); /* the trace id is of another span */
	put(3);
	take();
	assert_int_equal(taken.r.span_id, 5);
	assert_int_equal(taken.r.trace_id[0], 0);
}

/* key and value of label @index behind @at; 0: there are not so many. */
static int label_at(const uint8_t *at, unsigned int index, char *key, char *value)
{
	const uint8_t *until = at + taken.r.record.rsv;
	struct weft_sample_label head;

	for (; at < until; at += sizeof(head) + head.key_bytes + head.value_bytes) {
		memcpy(&head, at, sizeof(head));
		if (index--)
			continue;
		sprintf(key, "%.*s", head.key_bytes, (const char *)at + sizeof(head));
		sprintf(value, "%.*s", head.value_bytes,
			(const char *)at + sizeof(head) + head.key_bytes);
		return 1;
	}
	return 0;
}

static void labels_stand_behind(void **state)
{
	struct weft_context c = {.span_id = 1, .tags = {1}};
	char key[256], value[512], long_value[250];

	(void)state;
	weft_label_set("route", "/cart");
	weft_label_set("tenant", "");
	put(1);
	assert_int_equal(take() % 8, 0);
	assert_true(label_at(taken.rest, 0, key, value));
	assert_string_equal(key, "route");
	assert_string_equal(value, "/cart");
	assert_true(label_at(taken.rest, 1, key, value));
	assert_string_equal(key, "tenant");
	assert_string_equal(value, "");
	assert_false(label_at(taken.rest, 2, key, value));
	weft_context_write(&c);
	put(2);
	take();
	assert_true(label_at(taken.rest + sizeof(c.tags), 0, key, value));
	assert_string_equal(value, "/cart");
	memset(long_value, 'v', sizeof(long_value));
	long_value[sizeof(long_value) - 1] = 0;
	weft_label_set("a", long_value);
	weft_label_set("b", long_value);
	assert_int_equal(count(WEFT_COUNTER_LABELS_UNRECORDED), 0);
	put(3); /* the last finds no room */
	take();
	assert_true(taken.r.record.rsv <= WEFT_SWITCH_LABELS_BYTES);
	assert_true(label_at(taken.rest + sizeof(c.tags), 2, key, value));
	assert_string_equal(key, "a");
	assert_false(label_at(taken.rest + sizeof(c.tags), 3, key, value));
	assert_int_equal(count(WEFT_COUNTER_LABELS_UNRECORDED), 1);
}

static void what_finds_no_room_is_counted(void **state)
{
	uint64_t fit = weft_layout.events_bytes / sizeof(taken.r), seen = 0;

	(void)state;
	for (uint64_t i = 0; i < fit + 10; i++)
		put(i);
	assert_true(count(WEFT_COUNTER_EVENTS_RING_FULL) >= 10);
	assert_balanced();
	for (; take(); seen++)
		assert_int_equal(taken.r.coroutine, seen);
	assert_int_equal(seen, count(WEFT_COUNTER_EVENTS_WRITTEN));
	ring_reader_release(&reader);
	put(1);
	assert_true(take() > 0);
	assert_balanced();
}

static void without_a_slot_it_is_counted_in_the_header(void **state)
{
	const struct weft_switch interval = {.coroutine = 1};
	const uint64_t *counters = weft_rt.header->counters;
	uint64_t before = counters[WEFT_COUNTER_EVENTS_NO_SLOT];

	(void)state;
	weft_switch_put(NULL, &interval, NULL);
	assert_int_equal(counters[WEFT_COUNTER_EVENTS_NO_SLOT], before + 1);
}

/* A handler that appends in the midst of appends: none is torn, and all are counted. */
static volatile sig_atomic_t ticks;

static void append_too(int signo)
{
	(void)signo;
	put(1000);
	ticks++;
}

static void handlers_that_append_are_counted(void **state)
{
	const struct itimerval often = {{0, 200}, {0, 200}}, never = {{0, 0}, {0, 0}};
	struct sigaction action = {.sa_handler = append_too};
	uint64_t own = 0, seen = 0;

	(void)state;
	ticks = 0;
	sigaction(SIGPROF, &action, NULL);
	setitimer(ITIMER_PROF, &often, NULL);
	while (ticks < 50) {
		put(7);
		own++;
		if (own % 512)
			continue;
		for (; take(); seen++)
			assert_true(taken.r.coroutine == 7 || taken.r.coroutine == 1000);
		ring_reader_release(&reader);
	}
	setitimer(ITIMER_PROF, &never, NULL);
	signal(SIGPROF, SIG_IGN);
	while (take())
		seen++;
	assert_int_equal(count(WEFT_COUNTER_EVENTS_ATTEMPTED), own + (uint64_t)ticks);
	assert_int_equal(seen, count(WEFT_COUNTER_EVENTS_WRITTEN));
	assert_balanced();
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
	const struct CMUnitTest tests[] = {
		TEST(nothing_is_written_without_a_recording),
		TEST(a_wait_knows_its_begin_and_its_wake),
		TEST(a_run_knows_its_end),
		TEST(the_context_is_the_slots),
		TEST(labels_stand_behind),
		TEST(what_finds_no_room_is_counted),
		TEST(without_a_slot_it_is_counted_in_the_header),
		TEST(handlers_that_append_are_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
