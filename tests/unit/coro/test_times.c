/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Description: percentiles are those of a sorted list, exact for few times and within 1 in 128
 * for many; a station's histogram gives them within its powers of two.
 */
#include "coro/engine/times.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#define FEW 1000
#define MANY 50000

static uint64_t next(uint64_t *x)
{
	*x ^= *x << 13;
	*x ^= *x >> 7;
	*x ^= *x << 17;
	return *x;
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* Nearest rank, by definition. */
static uint64_t by_sorting(const uint64_t *sorted, size_t count, unsigned int percent)
{
	return sorted[(count * percent + 99) / 100 - 1];
}

static void against_sorting(size_t count, uint64_t most_wrong_of)
{
	uint64_t *all = malloc(count * sizeof(*all)), x = 88172645463325252u, sum = 0;
	struct coro_times t = {0};

	assert_non_null(all);
	for (size_t i = 0; i < count; i++) {
		all[i] = next(&x) >> (20 + next(&x) % 40);
		sum += all[i];
		assert_int_equal(coro_times_add(&t, all[i]), 0);
	}
	qsort(all, count, sizeof(*all), compare);
	assert_int_equal(t.count, count);
	assert_int_equal(t.sum_ns, sum);
	assert_int_equal(t.max_ns, all[count - 1]);
	for (unsigned int percent = 1; percent <= 100; percent++) {
		uint64_t want = by_sorting(all, count, percent);
		uint64_t found = coro_times_quantile(&t, 10 * percent);

		assert_in_range(found, want, want + want / most_wrong_of);
	}
	coro_times_free(&t);
	free(all);
}

static void few_are_exact(void **state)
{
	(void)state;
	against_sorting(1, UINT64_MAX);
	against_sorting(7, UINT64_MAX);
	against_sorting(FEW, UINT64_MAX);
}

static void many_are_near(void **state)
{
	(void)state;
	against_sorting(1025, 128);
	against_sorting(MANY, 128);
}

/* The time that so many of a thousand of a histogram's are not above. */
static uint64_t time_of(const uint32_t histogram[WEFT_CTP_BUCKETS], unsigned int permille)
{
	struct coro_times times = {0};
	uint64_t ns;

	assert_int_equal(coro_times_add_histogram(&times, histogram, 0, UINT64_MAX), 0);
	ns = coro_times_quantile(&times, permille);
	coro_times_free(&times);
	return ns;
}

static void none(void **state)
{
	struct coro_times t = {0};
	uint32_t empty[WEFT_CTP_BUCKETS] = {0};

	(void)state;
	assert_int_equal(coro_times_quantile(&t, 500), 0);
	assert_int_equal(time_of(empty, 500), 0);
	coro_times_free(&t);
}

static void sums_do_not_wrap(void **state)
{
	struct coro_times t = {0};

	(void)state;
	assert_int_equal(coro_times_add(&t, UINT64_MAX - 1), 0);
	assert_int_equal(coro_times_add(&t, 5), 0);
	assert_true(t.sum_ns == UINT64_MAX);
	assert_true(coro_times_quantile(&t, 1000) == UINT64_MAX - 1);
	coro_times_free(&t);
}

/* Bucket 4 is 512 .. 1024 ns, bucket 10 is 32768 .. 65536 ns. */
static void histograms(void **state)
{
	uint32_t h[WEFT_CTP_BUCKETS] = {[4] = 90, [10] = 10};
	struct coro_times t = {0};

	(void)state;
	assert_in_range(time_of(h, 10), 512, 1024);
	assert_int_equal(time_of(h, 900), 1024);
	assert_in_range(time_of(h, 950), 32769, 65536);
	assert_int_equal(coro_times_add_histogram(&t, h, 500000, 40000), 0);
	assert_int_equal(t.count, 100);
	assert_int_equal(coro_times_quantile(&t, 1000), 40000);
	/* some of their own beside them */
	assert_int_equal(coro_times_add(&t, 600), 0);
	assert_int_equal(t.count, 101);
	assert_int_equal(t.sum_ns, 500600);
	assert_in_range(coro_times_quantile(&t, 500), 512, 1024);
	coro_times_free(&t);
}

static void a_histogram_after_many(void **state)
{
	uint32_t h[WEFT_CTP_BUCKETS] = {[31] = 1};
	struct coro_times t = {0};

	(void)state;
	for (unsigned int i = 0; i < 3000; i++)
		assert_int_equal(coro_times_add(&t, 600), 0);
	assert_int_equal(coro_times_add_histogram(&t, h, 1, UINT64_C(1) << 40), 0);
	assert_int_equal(t.count, 3001);
	assert_in_range(coro_times_quantile(&t, 500), 512, 1024);
	assert_true(coro_times_quantile(&t, 1000) > UINT64_C(1) << 35);
	coro_times_free(&t);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(few_are_exact), cmocka_unit_test(many_are_near),
		cmocka_unit_test(none),          cmocka_unit_test(sums_do_not_wrap),
		cmocka_unit_test(histograms),    cmocka_unit_test(a_histogram_after_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
