/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Description: 95 % intervals hold what they should: known values, the ends of the scale, and
 * coverage over drawn data with a fixed seed: equal weights, weights of ticks, stays.
 */
#include "report/read/interval.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#define RUNS 20000

/* splitmix64 (Steele, Lea, Flood 2014). */
static uint64_t state_of_random;

static double uniform(void)
{
	uint64_t x = state_of_random += UINT64_C(0x9E3779B97F4A7C15);

	x = (x ^ x >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
	x = (x ^ x >> 27) * UINT64_C(0x94D049BB133111EB);
	return (double)((x ^ x >> 31) >> 11) / 9007199254740992.0;
}

static void near(double found, double expected)
{
	if (fabs(found - expected) > 5e-4)
		fail_msg("found %.6f, expected %.6f", found, expected);
}

/* Values of statsmodels' proportion_confint(x, n, 0.05, "wilson"), where x > 4 and n - x > 4. */
static void known_values(void **state)
{
	static const struct {
		double share, n, low, high;
	} row[] = {{0.5, 10, 0.2366, 0.7634},
		   {0.1, 100, 0.0552, 0.1744},
		   {0.616, 2000, 0.5945, 0.6371},
		   {0, 10, 0, 0.2775},
		   {1, 10, 0.7225, 1},
		   {0.01, 100, 0.0005, 0.0545}};
	struct interval_ends i;

	(void)state;
	for (size_t k = 0; k < sizeof(row) / sizeof(row[0]); k++) {
		i = interval_wilson(row[k].share, row[k].n);
		near(i.low, row[k].low);
		near(i.high, row[k].high);
	}
}

static void few_draws_say_little(void **state)
{
	const struct draws none = {0, 0, 0}, one = {1, 5e6, 25e12}, ten = {10, 10, 10},
			   three = {3, 3, 3};
	struct interval_ends i;

	(void)state;
	assert_int_equal(interval_share(&none, &none, &i), -1);
	assert_int_equal(interval_share(&ten, &three, &i), -1);
	assert_true(interval_error(&none, &none) < 0);
	assert_true(interval_times_to_halve(&none, &none) == 0);
	assert_int_equal(interval_share(&one, &one, &i), 0);
	near(i.low, 0.0513);
	near(i.high, 1);
	assert_int_equal(interval_share(&none, &one, &i), 0);
	near(i.low, 0);
	near(i.high, 1 - 0.0513);
	i = interval_wilson(0.3, 0);
	near(i.low, 0);
	near(i.high, 1);
	for (int n = 1; n < 50; n++)
		for (int quarters = 0; quarters <= 4 * n; quarters++) {
			double share = quarters / (4.0 * n);

			i = interval_wilson(share, n);
			assert_true(i.low >= 0 && i.low <= share + 1e-12);
			assert_true(i.high <= 1 && i.high >= share - 1e-12);
		}
}

static void weights_are_fewer_draws(void **state)
{
	const struct draws whole = {1000, 1000, 1000}, part = {400, 400, 400};
	const struct draws heavy = {250, 1000, 4000}, heavy_part = {100, 400, 1600};

	(void)state;
	near(interval_draws(&part, &whole) / 1000, 1);
	near(interval_draws(&heavy_part, &heavy) / 250, 1);
	near(interval_error(&heavy_part, &heavy) / interval_error(&part, &whole), 2.0136);
	assert_true(interval_times_to_halve(&part, &whole) > 3.9);
	assert_true(interval_times_to_halve(&part, &whole) < 4.1);
}

static void ticks(void **state)
{
	(void)state;
	near(interval_tick_effect(0.8), 1);
	near(interval_tick_effect(1), 1);
	near(interval_tick_effect(4), 4);
	near(interval_tick_effect(2.5), (4 * 0.5 + 9 * 0.5) / 2.5);
	near(interval_mixed_effect(4, 1000, 1000), 1);
	near(interval_mixed_effect(4, 1000, 250), 4);
	near(interval_mixed_effect(4, 700, 400), (100 * 16.0 + 300) / 700);
	near(interval_mixed_effect(0.8, 700, 400), 1);
	near(interval_mixed_effect(4, 0, 0), 1);
}

static void rates(void **state)
{
	const struct draws none = {0, 0, 0}, three = {3, 3, 3}, nine = {9, 9, 9},
			   many = {400, 400, 400}, half = {200, 200, 200}, like = {390, 390, 390};

	(void)state;
	assert_true(interval_same_rate(&none, 1, &none, 1));
	assert_true(interval_same_rate(&none, 1, &three, 1));
	assert_false(interval_same_rate(&none, 1, &nine, 1));
	assert_true(interval_same_rate(&many, 1, &like, 1));
	assert_false(interval_same_rate(&many, 1, &half, 1));
	assert_true(interval_same_rate(&many, 2, &half, 1));
}

/* ---- coverage */

/* One draw's weight. */
static double equal_weight(void)
{
	return 1;
}

static double tick_weight(void)
{
	return floor(2.4 + uniform());
}

/* Stays from one period to a hundred, most of them short. */
static double stay_weight(void)
{
	return floor(1 / (0.01 + 0.99 * uniform()));
}

/* How often the interval of @draws draws holds the share: each run has another one. */
static double coverage(double (*weight)(void), int draws, double least, double most)
{
	int held = 0;

	for (int run = 0; run < RUNS; run++) {
		double p = least * pow(most / least, uniform());
		struct draws part = {0, 0, 0}, whole = {0, 0, 0};
		struct interval_ends i;

		for (int k = 0; k < draws; k++) {
			double w = weight(), in = uniform() < p ? w : 0;

			whole.count++;
			whole.sum += w;
			whole.squares += w * w;
			part.count += in > 0;
			part.sum += in;
			part.squares += in * in;
		}
		held += interval_share(&part, &whole, &i) == 0 && i.low <= p && p <= i.high;
	}
	return (double)held / RUNS;
}

/* At least 95 %, but for what five standard errors of the runs allow. */
static void holds(const char *what, double (*weight)(void), int draws, double least, double most)
{
	double least_covered = 0.95 - 5 * sqrt(0.95 * 0.05 / RUNS), found;

	state_of_random = 13;
	found = coverage(weight, draws, least, most);
	printf("%s, %d draws, share %g..%g: %.4f\n", what, draws, least, most, found);
	if (found < least_covered)
		fail_msg("%s: %.4f of intervals hold the share", what, found);
}

static void intervals_hold_the_share(void **state)
{
	static const int draws[] = {5, 20, 100, 500};
	static const double shares[][2] = {
		{0.001, 0.01}, {0.01, 0.1}, {0.1, 0.5}, {0.5, 0.9}, {0.9, 0.999}};

	(void)state;
	for (size_t d = 0; d < sizeof(draws) / sizeof(draws[0]); d++)
		for (size_t s = 0; s < sizeof(shares) / sizeof(shares[0]); s++) {
			holds("equal", equal_weight, draws[d], shares[s][0], shares[s][1]);
			holds("ticks", tick_weight, draws[d], shares[s][0], shares[s][1]);
			holds("stays", stay_weight, draws[d], shares[s][0], shares[s][1]);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(known_values),
		cmocka_unit_test(few_draws_say_little),
		cmocka_unit_test(weights_are_fewer_draws),
		cmocka_unit_test(ticks),
		cmocka_unit_test(rates),
		cmocka_unit_test(intervals_hold_the_share),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
