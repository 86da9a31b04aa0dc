/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks that double in size, chained; the newest is the one that is filled. */
#include "jfr/common/arena.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_BLOCK ((size_t)4096)
#define LARGEST_STEP ((size_t)1 << 20)
#define ALIGN ((size_t)16)

struct arena_block {
	struct arena_block *older;
	size_t room;
	_Alignas(16) char data[];
};

static int add_block(struct arena *a, size_t bytes)
{
	size_t room = a->block ? a->block->room * 2 : FIRST_BLOCK;
	struct arena_block *b;

	if (room > LARGEST_STEP)
		room = LARGEST_STEP;
	if (room < bytes)
		room = bytes;
	if (a->limit && (room > a->limit || a->total > a->limit - room))
		return 0;
	b = malloc(sizeof(*b) + room);
	if (!b)
		return 0;
	b->older = a->block;
	b->room = room;
	a->block = b;
	a->used = 0;
	a->total += room;
	return 1;
}

void *arena_alloc(struct arena *a, size_t bytes)
{
	void *out;

	if (bytes > SIZE_MAX / 4)
		return NULL;
	bytes = (bytes + ALIGN - 1) & ~(ALIGN - 1);
	if ((!a->block || bytes > a->block->room - a->used) && !add_block(a, bytes))
		return NULL;
	out = a->block->data + a->used;
	a->used += bytes;
	return out;
}

void *arena_zalloc(struct arena *a, size_t bytes)
{
	void *out = arena_alloc(a, bytes);

	return out ? memset(out, 0, bytes) : NULL;
}

char *arena_text(struct arena *a, const char *data, size_t bytes)
{
	char *out = arena_alloc(a, bytes + 1);

	if (!out)
		return NULL;
	if (bytes)
		memcpy(out, data, bytes);
	out[bytes] = 0;
	return out;
}

static void free_from(struct arena_block *b)
{
	while (b) {
		struct arena_block *older = b->older;

		free(b);
		b = older;
	}
}

void arena_reset(struct arena *a)
{
	if (!a->block)
		return;
	free_from(a->block->older);
	a->block->older = NULL;
	a->total = a->block->room;
	a->used = 0;
}

void arena_free(struct arena *a)
{
	free_from(a->block);
	a->block = NULL;
	a->used = a->total = 0;
}
