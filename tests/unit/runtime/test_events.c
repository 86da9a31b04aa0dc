/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Typed events: what a record says, what a type's row becomes of its defaults and of what was
 * set, and that nothing is written while no recording is on.
 */
#include <signal.h>
#include <stdio.h>

#include <weft/labels.h>

#include "unit.h"

#include "events_unit.h"

static struct ring_reader reader;
static struct weft_slot *slot;

static struct weft_event_type pair = {
	.name = "test.Pair",
	.label = "A pair",
	.category = "Test|Unit",
	WEFT_EVENT_FIELDS({.name = "a", .kind = WEFT_EVENT_LONG},
			  {.name = "b", .kind = WEFT_EVENT_DOUBLE}),
};

static int begin(void **state)
{
	(void)state;
	slot = weft_thread_own_slot();
	assert_non_null(slot);
	record(WEFT_RUN_RECORDING);
	weft_context_clear();
	weft_labels_clear();
	events_begin(slot, &reader);
	return 0;
}

static int end(void **state)
{
	(void)state;
	record(WEFT_RUN_IDLE);
	set_text("");
	return 0;
}

static uint64_t count(enum weft_counter counter)
{
	return slot->counters[counter];
}

static int take(void)
{
	int bytes = ring_reader_next(&reader, &taken, sizeof(taken));

	assert_true(bytes >= 0);
	ring_reader_release(&reader);
	return bytes;
}

static void an_event_says_what_it_was_given(void **state)
{
	struct weft_event event;
	double real;

	(void)state;
	weft_event_begin(&event, &pair);
	assert_int_equal(weft_event_commit(&event, WEFT_LONG(-7), WEFT_DOUBLE(2.5)), 1);
	assert_int_equal(take(), sizeof(taken.r) + 16);
	assert_int_equal(taken.r.record.type, WEFT_RECORD_EVENT);
	assert_int_equal(taken.r.record.rsv, pair.number);
	assert_int_equal(taken.r.record.flags, 0);
	assert_int_equal(taken.r.record.generation, (uint32_t)slot->thread.generation);
	assert_true(taken.r.begin > 0 && taken.r.end >= taken.r.begin);
	assert_true((int64_t)value_at(0) == -7);
	memcpy(&real, taken.rest + 8, sizeof(real));
	assert_true(real == 2.5);
	assert_int_equal(take(), 0);
	assert_int_equal(count(WEFT_COUNTER_EVENTS_ATTEMPTED), 1);
	assert_int_equal(count(WEFT_COUNTER_EVENTS_WRITTEN), 1);
	assert_int_equal(slot->events.commits, 1);
	assert_int_equal(weft_event_commit(&event, WEFT_LONG(1), WEFT_DOUBLE(1)), 0);
	assert_int_equal(take(), 0);
}

static void an_event_at_once_has_no_duration(void **state)
{
	(void)state;
	assert_int_equal(weft_event_emit(&pair, WEFT_LONG(1)), 1);
	assert_int_equal(take(), sizeof(taken.r) + 16);
	assert_true(taken.r.begin == taken.r.end);
	assert_int_equal(value_at(0), 1);
	assert_int_equal(value_at(1), 0);
	assert_int_equal(weft_event_emit_at(&pair, 100, 250, WEFT_LONG(2)), 1);
	assert_int_equal(take(), sizeof(taken.r) + 16);
	assert_int_equal(taken.r.begin, 100);
	assert_int_equal(taken.r.end, 250);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
	const struct CMUnitTest tests[] = {
		TEST(an_event_says_what_it_was_given),
		TEST(an_event_at_once_has_no_duration),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
