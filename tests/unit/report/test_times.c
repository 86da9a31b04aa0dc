/* SPDX-License-Identifier: Apache-2.0 */
/* What wall-clock samples are worth by the kernel's account of their thread: report/read/times.h.
 */
#include "report/read/times.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#define MS INT64_C(1000000)
#define PERIOD UINT64_C(50000000)

static double told(const struct fact_time *t, const struct times *k)
{
	double sum = 0;

	for (int i = 0; i < FACT_PLACES; i++)
		sum += (double)t->seen_ns[i] * k->factor[i];
	return sum;
}

static void assert_near(double value, double expected)
{
	if (!(fabs(value - expected) < 1))
		fail_msg("%.3f, not %.3f", value, expected);
}

static void what_is_seen_often_is_the_kernels(void **state)
{
	const struct fact_time t = {.due_ns = {3000 * MS, 1000 * MS, 6000 * MS},
				    .seen_ns = {3300 * MS, 950 * MS, 6050 * MS}};
	struct times k;

	(void)state;
	times_of_thread(&t, PERIOD, &k);
	assert_true(k.is_judged);
	for (int i = 0; i < FACT_PLACES; i++)
		assert_near((double)t.seen_ns[i] * k.factor[i], (double)t.due_ns[i]);
	assert_near(k.told_ns, 10e9);
}

/* Of ten such threads one or two are met in it: as these stand for the others, the sum over all is
 * right. */
static void what_is_seen_seldom_stands_for_others(void **state)
{
	const struct fact_time met = {.due_ns = {5 * MS, 0, 9995 * MS},
				      .seen_ns = {50 * MS, 0, 9950 * MS}};
	const struct fact_time not_met = {.due_ns = {5 * MS, 0, 9995 * MS},
					  .seen_ns = {0, 0, 10050 * MS}};
	struct times k;

	(void)state;
	times_of_thread(&met, PERIOD, &k);
	assert_near(k.factor[FACT_RUNNING] * 1e9, 1e9);
	assert_near(told(&met, &k), 10e9);
	times_of_thread(&not_met, PERIOD, &k);
	assert_near(told(&not_met, &k), 10e9);
}

static void short_lives_are_weighed_by_looks_alone(void **state)
{
	const struct fact_time t = {.due_ns = {500 * MS, 0, 400 * MS}, .seen_ns = {600 * MS, 0, 0}};
	struct times k;

	(void)state;
	times_of_thread(&t, PERIOD, &k);
	assert_false(k.is_judged);
	for (int i = 0; i < FACT_PLACES; i++)
		assert_near(k.factor[i] * 1e9, 1e9);
}

static void one_without_samples_does_not_add_up(void **state)
{
	const struct fact_time t = {.due_ns = {9000 * MS, 500 * MS, 500 * MS},
				    .seen_ns = {0, 500 * MS, 450 * MS}};
	struct times k;

	(void)state;
	times_of_thread(&t, PERIOD, &k);
	assert_true(k.is_judged);
	assert_near(k.told_ns, 1e9);
	assert_near(k.told_ns, told(&t, &k));
}

static void numbers_of_a_broken_file_do_no_harm(void **state)
{
	const struct fact_time odd[] = {
		{.due_ns = {INT64_MAX, INT64_MAX, INT64_MAX}, .seen_ns = {1, -1, INT64_MIN}},
		{.due_ns = {INT64_MIN, -1, 2000 * MS}, .seen_ns = {INT64_MAX, 1, 1}},
	};
	struct times k;

	(void)state;
	for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++) {
		times_of_thread(&odd[i], PERIOD, &k);
		for (int j = 0; j < FACT_PLACES; j++)
			assert_true(isfinite(k.factor[j]) && k.factor[j] >= 0);
	}
	times_of_thread(&odd[0], 0, &k);
	assert_false(k.is_judged);
}

static void states_have_their_place(void **state)
{
	(void)state;
	assert_int_equal(times_place("runnable"), FACT_RUNNING);
	assert_int_equal(times_place("waiting_for_cpu"), FACT_WAITING);
	assert_int_equal(times_place("sleeping"), FACT_BLOCKED);
	assert_int_equal(times_place("uninterruptible"), FACT_BLOCKED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_seen_often_is_the_kernels),
		cmocka_unit_test(what_is_seen_seldom_stands_for_others),
		cmocka_unit_test(short_lives_are_weighed_by_looks_alone),
		cmocka_unit_test(one_without_samples_does_not_add_up),
		cmocka_unit_test(numbers_of_a_broken_file_do_no_harm),
		cmocka_unit_test(states_have_their_place),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
