/* SPDX-License-Identifier: Apache-2.0 */
/* Ends of events, a row for each chunk: see chunk_ends.h. */
#include "jfr/join/chunk_ends.h"

#include "base/array.h"

#include <errno.h>
#include <stdlib.h>

void chunk_ends_free(struct chunk_ends *e)
{
	free(e->chunks);
	*e = (struct chunk_ends){0};
}

int chunk_ends_add(struct chunk_ends *e, uint64_t chunk, int64_t end_ns)
{
	struct chunk_end *at;

	while (e->count <= chunk) {
		int64_t last = chunk_ends_before(e, e->count);

		at = array_add(&e->chunks, &e->count, &e->room, sizeof(*at));
		if (!at)
			return -ENOMEM;
		*at = (struct chunk_end){INT64_MAX, last};
	}
	at = &e->chunks[chunk];
	at->first = end_ns < at->first ? end_ns : at->first;
	at->last = end_ns > at->last ? end_ns : at->last;
	return 0;
}

void chunk_ends_seal(struct chunk_ends *e)
{
	for (size_t i = e->count; i-- > 1;)
		if (e->chunks[i - 1].first > e->chunks[i].first)
			e->chunks[i - 1].first = e->chunks[i].first;
}

int64_t chunk_ends_before(const struct chunk_ends *e, uint64_t chunk)
{
	if (!chunk || !e->count)
		return INT64_MIN;
	return e->chunks[(chunk < e->count ? chunk : e->count) - 1].last;
}

int64_t chunk_ends_from(const struct chunk_ends *e, uint64_t chunk)
{
	return chunk < e->count ? e->chunks[chunk].first : INT64_MAX;
}
