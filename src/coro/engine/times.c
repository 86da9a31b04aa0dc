/* SPDX-License-Identifier: Apache-2.0 */
/* See times.h. */
#include "coro/engine/times.h"

#include <errno.h>
#include <stdlib.h>

static size_t power_of(uint64_t ns)
{
	unsigned int power = ns ? 63 - (unsigned int)__builtin_clzll(ns) : 0;

	if (power < 6)
		return 0;
	return power - 5 < WEFT_CTP_BUCKETS ? power - 5 : WEFT_CTP_BUCKETS - 1;
}

/* From finer to coarser, never back. */
static int times_begin_powers(struct coro_times *t)
{
	t->powers = calloc(WEFT_CTP_BUCKETS, sizeof(*t->powers));
	if (!t->powers)
		return -ENOMEM;
	for (size_t i = 0; i < t->each.buckets; i++)
		t->powers[power_of(t->each.bucket[i].max)] += t->each.bucket[i].count;
	histogram_free(&t->each);
	return 0;
}

static void times_sum(struct coro_times *t, uint64_t count, uint64_t sum_ns, uint64_t max_ns)
{
	t->count += count;
	if (__builtin_add_overflow(t->sum_ns, sum_ns, &t->sum_ns))
		t->sum_ns = UINT64_MAX;
	if (max_ns > t->max_ns)
		t->max_ns = max_ns;
}

int coro_times_add(struct coro_times *t, uint64_t ns)
{
	if (t->powers)
		t->powers[power_of(ns)]++;
	else if (histogram_add(&t->each, ns))
		return -ENOMEM;
	times_sum(t, 1, ns, ns);
	return 0;
}

int coro_times_add_histogram(struct coro_times *t, const uint32_t histogram[WEFT_CTP_BUCKETS],
			     uint64_t sum_ns, uint64_t max_ns)
{
	if (!t->powers && times_begin_powers(t))
		return -ENOMEM;
	times_sum(t, 0, sum_ns, max_ns);
	for (unsigned int b = 0; b < WEFT_CTP_BUCKETS; b++) {
		t->powers[b] += histogram[b];
		t->count += histogram[b];
	}
	return 0;
}

/* In the bucket that has it, as if its times lay evenly. */
static uint64_t times_at_power(const struct coro_times *t, uint64_t rank)
{
	uint64_t below = 0;

	for (unsigned int b = 0; b < WEFT_CTP_BUCKETS; b++) {
		uint64_t low = b ? UINT64_C(1) << (b + 5) : 0, high = UINT64_C(1) << (b + 6), ns;

		if (below + t->powers[b] < rank) {
			below += t->powers[b];
			continue;
		}
		ns = low + (uint64_t)((double)(high - low) * (double)(rank - below) /
				      (double)t->powers[b]);
		return ns < t->max_ns ? ns : t->max_ns;
	}
	return t->max_ns;
}

uint64_t coro_times_quantile(const struct coro_times *t, unsigned int permille)
{
	if (t->powers && t->count)
		return times_at_power(t, histogram_rank(t->count, permille));
	return histogram_quantile(&t->each, permille);
}

void coro_times_free(struct coro_times *t)
{
	histogram_free(&t->each);
	free(t->powers);
	*t = (struct coro_times){0};
}
