/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where each constant-pool entry of the chunk lies. Checkpoints are walked from the last
 * one backwards; of entries given twice the latest counts.
 */
#include "base/hash.h"
#include "jfr/read/reader.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define FIRST_ROOM ((size_t)1024)
#define MEMORY_BASE ((size_t)64 << 20)
#define MEMORY_PER_BYTE 64

static uint64_t new_salt(const void *mix)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return hash_mix((uint64_t)now.tv_nsec ^ (uint64_t)(uintptr_t)mix);
}

static struct pool_slot *pool_index_probe(const struct pool_index *p,
					  const struct weft_jfr_class *type, uint64_t key)
{
	size_t i = hash_mix(key ^ p->salt ^ (uint64_t)type->index << 48) & (p->room - 1);

	for (;; i = (i + 1) & (p->room - 1)) {
		struct pool_slot *s = &p->slots[i];

		if (!s->type || (s->key == key && s->type == type))
			return s;
	}
}

static int pool_index_grow(struct pool_index *p)
{
	struct pool_index old = *p;

	p->room = old.room ? old.room * 2 : FIRST_ROOM;
	p->slots = calloc(p->room, sizeof(*p->slots));
	if (!p->slots) {
		p->slots = old.slots;
		p->room = old.room;
		return 0;
	}
	if (!old.room)
		p->salt = new_salt(p->slots);
	for (size_t i = 0; i < old.room; i++)
		if (old.slots[i].type)
			*pool_index_probe(p, old.slots[i].type, old.slots[i].key) = old.slots[i];
	free(old.slots);
	return 1;
}

static int pool_index_note(struct weft_jfr_reader *r, const struct pool_slot *entry)
{
	struct pool_index *p = &r->pools;
	struct pool_slot *slot;

	if ((p->count + 1) * 2 > p->room && !pool_index_grow(p))
		return reader_no_memory(r);
	slot = pool_index_probe(p, entry->type, entry->key);
	if (slot->type)
		return 0;
	*slot = *entry;
	p->count++;
	return 0;
}

static int walk_pool(struct weft_jfr_reader *r, struct decoder *d)
{
	const uint8_t *start = d->in.at;
	const struct weft_jfr_class *type = classes_find(r->classes, input_i64(&d->in));
	size_t count = input_count(&d->in);

	if (d->in.failed)
		return reader_damaged(r, start, "constant pool is cut short");
	if (!type || type->shape == CLASS_BROKEN)
		return reader_damaged(r, start, "constant pool of an unknown type");
	while (count--) {
		struct pool_slot entry = {.type = type, .key = (uint64_t)input_i64(&d->in)};
		int rc;

		entry.value = d->in.at;
		skip_value(d, type);
		if (d->in.failed)
			return reader_damaged(r, entry.value, "constant pool entry is cut short");
		entry.bytes = (uint32_t)(d->in.at - entry.value);
		rc = pool_index_note(r, &entry);
		if (rc != 0)
			return rc;
	}
	return 0;
}

/* Notes the entries of one checkpoint; *delta leads to the one before it, 0: there is none. */
static int walk_checkpoint(struct weft_jfr_reader *r, uint64_t offset, int64_t *delta)
{
	const uint8_t *start = r->chunk_data + offset;
	struct decoder d;
	size_t left = (size_t)(r->chunk.bytes - offset), bytes;
	uint32_t pools;

	decoder_start(&d, r, start, left, &r->pools.memory);
	bytes = (uint32_t)input_i32(&d.in);
	if (d.in.failed || bytes > left || input_left(&d.in) < left - bytes)
		return reader_damaged(r, start, "checkpoint is longer than its chunk");
	d.in.end = start + bytes;
	if (input_i64(&d.in) != 1)
		return reader_damaged(r, start, "no checkpoint where one should be");
	input_i64(&d.in); /* start */
	input_i64(&d.in); /* duration */
	*delta = input_i64(&d.in);
	input_u8(&d.in); /* type mask */
	pools = (uint32_t)input_i32(&d.in);
	if (d.in.failed)
		return reader_damaged(r, start, "checkpoint is cut short");
	while (pools--) {
		int rc = walk_pool(r, &d);

		if (rc != 0)
			return rc;
	}
	return 0;
}

/* 0 or -errno. */
static int pools_load(struct weft_jfr_reader *r)
{
	uint64_t offset = r->checkpoint;

	r->pools.loaded = 1;
	r->pools.memory.limit = MEMORY_BASE + MEMORY_PER_BYTE * (size_t)r->chunk.bytes;
	if (!r->pools.room && !pool_index_grow(&r->pools))
		return reader_no_memory(r);
	while (offset) {
		int64_t delta = 0;
		int rc = walk_checkpoint(r, offset, &delta);

		if (rc != 0)
			return rc;
		if (delta == 0)
			break;
		if (delta > 0 || delta < -(int64_t)offset + CHUNK_HEADER_BYTES)
			return reader_damaged(r, r->chunk_data + offset,
					      "checkpoint leads out of its chunk");
		offset -= (uint64_t)-delta;
	}
	return 0;
}

void pools_stale(struct weft_jfr_reader *r)
{
	memset(r->pools.recent, 0, sizeof(r->pools.recent));
	r->pools.loaded = 0;
}

void pools_leave(struct weft_jfr_reader *r)
{
	struct pool_index *p = &r->pools;

	p->loaded = 0;
	memset(p->recent, 0, sizeof(p->recent));
	arena_reset(&p->memory);
	if (p->count)
		memset(p->slots, 0, p->room * sizeof(*p->slots));
	p->count = 0;
}

struct pool_slot *pools_find(struct weft_jfr_reader *r, const struct weft_jfr_class *type,
			     uint64_t key)
{
	struct pool_slot *slot;

	if (!type || r->rc != 0 || (!r->pools.loaded && pools_load(r) != 0))
		return NULL;
	slot = pool_index_probe(&r->pools, type, key);
	return slot->type ? slot : NULL;
}
