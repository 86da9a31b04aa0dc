/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where sets lie: in chunks that are never freed, each twice as large as the one before, so that a
 * few comparisons tell whether a pointer leads to a set of this library.
 *
 * Any thread, outside handlers, takes and gives back places; without a lock, so that a forked child
 * is not left with one. Free places form a stack. Its head is the number of the uppermost place
 * (from 1; 0: none), and in the upper half a count of changes, so that a head that was seen before
 * is not taken for the same one. A thread that dies halfway takes one place along. set_is_ours()
 * may interrupt all of it: chunks appear complete, one after the other.
 */
#include <stdlib.h>

#include "base/atomic.h"
#include "customlabels/set.h"

#define FIRST UINT32_C(64) /* sets in the first chunk */
#define CHUNKS 25

static struct set first[FIRST];
static struct set *chunks[CHUNKS] = {first};
static uint32_t used; /* places that were ever taken */
static uint64_t unused;

static uint32_t sets_of(uint32_t chunk)
{
	return FIRST << chunk;
}

/* Chunk N begins with place FIRST * (2^N - 1). */
static uint32_t chunk_of(uint32_t place)
{
	return 31u - (uint32_t)__builtin_clz(place / FIRST + 1);
}

static struct set *set_place_at(uint32_t place)
{
	uint32_t chunk = chunk_of(place);

	return load_acquire(&chunks[chunk]) + (place - (sets_of(chunk) - FIRST));
}

static uint32_t number_of(const struct set *s)
{
	uint32_t chunk = 0;

	while ((uintptr_t)s - (uintptr_t)load_acquire(&chunks[chunk]) >=
	       sets_of(chunk) * sizeof(*s))
		chunk++;
	return sets_of(chunk) - FIRST + (uint32_t)(s - load_acquire(&chunks[chunk])) + 1;
}

static int has_chunk(uint32_t chunk)
{
	struct set *none = NULL, *made;

	if (chunk >= CHUNKS || load_acquire(&chunks[chunk]))
		return chunk < CHUNKS;
	made = calloc(sets_of(chunk), sizeof(*made));
	if (made && !cas_release(&chunks[chunk], &none, made))
		free(made); /* another thread was faster */
	return made != NULL;
}

static struct set *take_new(void)
{
	uint32_t place = load_relaxed(&used);

	do {
		if (!has_chunk(chunk_of(place)))
			return NULL;
	} while (!cas_relaxed(&used, &place, place + 1));
	return set_place_at(place);
}

static uint64_t next_head(uint64_t head, uint32_t number)
{
	return ((head >> 32) + 1) << 32 | number;
}

struct set *place_take(void)
{
	uint64_t head;

	while ((uint32_t)(head = load_acquire(&unused))) {
		struct set *s = set_place_at((uint32_t)head - 1);

		if (cas_acquire(&unused, &head, next_head(head, load_relaxed(&s->next))))
			return s;
	}
	return take_new();
}

void place_give_back(struct set *s)
{
	uint64_t head = load_relaxed(&unused);

	do {
		store_relaxed(&s->next, (uint32_t)head);
	} while (!cas_release(&unused, &head, next_head(head, number_of(s))));
}

int set_is_ours(const struct weft_custom_labels_set *seen)
{
	for (uint32_t i = 0; i < CHUNKS; i++) {
		const struct set *chunk = load_acquire(&chunks[i]);
		uint64_t at = (uintptr_t)seen - (uintptr_t)chunk;

		if (!chunk)
			return 0;
		if (at < sets_of(i) * sizeof(*chunk))
			return at % sizeof(*chunk) == offsetof(struct set, seen) &&
			       load_acquire(&set_of(seen)->is_live);
	}
	return 0;
}
