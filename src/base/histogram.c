/* SPDX-License-Identifier: Apache-2.0 */
/* See histogram.h. */
#include "base/histogram.h"

#include "base/array.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define LINEAR_BITS 7 /* values below 256 have a bucket each, powers of two 128 of them */

static uint32_t bucket_of(uint64_t value)
{
	unsigned int top = value ? 63 - (unsigned int)__builtin_clzll(value) : 0;
	unsigned int shift = top > LINEAR_BITS ? top - LINEAR_BITS : 0;

	return (shift << LINEAR_BITS) + (uint32_t)(value >> shift);
}

/* The first bucket whose number is not below @number. */
static size_t histogram_place_of(const struct histogram *h, uint32_t number)
{
	size_t low = 0, high = h->buckets;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (h->bucket[mid].number < number)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

void histogram_free(struct histogram *h)
{
	free(h->bucket);
	memset(h, 0, sizeof(*h));
}

int histogram_add(struct histogram *h, uint64_t value)
{
	uint32_t number = bucket_of(value);
	size_t at = histogram_place_of(h, number);
	struct histogram_bucket *b;

	if (at == h->buckets || h->bucket[at].number != number) {
		b = array_grown(h->bucket, h->buckets + 1, &h->room, sizeof(*b));
		if (!b)
			return -ENOMEM;
		h->bucket = b;
		memmove(b + at + 1, b + at, (h->buckets - at) * sizeof(*b));
		b[at] = (struct histogram_bucket){.number = number};
		h->buckets++;
	}
	b = &h->bucket[at];
	b->count++;
	if (value > b->max)
		b->max = value;
	h->count++;
	h->sum = h->sum > UINT64_MAX - value ? UINT64_MAX : h->sum + value;
	return 0;
}

uint64_t histogram_quantile(const struct histogram *h, unsigned int permille)
{
	uint64_t rank = (h->count / 1000) * permille + (h->count % 1000 * permille + 999) / 1000;
	uint64_t seen = 0;

	if (!h->count)
		return 0;
	for (size_t i = 0; i < h->buckets; i++) {
		seen += h->bucket[i].count;
		if (seen >= rank)
			return h->bucket[i].max;
	}
	return h->bucket[h->buckets - 1].max;
}
