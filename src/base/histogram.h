/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Durations, kept so that any quantile can be told: log-linear buckets, 128 to a power of two.
 * A quantile is the largest value met in the bucket that it falls into: a value that occurred,
 * at most 1/128 above the exact one, and exact where a bucket holds one value. Memory grows
 * with the buckets in use, some 7000 at most.
 */
#ifndef WEFT_BASE_HISTOGRAM_H
#define WEFT_BASE_HISTOGRAM_H

#include <stddef.h>
#include <stdint.h>

struct histogram_bucket {
	uint32_t number;
	uint64_t count, max;
};

struct histogram {
	struct histogram_bucket *bucket; /* by number */
	size_t buckets, room;
	uint64_t count, sum; /* of all values; the sum saturates */
};

/* All zero is an empty one. */
void histogram_free(struct histogram *h);
/* 0 or -ENOMEM. */
int histogram_add(struct histogram *h, uint64_t value);
/*
 * The least value that so many of a thousand are not above: of 4 values 500 is the second,
 * 501 the third, 1000 the largest. 0 of none.
 */
uint64_t histogram_quantile(const struct histogram *h, unsigned int permille);

#endif
