/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Durations, kept so that any quantile can be told. Up to 1024 different ones are kept as they are:
 * then all quantiles are exact. More are sorted into log-linear buckets, 128 to a power of two (as
 * in HdrHistogram), some 7000 at most: then a quantile is the largest value met in the bucket that
 * it falls into, a value that occurred, at most 1/128 above the exact one.
 */
#ifndef WEFT_BASE_HISTOGRAM_H
#define WEFT_BASE_HISTOGRAM_H

#include <stddef.h>
#include <stdint.h>

struct histogram_bucket {
	uint64_t max, count; /* the largest value in it, and how many there are */
};

/* All zero is an empty one. */
struct histogram {
	struct histogram_bucket *bucket; /* by value */
	size_t buckets, room;
	uint64_t count, sum; /* of all values; the sum saturates */
	int is_coarse;       /* a bucket is no longer one value */
};

void histogram_free(struct histogram *h); /* leaves an empty one */
/* 0 or -ENOMEM. */
int histogram_add(struct histogram *h, uint64_t value);
/*
 * The least value that so many of a thousand are not above: of 4 values 500 is the second,
 * 501 the third, 1000 the largest. 0 of none.
 */
uint64_t histogram_quantile(const struct histogram *h, unsigned int permille);
/* How many values are up to that quantile, of @count: at least 1. */
uint64_t histogram_rank(uint64_t count, unsigned int permille);

#endif
