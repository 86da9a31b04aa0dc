/* SPDX-License-Identifier: Apache-2.0 */
/* What ticks stand for beside an hrtimer and alone, and for which threads an hrtimer costs too
 * much. */
#include <stdlib.h>
#include <string.h>

#include "runtime/sample/clock.h"
#include "runtime/sample/clock_rest.h"
#include "runtime/sample/kernel_time.h"
#include "runtime/sample/sample.h"
#include "unit.h"

#define MS UINT64_C(1000000)
#define PERIOD_US 5025
#define RUNS 400

static void threads_that_switch_often_rest(void **state)
{
	(void)state;
	assert_false(weft_clock_should_rest(250, 100, 5 * MS, 0));
	assert_true(weft_clock_should_rest(251, 100, 5 * MS, 0));
	assert_true(weft_clock_should_rest(200, 100, 5 * MS, 1)); /* until it is half of that */
	assert_false(weft_clock_should_rest(125, 100, 5 * MS, 1));
	assert_true(weft_clock_should_rest(101, 100, MS, 0)); /* a shorter period costs more */
	assert_false(weft_clock_should_rest(UINT32_MAX, UINT32_MAX, 5 * MS, 0));
}

static void a_long_call_counts_for_its_length(void **state)
{
	uint64_t tick;

	(void)state;
	weft_tick_read();
	tick = weft_tick_ns();
	assert_int_equal(weft_kernel_weight_alone(tick, tick, 0), tick);
	assert_int_equal(weft_kernel_weight_alone(7 * tick, 8 * tick, 0), 7 * tick);
	assert_int_equal(weft_kernel_weight_alone(7 * tick, 3 * tick, 0), 3 * tick);
	/* stretches between waits may have met no tick, so they are not this call's */
	assert_int_equal(weft_kernel_weight_alone(7 * tick, 8 * tick, 2), 5 * tick);
	assert_int_equal(weft_kernel_weight_alone(7 * tick, 8 * tick, 6), tick);
	assert_int_equal(weft_kernel_weight_alone(7 * tick, 8 * tick, 4000000000u), tick);
}

/* Uniform in [0, 1). */
static double part(void)
{
	return (double)rand() / ((double)RAND_MAX + 1);
}

/* A thread in user mode alone, met at random; the kernel's share is put at nothing, rightly. */
static int64_t believed_of_chance(int samples)
{
	double now = 0, due = part() * PERIOD_US, gap = PERIOD_US;
	int32_t balance = 0, excess;
	int64_t told = 0;

	for (int taken = 0; taken < samples;) {
		double until = now + part() * 10 * PERIOD_US;

		while (due < until) {
			balance -= PERIOD_US;
			due += gap;
			if (++taken % 8 == 0) /* a block */
				gap = PERIOD_US * (0.75 + part() / 2);
		}
		balance += (int32_t)(until - now);
		now = until;
		excess = weft_kernel_time_excess(balance, (uint32_t)taken, PERIOD_US, 0);
		told += excess > 0 ? excess : 0;
		balance -= excess > 0 ? excess : 0;
	}
	return told;
}

static void chance_is_not_believed(void **state)
{
	int64_t sum = 0, most = 0;

	(void)state;
	srand(1);
	for (int i = 0; i < RUNS; i++) {
		int64_t told = believed_of_chance(1000);

		sum += told;
		most = told > most ? told : most;
	}
	assert_in_range(sum / RUNS, 0, 2 * PERIOD_US); /* of a thousand periods */
	assert_in_range(most, 0, 30 * PERIOD_US);
}

static void more_than_chance_is(void **state)
{
	(void)state;
	assert_int_equal(weft_kernel_time_excess(PERIOD_US, 0, PERIOD_US, 0), 0);
	/* a period, and 3 / 4 of the root of 1024 */
	assert_int_equal(weft_kernel_time_excess(100 * PERIOD_US, 1024, PERIOD_US, 0),
			 (100 - 1 - 24) * PERIOD_US);
	assert_int_equal(weft_kernel_time_excess(-100 * PERIOD_US, 1024, PERIOD_US, 0),
			 -(100 - 1 - 24) * PERIOD_US);
	assert_int_equal(weft_kernel_time_excess(100 * PERIOD_US, 1024, PERIOD_US, 1),
			 (100 - 1) * PERIOD_US);
}

/* Half of it in the kernel; ticks of 4 ms. What they stand for in all, beside user samples. */
static uint64_t told_beside(uint64_t begin_us)
{
	static struct weft_slot slot;
	struct weft_usage usage = {.kernel_us = begin_us, .cpu_us = 2 * begin_us};
	uint64_t told_ns = 0;

	memset(&slot, 0, sizeof slot);
	for (int i = 0; i < 200; i++) {
		told_ns += weft_kernel_weight_beside(&slot, &usage, 4 * MS);
		usage.kernel_us += 2000;
		usage.cpu_us += 4500;
	}
	return told_ns;
}

static void a_thread_of_hours_is_weighed_as_one_of_seconds(void **state)
{
	uint64_t of_seconds = told_beside(10 * MS);

	(void)state;
	assert_in_range(of_seconds, 199 * 2 * MS, 200 * 5 * MS);
	for (uint64_t turns = 1; turns < 6;
	     turns++) /* of 2^32 microseconds of CPU or kernel time */
		assert_int_equal(told_beside((turns << 31) - 200 * MS / 1000), of_seconds);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(threads_that_switch_often_rest),
		cmocka_unit_test(a_long_call_counts_for_its_length),
		cmocka_unit_test(chance_is_not_believed),
		cmocka_unit_test(more_than_chance_is),
		cmocka_unit_test(a_thread_of_hours_is_weighed_as_one_of_seconds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
