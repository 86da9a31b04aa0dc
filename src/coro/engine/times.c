/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Buckets are log-linear (as in HdrHistogram): values below 256 have one each, then 128 for
 * every power of two.
 */
#include "coro/engine/times.h"

#include "base/array.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define EXACT_MAX 1024
#define SINGLE 256
#define PER_POWER 128
#define FINE (SINGLE + (64 - 8) * PER_POWER)

static size_t fine_of(uint64_t ns)
{
	unsigned int power;

	if (ns < SINGLE)
		return (size_t)ns;
	power = 63 - (unsigned int)__builtin_clzll(ns);
	return SINGLE + (size_t)(power - 8) * PER_POWER +
	       (size_t)((ns >> (power - 7)) & (PER_POWER - 1));
}

/* The largest value that falls into it. */
static uint64_t fine_end(size_t bucket)
{
	uint64_t power, part;

	if (bucket < SINGLE)
		return bucket;
	power = (bucket - SINGLE) / PER_POWER + 8;
	part = (bucket - SINGLE) % PER_POWER;
	return ((PER_POWER + part) << (power - 7)) + ((UINT64_C(1) << (power - 7)) - 1);
}

static size_t power_of(uint64_t ns)
{
	unsigned int power = ns ? 63 - (unsigned int)__builtin_clzll(ns) : 0;

	if (power < 6)
		return 0;
	return power - 5 < WEFT_CTP_BUCKETS ? power - 5 : WEFT_CTP_BUCKETS - 1;
}

/* From finer to coarser, never back. */
static int times_keep(struct coro_times *t, enum coro_times_keeps how)
{
	size_t buckets = how == CORO_TIMES_FINE ? FINE : WEFT_CTP_BUCKETS;
	uint64_t *values = calloc(buckets, sizeof(*values));

	if (!values)
		return -ENOMEM;
	if (t->keeps == CORO_TIMES_EACH)
		for (uint64_t i = 0; i < t->count; i++)
			values[how == CORO_TIMES_FINE ? fine_of(t->values[i])
						      : power_of(t->values[i])]++;
	else
		for (size_t i = 0; i < FINE; i++)
			values[power_of(fine_end(i))] += t->values[i];
	free(t->values);
	t->values = values;
	t->room = buckets;
	t->keeps = (uint8_t)how;
	return 0;
}

static void sum(struct coro_times *t, uint64_t sum_ns, uint64_t max_ns)
{
	if (__builtin_add_overflow(t->sum_ns, sum_ns, &t->sum_ns))
		t->sum_ns = UINT64_MAX;
	if (max_ns > t->max_ns)
		t->max_ns = max_ns;
}

int coro_times_add(struct coro_times *t, uint64_t ns)
{
	uint64_t *grown;

	if (t->keeps == CORO_TIMES_EACH && t->count == EXACT_MAX && times_keep(t, CORO_TIMES_FINE))
		return -ENOMEM;
	if (t->keeps == CORO_TIMES_EACH) {
		grown = array_grown(t->values, (size_t)t->count + 1, &t->room, sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		t->values = grown;
		t->values[t->count] = ns;
		t->is_sorted = 0;
	} else {
		t->values[t->keeps == CORO_TIMES_FINE ? fine_of(ns) : power_of(ns)]++;
	}
	t->count++;
	sum(t, ns, ns);
	return 0;
}

int coro_times_add_histogram(struct coro_times *t, const uint32_t histogram[WEFT_CTP_BUCKETS],
			     uint64_t sum_ns, uint64_t max_ns)
{
	if (t->keeps != CORO_TIMES_POWERS && times_keep(t, CORO_TIMES_POWERS))
		return -ENOMEM;
	for (unsigned int b = 0; b < WEFT_CTP_BUCKETS; b++) {
		t->values[b] += histogram[b];
		t->count += histogram[b];
	}
	sum(t, sum_ns, max_ns);
	return 0;
}

static int times_compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static uint64_t times_rank_of(const struct coro_times *t, double share)
{
	double exact = share * (double)t->count;
	uint64_t rank = exact > 0 ? (uint64_t)exact : 0;

	/* 0.07 of 100 is a little more than 7 */
	if (exact - (double)rank > 1e-6)
		rank++;
	return rank < 1 ? 1 : rank > t->count ? t->count : rank;
}

/* In the bucket that has it, as if its times lay evenly. */
static uint64_t at_power(const struct coro_times *t, uint64_t rank)
{
	uint64_t below = 0;

	for (unsigned int b = 0; b < WEFT_CTP_BUCKETS; b++) {
		uint64_t low = b ? UINT64_C(1) << (b + 5) : 0, high = UINT64_C(1) << (b + 6), ns;

		if (below + t->values[b] < rank) {
			below += t->values[b];
			continue;
		}
		ns = low + (uint64_t)((double)(high - low) * (double)(rank - below) /
				      (double)t->values[b]);
		return ns < t->max_ns ? ns : t->max_ns;
	}
	return t->max_ns;
}

static uint64_t at_fine(const struct coro_times *t, uint64_t rank)
{
	uint64_t below = 0;

	for (size_t b = 0; b < FINE; b++) {
		below += t->values[b];
		if (below >= rank)
			return fine_end(b) < t->max_ns ? fine_end(b) : t->max_ns;
	}
	return t->max_ns;
}

uint64_t coro_times_at(struct coro_times *t, double share)
{
	uint64_t rank;

	if (!t->count)
		return 0;
	rank = times_rank_of(t, share);
	if (t->keeps == CORO_TIMES_FINE)
		return at_fine(t, rank);
	if (t->keeps == CORO_TIMES_POWERS)
		return at_power(t, rank);
	if (!t->is_sorted)
		qsort(t->values, (size_t)t->count, sizeof(*t->values), times_compare);
	t->is_sorted = 1;
	return t->values[rank - 1];
}

void coro_times_free(struct coro_times *t)
{
	free(t->values);
	memset(t, 0, sizeof(*t));
}
