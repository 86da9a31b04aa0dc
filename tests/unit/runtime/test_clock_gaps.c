/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Is each instant of a thread's user time met with the density 1 / gap, however long the thread
 * lives, and wherever it is in the kernel meanwhile? A kernel is played that does as perf's
 * cpu-clock: it fires after the gap that it was opened with, leaves out what is over in the kernel,
 * and repeats. Seeds are fixed; limits are five standard errors.
 */
#include <math.h>

#include "runtime/sample/clock_gaps.h"
#include "unit.h"

#define MEAN UINT64_C(5000000)
#define LATE 5000 /* until the handler begins */
#define BINS 10
#define LEAST_NS 50000 /* of a first gap: what would have come before comes right behind */
#define LOST_NS 5000   /* but for so much of it */

/* A thread of @length_ns, in the kernel for so many tenths of it, in stretches of 50 us. */
struct life {
	uint64_t length_ns, kernel_tenths, seed;
};

static int is_in_kernel(const struct life *life, uint64_t at_ns)
{
	uint64_t state = life->seed + at_ns / 50000;

	return weft_random_below(&state, 10) < life->kernel_tenths;
}

/* Opened at @opened_ns: when does it fire first in user mode? */
static uint64_t fires_at(const struct life *life, uint64_t opened_ns, uint64_t gap_ns)
{
	uint64_t at_ns = opened_ns + gap_ns;

	while (at_ns < life->length_ns && is_in_kernel(life, at_ns))
		at_ns += gap_ns;
	return at_ns;
}

static int bin_of(const struct life *life, uint64_t at_ns)
{
	return (int)(at_ns * BINS / life->length_ns);
}

/* How much of it up to @at_ns is met with its chance. */
static double met_before(double at_ns)
{
	if (at_ns < LEAST_NS)
		return 0;
	return at_ns < 2 * LEAST_NS - LOST_NS ? 2 * (at_ns - LEAST_NS) : at_ns - LOST_NS;
}

/* Its samples, by tenths of its length. */
static void live(const struct life *life, uint64_t *random, double samples[BINS])
{
	struct weft_gaps gaps = {0};
	static uint32_t late_ns = 30000;
	uint64_t opened_ns = 0, at_ns;

	weft_gaps_first(&gaps, random, MEAN);
	at_ns = fires_at(life, 0, gaps.gap_ns);
	while (at_ns < life->length_ns) {
		if (weft_gaps_is_repeat(&gaps, random, MEAN, at_ns + LATE - opened_ns, &late_ns)) {
			opened_ns = at_ns + LATE;
		} else {
			samples[bin_of(life, at_ns)]++;
			opened_ns = at_ns;
			weft_gaps_next(&gaps, random, MEAN);
		}
		at_ns = fires_at(life, opened_ns, gaps.gap_ns);
	}
}

/* Some 20 000 samples of each kind. Where much is in the kernel the second gap is not quite as it
 * should be (clock_gaps.c, draw_firsts), by some hundredths. */
static void is_met_with_its_chance(struct life life)
{
	uint64_t random = 42, lives = 20000 * MEAN / life.length_ns;
	double density = (double)lives / (double)MEAN * (10.0 - (double)life.kernel_tenths) / 10;
	double tenth_ns = (double)life.length_ns / BINS,
	       all_due = density * met_before(tenth_ns * BINS);
	double samples[BINS] = {0}, all = 0, slack = life.kernel_tenths ? 0.1 : 0.01;

	for (uint64_t i = 0; i < lives; i++) {
		life.seed = weft_random(&random);
		live(&life, &random, samples);
	}
	for (int bin = 0; bin < BINS; bin++) {
		double due =
			density * (met_before(tenth_ns * (bin + 1)) - met_before(tenth_ns * bin));

		all += samples[bin];
		if (fabs(samples[bin] - due) > 5 * sqrt(due) + slack * due)
			fail_msg("%.3f ms, %llu tenths in the kernel: tenth %d has %.0f, due %.0f",
				 (double)life.length_ns / 1e6,
				 (unsigned long long)life.kernel_tenths, bin, samples[bin], due);
	}
	if (fabs(all - all_due) > 5 * sqrt(all_due) + 0.02 * all_due)
		fail_msg("%.3f ms, %llu tenths in the kernel: %.0f, due %.0f",
			 (double)life.length_ns / 1e6, (unsigned long long)life.kernel_tenths, all,
			 all_due);
}

static void threads_of_any_length(void **state)
{
	static const double periods[] = {0.05, 0.1, 0.3, 0.7, 1, 1.5, 3, 20};

	(void)state;
	for (size_t i = 0; i < sizeof(periods) / sizeof(*periods); i++)
		is_met_with_its_chance(
			(struct life){.length_ns = (uint64_t)(periods[i] * (double)MEAN)});
}

/* The first gap is over in the kernel often, and is not to be repeated until it is not. */
static void threads_that_are_much_in_the_kernel(void **state)
{
	(void)state;
	for (uint64_t tenths = 2; tenths < 8; tenths += 2)
		for (uint64_t length = MEAN / 5; length < 40 * MEAN; length *= 13)
			is_met_with_its_chance(
				(struct life){.length_ns = length, .kernel_tenths = tenths});
}

static void gaps_are_as_documented(void **state)
{
	struct weft_gaps gaps = {0};
	uint64_t random = 7;
	int repeats = 0, blocks = 0;

	(void)state;
	for (int i = 0; i < 10000; i++) {
		weft_gaps_first(&gaps, &random, MEAN);
		assert_in_range(gaps.gap_ns, LEAST_NS, MEAN * 5 / 4 + LOST_NS);
	}
	for (int i = 0; i < 100000; i++) {
		if (weft_gaps_next(&gaps, &random, MEAN))
			repeats++;
		else
			blocks++;
		assert_in_range(gaps.gap_ns, MEAN * 3 / 4, MEAN * 5 / 4);
	}
	assert_in_range(repeats / blocks, 6, 7); /* 8 of each */
}

/* Where handlers begin late, as on virtual machines, the first time is no repeat. */
static void lateness_is_learned(void **state)
{
	struct weft_gaps gaps;
	uint64_t random = 1;
	uint32_t late_ns = 3000;
	int refused = 0;

	(void)state;
	for (int i = 0; i < 2000; i++) {
		gaps = (struct weft_gaps){.gap_ns = 20000 +
						    (uint32_t)weft_random_below(&random, 80000)};
		refused += weft_gaps_is_repeat(&gaps, &random, MEAN, gaps.gap_ns + UINT64_C(33000),
					       &late_ns);
	}
	assert_in_range(refused, 0, 200);
	assert_in_range(late_ns, 25000, 35000);
	gaps = (struct weft_gaps){.gap_ns = 50000};
	assert_true(weft_gaps_is_repeat(&gaps, &random, MEAN, 133000, &late_ns)); /* the second */
	assert_in_range(gaps.gap_ns, MEAN * 3 / 4 - 50000, MEAN * 5 / 4 - 50000);
	gaps = (struct weft_gaps){.gap_ns = MEAN};
	assert_false(weft_gaps_is_repeat(&gaps, &random, MEAN, 3 * MEAN, &late_ns)); /* as any */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(threads_of_any_length),
		cmocka_unit_test(threads_that_are_much_in_the_kernel),
		cmocka_unit_test(gaps_are_as_documented),
		cmocka_unit_test(lateness_is_learned),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
