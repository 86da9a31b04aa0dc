/* SPDX-License-Identifier: Apache-2.0 */
/* See histogram.h. Buckets are kept in order; only those that hold something exist. */
#include "base/histogram.h"

#include "base/array.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define EXACT_MAX 1024
#define LINEAR_BITS 7 /* values below 256 have a bucket each, powers of two 128 of them */

/* Values of one bucket are equal but for so many of their lowest bits. */
static unsigned int bits_within(const struct histogram *h, uint64_t value)
{
	unsigned int top = value ? 63 - (unsigned int)__builtin_clzll(value) : 0;

	return h->is_coarse && top > LINEAR_BITS ? top - LINEAR_BITS : 0;
}

/* The first bucket of which not all is below @value. */
static size_t histogram_place_of(const struct histogram *h, uint64_t value)
{
	return value ? array_upto(h->bucket, h->buckets, sizeof(*h->bucket),
				  offsetof(struct histogram_bucket, max), value - 1)
		     : 0;
}

/* Joins values that belong to one bucket from now on. */
static void histogram_coarsen(struct histogram *h)
{
	size_t kept = 0;

	h->is_coarse = 1;
	for (size_t i = 1; i < h->buckets; i++) {
		struct histogram_bucket *last = &h->bucket[kept], *next = &h->bucket[i];
		unsigned int bits = bits_within(h, next->max);

		if (last->max >> bits != next->max >> bits)
			h->bucket[++kept] = *next;
		else
			*last = (struct histogram_bucket){next->max, last->count + next->count};
	}
	h->buckets = kept + 1;
}

/* The bucket of @value, made when there is none; NULL: no memory. */
static struct histogram_bucket *histogram_bucket_at(struct histogram *h, uint64_t value)
{
	unsigned int bits = bits_within(h, value);
	size_t at = histogram_place_of(h, value >> bits << bits);
	struct histogram_bucket *b;

	if (at < h->buckets && h->bucket[at].max >> bits == value >> bits)
		return &h->bucket[at];
	if (h->buckets == EXACT_MAX && !h->is_coarse) {
		histogram_coarsen(h);
		return histogram_bucket_at(h, value);
	}
	b = array_grown(h->bucket, h->buckets + 1, &h->room, sizeof(*b));
	if (!b)
		return NULL;
	h->bucket = b;
	memmove(b + at + 1, b + at, (h->buckets++ - at) * sizeof(*b));
	b[at] = (struct histogram_bucket){.max = value};
	return &b[at];
}

int histogram_add(struct histogram *h, uint64_t value)
{
	struct histogram_bucket *b = histogram_bucket_at(h, value);

	if (!b)
		return -ENOMEM;
	b->count++;
	if (value > b->max)
		b->max = value;
	h->count++;
	h->sum = h->sum > UINT64_MAX - value ? UINT64_MAX : h->sum + value;
	return 0;
}

uint64_t histogram_rank(uint64_t count, unsigned int permille)
{
	uint64_t rank = count / 1000 * permille + (count % 1000 * permille + 999) / 1000;

	return rank ? rank : 1;
}

uint64_t histogram_quantile(const struct histogram *h, unsigned int permille)
{
	uint64_t rank = histogram_rank(h->count, permille), seen = 0;

	for (size_t i = 0; i < h->buckets; i++) {
		seen += h->bucket[i].count;
		if (seen >= rank)
			return h->bucket[i].max;
	}
	return 0;
}

void histogram_free(struct histogram *h)
{
	free(h->bucket);
	*h = (struct histogram){0};
}
