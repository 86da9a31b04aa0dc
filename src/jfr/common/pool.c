/* SPDX-License-Identifier: Apache-2.0 */
/* Values in one growing block, found by an open-addressing table of their indices. */
#include "jfr/common/pool.h"

#include "base/hash.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_ROOM ((size_t)64)
#define MOST_ENTRIES ((size_t)UINT32_MAX / 2)

void pool_init(struct pool *p, uint64_t salt)
{
	memset(p, 0, sizeof(*p));
	p->salt = hash_mix(salt);
}

void pool_free(struct pool *p)
{
	buf_free(&p->values);
	free(p->entries);
	free(p->used);
	free(p->kept);
	free(p->table);
}

size_t pool_kept_place(const struct pool *p, uint64_t id)
{
	size_t from = 0, to = p->kept_count;

	while (from < to) {
		size_t middle = from + (to - from) / 2;

		if (p->kept[middle] == id)
			return middle;
		if (p->kept[middle] < id)
			from = middle + 1;
		else
			to = middle;
	}
	return p->kept_count;
}

static size_t pool_slot_of(const struct pool *p, const void *value, size_t bytes)
{
	size_t i = hash_bytes(value, bytes, p->salt) & (p->table_room - 1);

	for (; p->table[i]; i = (i + 1) & (p->table_room - 1)) {
		const struct pool_entry *e = &p->entries[p->table[i] - 1];

		if (e->bytes == bytes && memcmp(p->values.data + e->at, value, bytes) == 0)
			break;
	}
	return i;
}

static int grow_table(struct pool *p)
{
	size_t room = p->table_room ? p->table_room * 2 : FIRST_ROOM * 2;
	uint32_t *old = p->table, *table = calloc(room, sizeof(*table));
	size_t old_room = p->table_room;

	if (!table)
		return 0;
	p->table = table;
	p->table_room = room;
	for (size_t i = 0; i < old_room; i++) {
		const struct pool_entry *e;

		if (!old[i])
			continue;
		e = &p->entries[old[i] - 1];
		table[pool_slot_of(p, p->values.data + e->at, e->bytes)] = old[i];
	}
	free(old);
	return 1;
}

static int grow_entries(struct pool *p)
{
	size_t room = p->room ? p->room * 2 : FIRST_ROOM;
	struct pool_entry *entries;
	uint32_t *used;

	if (room > MOST_ENTRIES)
		return 0;
	entries = realloc(p->entries, room * sizeof(*entries));
	if (!entries)
		return 0;
	p->entries = entries;
	used = realloc(p->used, room * sizeof(*used));
	if (!used)
		return 0;
	p->used = used;
	p->room = room;
	return 1;
}

static int has_room(struct pool *p)
{
	if (p->count == p->room && !grow_entries(p))
		return 0;
	return (p->count + 1) * 2 <= p->table_room || grow_table(p);
}

static uint64_t pool_append(struct pool *p, size_t slot, const void *value, size_t bytes)
{
	struct pool_entry *e = &p->entries[p->count];

	buf_put(&p->values, value, bytes);
	if (p->values.failed) {
		p->values.failed = 0;
		return 0;
	}
	*e = (struct pool_entry){.at = p->values.size - bytes, .bytes = (uint32_t)bytes};
	p->table[slot] = (uint32_t)++p->count;
	return pool_id(p, p->count - 1);
}

uint64_t pool_intern(struct pool *p, const void *value, size_t bytes)
{
	size_t slot;

	if (bytes > UINT32_MAX || !has_room(p))
		return 0;
	slot = pool_slot_of(p, value, bytes);
	if (p->table[slot])
		return pool_id(p, p->table[slot] - 1);
	return pool_append(p, slot, value, bytes);
}

uint64_t pool_add(struct pool *p, const void *value, size_t bytes)
{
	if (bytes > UINT32_MAX || !has_room(p))
		return 0;
	return pool_append(p, pool_slot_of(p, value, bytes), value, bytes);
}

const uint8_t *pool_value(const struct pool *p, uint64_t id, size_t *bytes)
{
	const struct pool_entry *e = &p->entries[pool_place(p, id)];

	if (bytes)
		*bytes = e->bytes;
	return p->values.data + e->at;
}

void pool_next_chunk(struct pool *p)
{
	p->used_count = 0;
	p->used_bytes = 0;
}

void pool_forget(struct pool *p)
{
	pool_next_chunk(p);
	p->base += p->count - p->kept_count;
	p->count = p->kept_count = 0;
	buf_clear(&p->values);
	if (p->table)
		memset(p->table, 0, p->table_room * sizeof(*p->table));
}

/* The pool @to is empty, and has room for the ids. */
static int pool_copy_kept(struct pool *to, const struct pool *p, const uint64_t *ids, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const uint8_t *value;
		size_t bytes;

		if (!pool_has(p, ids[i]) || (i && ids[i] == ids[i - 1]))
			continue;
		value = pool_value(p, ids[i], &bytes);
		if (!pool_add(to, value, bytes))
			return -ENOMEM;
		to->kept[to->kept_count++] = ids[i];
	}
	return 0;
}

int pool_retain(struct pool *p, const uint64_t *ids, size_t count)
{
	struct pool to = {.salt = p->salt, .base = p->base + (p->count - p->kept_count)};
	int rc = -ENOMEM;

	to.kept = malloc((count + 1) * sizeof(*to.kept));
	if (to.kept && buf_reserve(&to.values, 1))
		rc = pool_copy_kept(&to, p, ids, count);
	if (rc) {
		pool_free(&to);
		return rc;
	}
	pool_free(p);
	*p = to;
	return 0;
}
