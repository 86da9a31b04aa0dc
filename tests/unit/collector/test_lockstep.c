/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ticks beside random looks, on programs that are made up here: which are told as misjudged, and
 * which never are. Time is simulated, dice are the same in each run.
 */
#include "collector/look/lockstep.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define MS UINT64_C(1000000)
#define TICK (4 * MS)
#define LOOK (2 * MS)
#define START (UINT64_C(1000000) * MS)

static uint64_t state;

static double dice(void) /* splitmix64 */
{
	uint64_t z = state += 0x9E3779B97F4A7C15u;

	z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
	z = (z ^ z >> 27) * 0x94D049BB133111EBu;
	return (double)((z ^ z >> 31) >> 11) * 0x1p-53;
}

static void add(struct lockstep *l, enum lockstep_side side, uint64_t time_ns, uint64_t span)
{
	struct lockstep_key key[] = {{.kind = LOCKSTEP_SPAN, .value = span},
				     {.kind = LOCKSTEP_TAG, .number = 1, .value = span}};

	lockstep_add(l, side, time_ns, 1, key, 2);
}

/* Which span a program is at, at a time. */
typedef uint64_t (*program)(uint64_t time_ns, double period_ms);

/* A for 0.7 of the period, then B. */
static uint64_t loop(uint64_t time_ns, double period_ms)
{
	return fmod((double)time_ns / (double)MS, period_ms) < 0.7 * period_ms ? 1 : 2;
}

static uint64_t at_random(uint64_t time_ns, double period_ms)
{
	(void)time_ns;
	(void)period_ms;
	return dice() < 0.7 ? 1 : 2;
}

static struct lockstep_verdict record(program of, double period_ms, double seconds, int threads)
{
	struct lockstep *l = lockstep_new(TICK);
	uint64_t end_ns = START + (uint64_t)(seconds * 1e9);
	struct lockstep_verdict v;

	assert_non_null(l);
	for (uint64_t t = START; t < end_ns; t += TICK) {
		uint64_t span = of(t, period_ms);

		for (int i = 0; i < threads; i++)
			add(l, LOCKSTEP_TICKS, t + (uint64_t)i * 1000, span);
	}
	for (uint64_t t = START; t < end_ns; t += (uint64_t)((0.5 + dice()) * (double)LOOK)) {
		uint64_t span = of(t, period_ms);

		for (int i = 0; i < threads && i < 4; i++)
			add(l, LOCKSTEP_LOOKS, t, span);
	}
	lockstep_judge(l, 0, &v);
	lockstep_free(l);
	return v;
}

static int alarms(program of, double period_ms, double seconds, int threads, int runs)
{
	int told = 0;

	for (int i = 0; i < runs; i++)
		told += record(of, period_ms, seconds, threads).is_misjudged;
	return told;
}

/* Less than one of 10 000 is promised. */
static void test_chance_is_not_told(void **unused)
{
	(void)unused;
	assert_int_equal(alarms(at_random, 0, 2, 1, 1000), 0);
	assert_int_equal(alarms(at_random, 0, 10, 1, 1000), 0);
	assert_int_equal(alarms(at_random, 0, 60, 1, 100), 0);
}

static void test_work_that_drifts_is_not_told(void **unused)
{
	(void)unused;
	assert_int_equal(alarms(loop, 19.37, 10, 1, 100), 0);
	assert_int_equal(alarms(loop, 7.001, 10, 1, 100), 0);
	assert_int_equal(alarms(loop, 0.913, 10, 1, 100), 0);
	assert_int_equal(alarms(loop, 1234.5, 20, 1, 100), 0);
}

/* They are met together: so many ticks are no more than one. */
static void test_threads_in_step_are_not_told(void **unused)
{
	(void)unused;
	assert_int_equal(alarms(at_random, 0, 10, 16, 300), 0);
}

/* START is a multiple of all: ticks meet A at 0, 4, 8, 12 and B at 16 of each 20 ms. */
static void test_lockstep_is_told(void **unused)
{
	struct lockstep_verdict v = record(loop, 20, 20, 1);

	(void)unused;
	assert_int_equal(alarms(loop, 20, 10, 1, 100), 100);
	assert_int_equal(alarms(loop, 4, 4, 1, 100), 100);   /* A alone is ever met */
	assert_int_equal(alarms(loop, 12, 20, 1, 100), 100); /* 33.3 for 30 */
	assert_true(v.is_known && v.is_misjudged);
	assert_int_equal(v.key.kind, LOCKSTEP_TAG); /* rather than the span */
	assert_true(fabs(v.tick_share - (v.key.value == 1 ? 0.8 : 0.2)) < 0.001);
	assert_true(fabs(v.look_share - (v.key.value == 1 ? 0.7 : 0.3)) < 0.02);
	assert_true(v.chance < LOCKSTEP_CHANCE);
}

static void test_few_say_nothing(void **unused)
{
	struct lockstep_verdict v = record(loop, 4, 0.3, 1);

	(void)unused;
	assert_false(v.is_known);
	assert_false(v.is_misjudged);
	assert_true(v.chance >= 1);
}

/* Of threads that leave their CPU within a look none is seen: that much looks may be off by. */
static void test_short_stays_are_not_told(void **unused)
{
	struct lockstep *l = lockstep_new(TICK);
	struct lockstep_verdict v;

	(void)unused;
	for (uint64_t i = 0; i < 5000; i++) {
		add(l, LOCKSTEP_TICKS, START + i * TICK, dice() < 0.7 ? 1 : 2);
		add(l, LOCKSTEP_LOOKS, START + i * TICK, dice() < 0.85 ? 1 : 2);
		lockstep_add_gap(l, 20000);
	}
	lockstep_judge(l, 0, &v);
	assert_true(v.is_misjudged);
	lockstep_add_runs(l, 100000, UINT64_C(10000000000)); /* 100 us each */
	lockstep_judge(l, 0, &v);
	assert_true(v.is_known);
	assert_false(v.is_misjudged);
	lockstep_add_runs(l, 900000, 0); /* 10 us each */
	lockstep_judge(l, 0, &v);
	assert_false(v.is_known);
	lockstep_free(l);
}

/* A span of its own for each request, behind which the routes are not lost. */
static void test_ids_of_requests_do_not_drown_routes(void **unused)
{
	struct lockstep *l = lockstep_new(TICK);
	struct lockstep_verdict v;
	uint64_t request = 100;

	(void)unused;
	for (uint64_t i = 0; i < 20000; i++) {
		struct lockstep_key key[] = {
			{.kind = LOCKSTEP_SPAN, .value = request},
			{.kind = LOCKSTEP_ROOT, .value = request + 1},
			{.kind = LOCKSTEP_LABEL, .name = "route", .text = "/buy"},
		};

		request += 2;
		key[2].value = 7;
		lockstep_add(l, LOCKSTEP_LOOKS, START + i * LOOK, 1, key, dice() < 0.3 ? 3 : 2);
		if (i % 2)
			lockstep_add(l, LOCKSTEP_TICKS, START + i * LOOK, 1, key,
				     dice() < 0.4 ? 3 : 2);
	}
	lockstep_judge(l, 0, &v);
	assert_true(v.is_misjudged);
	assert_int_equal(v.key.kind, LOCKSTEP_LABEL);
	assert_string_equal(v.key.name, "route");
	assert_string_equal(v.key.text, "/buy");
	lockstep_free(l);
}

/* What began in the middle is held against what came since then. */
static void test_a_span_that_begins_late_is_judged_by_its_time(void **unused)
{
	struct lockstep *l = lockstep_new(TICK);
	struct lockstep_verdict v;

	(void)unused;
	for (uint64_t i = 0; i < 6000; i++)
		add(l, LOCKSTEP_LOOKS, START + i, 1);
	for (uint64_t i = 0; i < 6000; i++) {
		add(l, LOCKSTEP_TICKS, START + i * TICK, dice() < 0.5 ? 2 : 3);
		add(l, LOCKSTEP_LOOKS, START + i * TICK, dice() < 0.5 ? 2 : 3);
	}
	lockstep_judge(l, 0, &v);
	assert_true(v.is_misjudged); /* span 1, which ticks never met */
	assert_int_equal(v.key.value, 1);
	lockstep_free(l);
}

/* Weights are no samples: few heavy looks say little. */
static void test_weights_count_for_what_they_say(void **unused)
{
	struct lockstep *l = lockstep_new(TICK);
	struct lockstep_verdict v;

	(void)unused;
	for (uint64_t i = 0; i < 5000; i++) {
		struct lockstep_key key = {.kind = LOCKSTEP_SPAN, .value = dice() < 0.5 ? 1 : 2};

		add(l, LOCKSTEP_TICKS, START + i * TICK, dice() < 0.5 ? 1 : 2);
		lockstep_add(l, LOCKSTEP_LOOKS, START + i * LOOK, i % 100 ? 0.001 : 100, &key, 1);
	}
	lockstep_judge(l, 0, &v);
	assert_false(v.is_known);
	lockstep_free(l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_chance_is_not_told),
		cmocka_unit_test(test_work_that_drifts_is_not_told),
		cmocka_unit_test(test_threads_in_step_are_not_told),
		cmocka_unit_test(test_lockstep_is_told),
		cmocka_unit_test(test_few_say_nothing),
		cmocka_unit_test(test_short_stays_are_not_told),
		cmocka_unit_test(test_ids_of_requests_do_not_drown_routes),
		cmocka_unit_test(test_a_span_that_begins_late_is_judged_by_its_time),
		cmocka_unit_test(test_weights_count_for_what_they_say),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
