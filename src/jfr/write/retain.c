/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which chunks the file has, and which of them have to leave it, by size and by age: the rules are
 * in weft/jfr.h (max_bytes, max_age_ns).
 *
 * Chunks are dropped a quarter of the file at once: the rest is copied each time, so each byte is
 * written four times on average instead of once for every chunk that follows it.
 */
#include "jfr/write/writer.h"

#include "base/array.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void retention_free(struct retention *r)
{
	free(r->chunk);
	*r = (struct retention){0};
}

struct retained_chunk retention_sum(const struct retention *r, size_t count)
{
	struct retained_chunk sum = {0};

	for (size_t i = r->first; i < r->first + count; i++) {
		sum.bytes += r->chunk[i].bytes;
		sum.events += r->chunk[i].events;
		sum.end_ns = r->chunk[i].end_ns;
	}
	return sum;
}

static size_t plan_by_size(const struct retention *r, uint64_t all, uint64_t more)
{
	uint64_t limit = r->max_bytes - r->max_bytes / 4;
	size_t n = 0;

	if (!r->max_bytes || all + more <= r->max_bytes)
		return 0;
	while (r->first + n < r->count && all + more > limit)
		all -= r->chunk[r->first + n++].bytes;
	return n;
}

static size_t plan_by_age(const struct retention *r, uint64_t all, const struct retained_chunk *one,
			  int is_final)
{
	uint64_t old = 0;
	size_t n = 0;

	if (!r->max_age_ns || one->end_ns <= r->max_age_ns)
		return 0;
	for (; r->first + n < r->count; n++) {
		if (r->chunk[r->first + n].end_ns >= one->end_ns - r->max_age_ns)
			break;
		old += r->chunk[r->first + n].bytes;
	}
	return is_final || old >= (all - old + one->bytes) / 3 ? n : 0;
}

size_t retention_plan(const struct retention *r, const struct retained_chunk *one, int is_final)
{
	uint64_t all = retention_sum(r, r->count - r->first).bytes;
	size_t by_age = plan_by_age(r, all, one, is_final);
	size_t by_size = plan_by_size(r, all, one->bytes);

	return by_age > by_size ? by_age : by_size;
}

void retention_drop(struct retention *r, size_t count)
{
	r->first += count;
	if (r->first < r->count / 2)
		return;
	r->count -= r->first;
	memmove(r->chunk, r->chunk + r->first, r->count * sizeof(*r->chunk));
	r->first = 0;
}

int retention_reserve(struct retention *r)
{
	struct retained_chunk *grown =
		array_grown(r->chunk, r->count + 1, &r->room, sizeof(*grown));

	if (!grown)
		return -ENOMEM;
	r->chunk = grown;
	return 0;
}

void retention_add(struct retention *r, const struct retained_chunk *one)
{
	r->chunk[r->count++] = *one;
}
