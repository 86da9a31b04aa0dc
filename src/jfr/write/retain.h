/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which chunks the file has, and which of them have to leave it, by size and by age: the rules
 * are in weft/jfr.h (max_bytes, max_age_ns).
 *
 * Chunks are dropped a quarter of the file at once: the rest is copied each time, so each byte is
 * written four times on average instead of once for every chunk that follows it.
 */
#ifndef WEFT_JFR_RETAIN_H
#define WEFT_JFR_RETAIN_H

#include <stddef.h>
#include <stdint.h>

struct retained_chunk {
	uint64_t bytes, events, end_ns;
};

struct retention {
	uint64_t max_bytes, max_age_ns;
	struct retained_chunk *chunk; /* those in the file are [first, count) */
	size_t first, count, room;
};

static inline int retention_is_on(const struct retention *r)
{
	return r->max_bytes || r->max_age_ns;
}

void retention_free(struct retention *r);

/* How many of the oldest chunks go when @one comes; @is_final: it is the last. Of the others there
 * is room for it then. */
size_t retention_plan(const struct retention *r, const struct retained_chunk *one, int is_final);

/* Sums of the @count oldest. */
struct retained_chunk retention_sum(const struct retention *r, size_t count);

void retention_drop(struct retention *r, size_t count);
int retention_reserve(struct retention *r); /* for one more: 0 or -ENOMEM */
void retention_add(struct retention *r, const struct retained_chunk *one);

#endif
