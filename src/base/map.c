/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Open addressing, linear probing, at most 3/4 full. Keys lie in one growing block and are referred
 * to by offset, so that the block may move; it is packed when most of it belongs to keys that were
 * removed.
 */
#include "base/map.h"

#include "base/buf.h"
#include "base/hash.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

struct cell {
	uint64_t hash; /* 0 = empty */
	uint64_t key;  /* offset in keys */
	uint64_t bytes;
	uint64_t value;
};

struct map {
	struct cell *cells;
	size_t room, count; /* room is a power of two */
	struct buf keys;
	size_t gone; /* bytes of keys that were removed */
	uint64_t salt;
};

#define MAP_FIRST_ROOM 64
#define KEYS_GONE_MIN 4096 /* bytes that are not worth a copy */

struct map *map_new(void)
{
	struct map *m = calloc(1, sizeof(*m));
	struct timespec now;

	if (!m)
		return NULL;
	m->cells = calloc(MAP_FIRST_ROOM, sizeof(*m->cells));
	if (!m->cells) {
		free(m);
		return NULL;
	}
	clock_gettime(CLOCK_MONOTONIC, &now);
	m->salt = hash_mix((uint64_t)now.tv_nsec ^ (uint64_t)(uintptr_t)m);
	m->room = MAP_FIRST_ROOM;
	return m;
}

void map_free(struct map *m)
{
	if (!m)
		return;
	free(m->cells);
	buf_free(&m->keys);
	free(m);
}

void map_clear(struct map *m)
{
	memset(m->cells, 0, m->room * sizeof(*m->cells));
	m->count = 0;
	m->gone = 0;
	buf_clear(&m->keys);
}

void map_free_values(struct map *m, void (*destroy)(void *value))
{
	for (size_t i = 0; m && i < m->room; i++)
		if (m->cells[i].hash)
			destroy((void *)(uintptr_t)m->cells[i].value);
	map_free(m);
}

size_t map_count(const struct map *m)
{
	return m->count;
}

static struct cell *map_probe(const struct map *m, uint64_t hash, const void *key, size_t bytes)
{
	size_t i = hash & (m->room - 1);

	for (;; i = (i + 1) & (m->room - 1)) {
		struct cell *c = &m->cells[i];

		if (!c->hash)
			return c;
		if (c->hash == hash && c->bytes == bytes &&
		    (!bytes || memcmp(m->keys.data + c->key, key, bytes) == 0))
			return c;
	}
}

static uint64_t key_hash(const struct map *m, const void *key, size_t bytes)
{
	uint64_t hash = hash_bytes(key, bytes, m->salt);

	return hash ? hash : 1;
}

uint64_t *map_get(const struct map *m, const void *key, size_t bytes)
{
	struct cell *c = map_probe(m, key_hash(m, key, bytes), key, bytes);

	return c->hash ? &c->value : NULL;
}

static int grow_cells(struct map *m)
{
	size_t room = m->room * 2;
	struct cell *cells = calloc(room, sizeof(*cells));

	if (!cells)
		return 0;
	for (size_t i = 0; i < m->room; i++) {
		size_t at = m->cells[i].hash & (room - 1);

		if (!m->cells[i].hash)
			continue;
		while (cells[at].hash)
			at = (at + 1) & (room - 1);
		cells[at] = m->cells[i];
	}
	free(m->cells);
	m->cells = cells;
	m->room = room;
	return 1;
}

uint64_t *map_put(struct map *m, const void *key, size_t bytes, int *fresh)
{
	uint64_t hash = key_hash(m, key, bytes);
	struct cell *c = map_probe(m, hash, key, bytes);

	if (fresh)
		*fresh = !c->hash;
	if (c->hash)
		return &c->value;
	if (!buf_reserve(&m->keys, bytes)) {
		m->keys.failed = 0; /* the next may find memory again */
		return NULL;
	}
	if ((m->count + 1) * 4 > m->room * 3) {
		if (!grow_cells(m))
			return NULL;
		c = map_probe(m, hash, key, bytes);
	}
	*c = (struct cell){.hash = hash, .key = m->keys.size, .bytes = bytes};
	buf_put(&m->keys, key, bytes);
	m->count++;
	return &c->value;
}

/* The cells behind the gap move up as far as they may, so that no search ends too early. */
static void map_close_gap(struct map *m, size_t gap)
{
	size_t mask = m->room - 1;

	for (size_t i = (gap + 1) & mask; m->cells[i].hash; i = (i + 1) & mask) {
		size_t home = m->cells[i].hash & mask;

		if (((i - home) & mask) < ((i - gap) & mask))
			continue;
		m->cells[gap] = m->cells[i];
		gap = i;
	}
	m->cells[gap] = (struct cell){0};
}

/* Without memory for the copy they stay where they are. */
static void map_pack_keys(struct map *m)
{
	struct buf packed = {0};

	if (!buf_reserve(&packed, m->keys.size - m->gone + 1))
		return;
	for (size_t i = 0; i < m->room; i++) {
		struct cell *c = &m->cells[i];
		uint64_t at = packed.size;

		if (!c->hash)
			continue;
		buf_put(&packed, m->keys.data + c->key, c->bytes);
		c->key = at;
	}
	buf_free(&m->keys);
	m->keys = packed;
	m->gone = 0;
}

int map_remove(struct map *m, const void *key, size_t bytes)
{
	struct cell *c = map_probe(m, key_hash(m, key, bytes), key, bytes);

	if (!c->hash)
		return 0;
	m->gone += c->bytes;
	m->count--;
	map_close_gap(m, (size_t)(c - m->cells));
	if (m->gone > KEYS_GONE_MIN && m->gone > m->keys.size / 2)
		map_pack_keys(m);
	return 1;
}

uint64_t *map_put_text(struct map *m, const uint64_t *numbers, size_t count, const char *text,
		       int *fresh)
{
	struct buf key = {0};
	uint64_t *value = NULL;

	buf_put(&key, numbers, count * sizeof(*numbers));
	buf_put(&key, text, strlen(text));
	if (!key.failed)
		value = map_put(m, key.data, key.size, fresh);
	buf_free(&key);
	return value;
}

int map_next(const struct map *m, size_t *cursor, const void **key, size_t *bytes, uint64_t **value)
{
	for (; *cursor < m->room; ++*cursor) {
		struct cell *c = &m->cells[*cursor];

		if (!c->hash)
			continue;
		*key = m->keys.data + c->key;
		*bytes = c->bytes;
		*value = &c->value;
		++*cursor;
		return 1;
	}
	return 0;
}
