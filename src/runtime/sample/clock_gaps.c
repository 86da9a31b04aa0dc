/* SPDX-License-Identifier: Apache-2.0 */
/* Random gaps between samples: see clock_gaps.h. */
#include "runtime/sample/clock_gaps.h"

#include "base/hash.h"

#define FIRST_MIN_NS 50000
#define BEGINNING_NS 5000 /* from the event's start to the program's own code */
#define LATE_MIN_NS 3000
#define LATE_MAX_NS 60000
#define BLOCK_NS 40000000 /* time for which a gap is repeated */
#define GAPS_MIN 8
#define GAPS_MAX 64

uint64_t weft_random(uint64_t *state)
{
	return hash_next(state);
}

uint64_t weft_random_below(uint64_t *state, uint64_t below)
{
	return (uint64_t)(((unsigned __int128)weft_random(state) * below) >> 64);
}

/* A gap that is no shorter than @least_ns. */
static uint32_t draw_above(uint64_t *random, uint64_t mean_ns, uint64_t least_ns)
{
	uint64_t low = mean_ns - mean_ns / 4, high = mean_ns + mean_ns / 4;

	if (low < least_ns)
		low = least_ns < high ? least_ns : high;
	return (uint32_t)(low + weft_random_below(random, high - low));
}

/* Draws a gap with a chance in proportion to its length, by rejection. */
static uint32_t draw_by_length(uint64_t *random, uint64_t mean_ns)
{
	uint32_t gap;

	do
		gap = draw_above(random, mean_ns, 0);
	while (weft_random_below(random, mean_ns + mean_ns / 4) >= gap);
	return gap;
}

static uint8_t gaps_of_a_block(uint64_t mean_ns)
{
	uint64_t gaps = BLOCK_NS / mean_ns;

	return (uint8_t)(gaps < GAPS_MIN ? GAPS_MIN : gaps > GAPS_MAX ? GAPS_MAX : gaps);
}

void weft_gaps_first(struct weft_gaps *gaps, uint64_t *random, uint64_t mean_ns)
{
	uint32_t gap_ns = draw_by_length(random, mean_ns);
	uint32_t least_ns = mean_ns / 4 < FIRST_MIN_NS ? (uint32_t)(mean_ns / 4) : FIRST_MIN_NS;

	gaps->left = 0;
	gaps->is_late = 0;
	gaps->gap_ns = (uint32_t)weft_random_below(random, gap_ns);
	if (gaps->gap_ns < BEGINNING_NS)
		gaps->gap_ns += gap_ns;
	else if (gaps->gap_ns < least_ns)
		gaps->gap_ns += least_ns - BEGINNING_NS;
}

/* Moves an eighth of the way down, or a sixty-fourth up: few that are no repeats lie below it. */
static uint32_t clock_gaps_learn(uint32_t late_ns, uint64_t seen_ns)
{
	uint64_t next_ns =
		seen_ns < late_ns ? late_ns - (late_ns - seen_ns) / 8 : late_ns + (late_ns >> 6);

	return (uint32_t)(next_ns < LATE_MIN_NS   ? LATE_MIN_NS
			  : next_ns > LATE_MAX_NS ? LATE_MAX_NS
						  : next_ns);
}

/*
 * How many firsts the gap after it lasts, which is not drawn yet: any number of firsts that lies in
 * its range, else one or two, so that the mean is right. (The kernel has fired at each multiple of
 * the first, whether or not a sample was left out.)
 */
static uint64_t draw_firsts(uint64_t first_ns, uint64_t *random, uint64_t mean_ns)
{
	uint64_t low = (mean_ns * 3 / 4 + first_ns - 1) / first_ns,
		 high = mean_ns * 5 / 4 / first_ns;

	if (low <= high)
		return low + weft_random_below(random, high - low + 1);
	return weft_random_below(random, first_ns) < mean_ns - first_ns ? 2 : 1;
}

int weft_gaps_is_repeat(struct weft_gaps *gaps, uint64_t *random, uint64_t mean_ns, uint64_t age_ns,
			uint32_t *late_ns)
{
	uint64_t first_ns = gaps->gap_ns, seen_ns = age_ns > first_ns ? age_ns - first_ns : 0;
	uint64_t least_ns; /* a repeat is at least so late: the kernel skips those that are past */
	uint64_t firsts, gone;

	if (gaps->left || first_ns >= mean_ns - mean_ns / 4)
		return 0;
	*late_ns = clock_gaps_learn(*late_ns, seen_ns);
	least_ns = first_ns > *late_ns ? first_ns : *late_ns;
	if (seen_ns < *late_ns + least_ns * 7 / 8)
		return 0;
	firsts = draw_firsts(first_ns, random, mean_ns);
	gone = (seen_ns - *late_ns + first_ns / 2) / first_ns % firsts;
	if (!gone)
		return 0;
	gaps->gap_ns = (uint32_t)((firsts - gone) * first_ns);
	return 1;
}

int weft_gaps_next(struct weft_gaps *gaps, uint64_t *random, uint64_t mean_ns)
{
	uint8_t block = gaps_of_a_block(mean_ns);

	gaps->is_late = gaps->left <= 1;
	if (gaps->left > 1) {
		gaps->left--;
		return 1;
	}
	/* What is left of its block, which the thread enters at a random place. Given the first
	 * part of a gap, the gap is any longer one, by the joint distribution. */
	if (!gaps->left) {
		gaps->gap_ns = draw_above(random, mean_ns, gaps->gap_ns);
		gaps->left = (uint8_t)weft_random_below(random, block);
		if (gaps->left)
			return 0;
	}
	gaps->left = block;
	gaps->gap_ns = draw_above(random, mean_ns, 0);
	return 0;
}
