/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A constant pool of the writer. An entry is its encoded value; equal values have one id.
 *
 * Ids count up from 1 and name one value for the whole recording: readers keep what an
 * earlier chunk said about an id, so an id given a second time would show the first value.
 * Entries may go between two chunks, all of them or all but some: those keep their ids.
 * A chunk carries only what it uses: an entry used is marked once per chunk, and the list
 * of marked entries is what the chunk writes.
 */
#ifndef WEFT_JFR_POOL_H
#define WEFT_JFR_POOL_H

#include "base/buf.h"

#include <stddef.h>
#include <stdint.h>

struct pool_entry {
	uint64_t at; /* in values */
	uint32_t bytes;
	uint32_t chunk; /* number of the last chunk that used it; 0 = none */
};

struct pool {
	struct buf values;
	struct pool_entry *entries;
	uint32_t *used; /* entries marked in this chunk, in order; room as entries */
	size_t count, room, used_count;
	uint64_t used_bytes; /* roughly their bytes in the chunk */
	uint64_t *kept;      /* ids of the first entries, which were kept; ascending */
	size_t kept_count;
	uint64_t base;     /* id of the first entry behind those is base + 1 */
	uint32_t *table;   /* hash table: index + 1, 0 = empty */
	size_t table_room; /* a power of two, or 0 */
	uint64_t salt;
};

void pool_init(struct pool *p, uint64_t salt);
void pool_free(struct pool *p);

/* The id of a value, 0 when there is no memory. pool_add() always makes a new id. */
uint64_t pool_intern(struct pool *p, const void *value, size_t bytes);
uint64_t pool_add(struct pool *p, const void *value, size_t bytes);

size_t pool_kept_place(const struct pool *p, uint64_t id); /* kept_count: it is none of them */

static inline int pool_has(const struct pool *p, uint64_t id)
{
	if (id > p->base)
		return id - p->base - 1 < p->count - p->kept_count;
	return pool_kept_place(p, id) < p->kept_count;
}

/* The place of an id that the pool has, and the id of a place. */
static inline size_t pool_place(const struct pool *p, uint64_t id)
{
	return id > p->base ? (size_t)(id - p->base - 1) + p->kept_count : pool_kept_place(p, id);
}

static inline uint64_t pool_id(const struct pool *p, size_t place)
{
	return place < p->kept_count ? p->kept[place] : p->base + 1 + (place - p->kept_count);
}

const uint8_t *pool_value(const struct pool *p, uint64_t id, size_t *bytes);

/* Note that @chunk uses @id (which the pool has); 1 when that is new. Cannot fail. */
static inline int pool_mark(struct pool *p, uint64_t id, uint32_t chunk)
{
	size_t place = pool_place(p, id);
	struct pool_entry *e = &p->entries[place];

	if (e->chunk == chunk)
		return 0;
	e->chunk = chunk;
	p->used[p->used_count++] = (uint32_t)place;
	p->used_bytes += e->bytes + 4;
	return 1;
}

void pool_next_chunk(struct pool *p); /* nothing is marked any more */
void pool_forget(struct pool *p); /* likewise, and drops all values; their ids are not used again */
/* Likewise, but keeps these ids, which ascend; the pool need not have them. 0 or -ENOMEM: it has
 * all of its values still. */
int pool_retain(struct pool *p, const uint64_t *ids, size_t count);

#endif
