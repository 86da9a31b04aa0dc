/* SPDX-License-Identifier: Apache-2.0 */
/* Description: quantiles of a histogram against a sorted array of the same values. */
#include "base/histogram.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#define VALUES 20000

static int by_value(const void *left, const void *right)
{
	uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

	return (a > b) - (a < b);
}

/* The value of that rank, counted from 1. */
static uint64_t exact(const uint64_t *sorted, size_t count, unsigned int permille)
{
	size_t rank = (count * permille + 999) / 1000;

	return sorted[rank ? rank - 1 : 0];
}

static void nothing_has_no_quantiles(void **state)
{
	struct histogram h = {0};

	(void)state;
	assert_int_equal(histogram_quantile(&h, 500), 0);
	assert_int_equal(histogram_quantile(&h, 1000), 0);
	histogram_free(&h);
}

/* Few values: ranks to the last one. */
static void ranks_are_exact(void **state)
{
	static const uint64_t values[] = {30000000, 1000000, 4000000, 10000000};
	struct histogram h = {0};

	(void)state;
	for (size_t i = 0; i < 4; i++)
		assert_int_equal(histogram_add(&h, values[i]), 0);
	assert_int_equal(h.count, 4);
	assert_int_equal(h.sum, 45000000);
	assert_int_equal(histogram_quantile(&h, 0), 1000000);
	assert_int_equal(histogram_quantile(&h, 250), 1000000);
	assert_int_equal(histogram_quantile(&h, 251), 4000000);
	assert_int_equal(histogram_quantile(&h, 500), 4000000);
	assert_int_equal(histogram_quantile(&h, 750), 10000000);
	assert_int_equal(histogram_quantile(&h, 751), 30000000);
	assert_int_equal(histogram_quantile(&h, 1000), 30000000);
	histogram_free(&h);
}

/* Values below 256 are told exactly; the ends of all powers of two are in buckets of their own. */
static void powers_of_two_begin_buckets(void **state)
{
	struct histogram h = {0};
	uint64_t last = 0;

	(void)state;
	for (unsigned int power = 8; power < 64; power++) {
		assert_int_equal(histogram_add(&h, (UINT64_C(1) << power) - 1), 0);
		assert_int_equal(histogram_add(&h, UINT64_C(1) << power), 0);
	}
	assert_int_equal(histogram_add(&h, UINT64_MAX), 0);
	assert_int_equal(h.buckets, 2 * (64 - 8) + 1);
	for (size_t i = 0; i < h.buckets; i++) {
		assert_true(i == 0 || h.bucket[i].max > last);
		last = h.bucket[i].max;
	}
	assert_true(last == UINT64_MAX);
	assert_true(h.sum == UINT64_MAX); /* saturated */
	histogram_free(&h);
	for (uint64_t value = 0; value < 256; value++)
		assert_int_equal(histogram_add(&h, value), 0);
	assert_int_equal(h.buckets, 256);
	histogram_free(&h);
}

/* 1024 different values are kept; with one more, neighbours are joined. */
static void few_are_kept_as_they_are(void **state)
{
	struct histogram h = {0};

	(void)state;
	for (int round = 0; round < 3; round++)
		for (uint64_t i = 1024; i > 0; i--)
			assert_int_equal(histogram_add(&h, 1000000 + i), 0);
	assert_int_equal(h.buckets, 1024);
	assert_int_equal(histogram_quantile(&h, 500), 1000512);
	assert_int_equal(histogram_quantile(&h, 999), 1001023);
	assert_int_equal(histogram_add(&h, 5), 0);
	assert_int_equal(h.count, 3 * 1024 + 1);
	assert_int_equal(h.buckets, 2);
	assert_int_equal(histogram_quantile(&h, 0), 5);
	assert_int_equal(histogram_quantile(&h, 1000), 1001024);
	histogram_free(&h);
}

static void quantiles_are_those_of_a_sorted_array(void **state)
{
	uint64_t *sorted = calloc(VALUES, sizeof(*sorted)), random = 88172645463325252u;
	struct histogram h = {0};

	(void)state;
	assert_non_null(sorted);
	for (size_t i = 0; i < VALUES; i++) {
		random ^= random << 13;
		random ^= random >> 7;
		random ^= random << 17;
		sorted[i] = random >> (2 + random % 60); /* all magnitudes */
		assert_int_equal(histogram_add(&h, sorted[i]), 0);
	}
	qsort(sorted, VALUES, sizeof(*sorted), by_value);
	for (unsigned int permille = 0; permille <= 1000; permille++) {
		uint64_t want = exact(sorted, VALUES, permille);
		uint64_t found = histogram_quantile(&h, permille);

		assert_in_range(found, want, want + want / 128);
		assert_non_null(bsearch(&found, sorted, VALUES, sizeof(*sorted), by_value));
	}
	assert_true(histogram_quantile(&h, 1000) == sorted[VALUES - 1]);
	histogram_free(&h);
	free(sorted);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_has_no_quantiles),
		cmocka_unit_test(ranks_are_exact),
		cmocka_unit_test(powers_of_two_begin_buckets),
		cmocka_unit_test(few_are_kept_as_they_are),
		cmocka_unit_test(quantiles_are_those_of_a_sorted_array),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
