/* SPDX-License-Identifier: Apache-2.0 */
/* Pool entries that a chunk's events refer to: their keys in the output, and their copies. */
#include "base/array.h"
#include "jfr/common/encode.h"
#include "jfr/merge/copy_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MOST_WORDS 4096 /* of a type; more are no words but texts */
#define LONGEST_WORD 256

/* ---- keys */

static uint64_t *copy_pool_place(struct copy *c, struct map *m, char kind, const void *data,
				 size_t bytes, int *fresh)
{
	uint8_t key[1 + LONGEST_WORD];
	uint64_t *found;

	key[0] = (uint8_t)kind;
	memcpy(key + 1, data, bytes);
	found = map_put(m, key, bytes + 1, fresh);
	if (!found)
		c->failed = -ENOMEM;
	return found;
}

/* The key itself if nothing has it, else one that is free. */
static uint64_t free_key(struct copy *c, struct copy_type *t, uint64_t wanted)
{
	int fresh = 0;

	while (copy_pool_place(c, t->taken, 'k', &wanted, sizeof(wanted), &fresh) && !fresh)
		wanted = ++t->next_key;
	return wanted;
}

static uint64_t key_of_word(struct copy *c, struct copy_type *t, const struct pool_slot *slot)
{
	uint64_t *known, key;
	int fresh;

	if (slot->bytes > LONGEST_WORD || t->words >= MOST_WORDS || slot->value[0] == STRING_POOL)
		return free_key(c, t, ++t->next_key);
	known = copy_pool_place(c, t->taken, 'w', slot->value, slot->bytes, &fresh);
	if (!known || !fresh)
		return known ? *known - 1 : 0;
	t->words++;
	*known = 1;
	key = free_key(c, t, slot->key);
	/* what was put since may have moved it */
	known = copy_pool_place(c, t->taken, 'w', slot->value, slot->bytes, &fresh);
	if (known)
		*known = key + 1;
	return key;
}

static uint64_t key_of_thread(struct copy_source *s, struct copy_type *t, uint64_t key)
{
	struct copy *c = s->copy;
	const uint64_t both[2] = {(uintptr_t)t, key};
	uint64_t *known, out;
	int fresh;

	known = copy_pool_place(c, s->threads, 't', both, sizeof(both), &fresh);
	if (!known || !fresh)
		return known ? *known : 0;
	out = free_key(c, t, key);
	known = copy_pool_place(c, s->threads, 't', both, sizeof(both), &fresh);
	if (known)
		*known = out;
	return out;
}

/* The key for an entry that the source lacks: one that no chunk of the output has an entry for. */
static uint64_t key_of_nothing(struct copy *c, struct copy_type *t, uint64_t key)
{
	if (t->keys != KEYS_KEPT)
		return 0;
	if (!t->missing)
		t->missing = free_key(c, t, ++t->next_key);
	return key ? t->missing : 0;
}

static uint64_t new_key(struct copy_source *s, const struct weft_jfr_class *class, uint64_t key)
{
	struct copy_type *t = s->set->classes[class->index].type;
	const struct pool_slot *slot = pools_find(s->reader, class, key);

	if (!slot)
		return key_of_nothing(s->copy, t, key);
	switch (t->keys) {
	case KEYS_KEPT:
		return key_of_word(s->copy, t, slot);
	case KEYS_STABLE:
		return key_of_thread(s, t, key);
	case KEYS_FRESH:
		break;
	}
	return ++t->next_key;
}

/* ---- references */

uint64_t copy_reference(struct copy_source *s, const struct weft_jfr_class *class, uint64_t key)
{
	struct copy *c = s->copy;
	struct copy_ref *grown;
	uint64_t *place;
	int fresh;

	if (!class)
		return 0;
	grown = array_grown(c->refs, c->ref_count + 1, &c->ref_room, sizeof(*grown));
	if (grown)
		c->refs = grown;
	place = grown ? map_put(c->ref_places, (uint64_t[2]){key, class->index}, 16, &fresh) : NULL;
	if (!place) {
		c->failed = -ENOMEM;
		return 0;
	}
	if (fresh) {
		*place = c->ref_count;
		c->refs[c->ref_count++] = (struct copy_ref){class, key, new_key(s, class, key)};
	}
	return c->refs[*place].out;
}

static void copy_entry(struct copy_source *s, const struct copy_ref *ref)
{
	const struct pool_slot *slot = pools_find(s->reader, ref->type, ref->key);
	struct copy_class *class = &s->set->classes[ref->type->index];
	struct copy_writer w = {.source = s, .out = &class->values};
	size_t before = class->values.size;

	if (!slot)
		return;
	arena_reset(&s->reader->memory);
	decoder_start(&w.from, s->reader, slot->value, slot->bytes, &s->reader->memory);
	buf_put_leb128(&class->values, ref->out);
	copy_value(&w, ref->type);
	if (w.from.in.failed)
		class->values.size = before;
	else
		class->count++;
	if (class->values.failed)
		s->copy->failed = -ENOMEM;
}

void copy_entries(struct copy_source *s)
{
	struct copy *c = s->copy;

	for (size_t i = 0; i < c->ref_count && !c->failed; i++) {
		struct copy_ref ref = c->refs[i];

		copy_entry(s, &ref);
	}
}

void copy_refs_clear(struct copy *c)
{
	if (c->ref_count)
		map_clear(c->ref_places);
	c->ref_count = 0;
}
