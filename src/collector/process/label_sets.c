/* SPDX-License-Identifier: Apache-2.0 */
/* Sets of labels as numbers: see label_sets.h. */
#include "collector/process/label_sets.h"

#include "base/array.h"
#include "base/map.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define REPLACEMENT "\xEF\xBF\xBD" /* U+FFFD */
#define SETS_MAX (UINT32_C(1) << 30)

struct label_entry {
	struct label_set *set; /* NULL: the number is free */
	uint32_t next_free;
	int is_marked;
};

struct label_sets {
	struct map *index; /* bytes of canonical() -> number; 0: it got none */
	struct label_entry *entry;
	uint32_t count, first_free; /* count: with entry 0, which is never used */
	size_t room;
};

struct label_sets *label_sets_new(void)
{
	struct label_sets *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->count = 1;
	s->index = map_new();
	if (!s->index) {
		free(s);
		return NULL;
	}
	return s;
}

void label_sets_free(struct label_sets *s)
{
	if (!s)
		return;
	for (uint32_t i = 1; s->entry && i < s->count; i++)
		free(s->entry[i].set);
	free(s->entry);
	map_free(s->index);
	free(s);
}

/* Reads the label at *@at and moves behind it; 0: there is none that is whole. */
static int next_label(const uint8_t *labels, size_t bytes, size_t *at,
		      struct weft_sample_label *head, const uint8_t **key)
{
	if (bytes - *at < sizeof(*head))
		return 0;
	memcpy(head, labels + *at, sizeof(*head));
	if (!head->key_bytes || head->key_bytes > WEFT_CUSTOM_LABELS_KEY_BYTES ||
	    head->value_bytes > WEFT_CUSTOM_LABELS_VALUE_BYTES ||
	    bytes - *at - sizeof(*head) < (size_t)head->key_bytes + head->value_bytes)
		return 0;
	*key = labels + *at + sizeof(*head);
	*at += sizeof(*head) + head->key_bytes + head->value_bytes;
	return 1;
}

int label_bytes_are_sound(const uint8_t *labels, size_t bytes)
{
	struct weft_sample_label head;
	const uint8_t *key;
	size_t at = 0;

	while (at < bytes)
		if (!next_label(labels, bytes, &at, &head, &key))
			return 0;
	return 1;
}

/* A terminated copy with U+FFFD for each NUL; returns where it ends, behind the terminator. */
static char *label_sets_put_text(char *to, const uint8_t *from, uint32_t bytes, uint32_t *out_bytes)
{
	char *at = to;

	for (uint32_t i = 0; i < bytes; i++) {
		if (from[i])
			*at++ = (char)from[i];
		else
			at = stpcpy(at, REPLACEMENT);
	}
	*out_bytes = (uint32_t)(at - to);
	*at++ = 0;
	return at;
}

static int by_key_then_place(const void *left, const void *right)
{
	const struct label_item *a = left, *b = right;
	int by = strcmp(a->key, b->key);

	return by ? by : (a->key > b->key) - (a->key < b->key);
}

/* Texts lie in the order in which they came: of equal keys the first is the lowest. */
static void sort_and_drop_later(struct label_set *set)
{
	size_t kept = 0;

	qsort(set->item, set->count, sizeof(*set->item), by_key_then_place);
	for (size_t i = 0; i < set->count; i++)
		if (!kept || strcmp(set->item[kept - 1].key, set->item[i].key) != 0)
			set->item[kept++] = set->item[i];
	set->count = kept;
}

static struct label_set *label_sets_make_set(const uint8_t *labels, size_t bytes)
{
	size_t at = 0, count = 0, texts = 0;
	struct weft_sample_label head;
	struct label_set *set;
	const uint8_t *key;
	char *to;

	while (next_label(labels, bytes, &at, &head, &key)) {
		count++;
		texts += 3 * ((size_t)head.key_bytes + head.value_bytes) + 2;
	}
	set = calloc(1, sizeof(*set) + count * sizeof(*set->item) + texts);
	if (!set)
		return NULL;
	to = (char *)&set->item[count];
	for (at = 0; next_label(labels, bytes, &at, &head, &key);) {
		struct label_item *item = &set->item[set->count++];

		item->column = -1;
		item->key = to;
		to = label_sets_put_text(to, key, head.key_bytes, &item->key_bytes);
		item->value = to;
		to = label_sets_put_text(to, key + head.key_bytes, head.value_bytes,
					 &item->value_bytes);
	}
	sort_and_drop_later(set);
	return set;
}

/* The sorted keys and values, each terminated: equal sets have equal bytes. */
static uint8_t *canonical(const struct label_set *set, size_t *bytes)
{
	size_t size = 0;
	uint8_t *out, *to;

	for (size_t i = 0; i < set->count; i++)
		size += 2 + (size_t)set->item[i].key_bytes + set->item[i].value_bytes;
	out = to = malloc(size + 1);
	for (size_t i = 0; out && i < set->count; i++) {
		memcpy(to, set->item[i].key, set->item[i].key_bytes + 1);
		to += set->item[i].key_bytes + 1;
		memcpy(to, set->item[i].value, set->item[i].value_bytes + 1);
		to += set->item[i].value_bytes + 1;
	}
	*bytes = size;
	return out;
}

static uint32_t new_number(struct label_sets *s)
{
	struct label_entry *entry;
	uint32_t number = s->first_free;

	if (number) {
		s->first_free = s->entry[number].next_free;
		return number;
	}
	if (s->count == SETS_MAX)
		return 0;
	entry = array_grown(s->entry, s->count + 1u, &s->room, sizeof(*entry));
	if (!entry)
		return 0;
	s->entry = entry;
	return s->count++;
}

int64_t label_sets_put(struct label_sets *s, const uint8_t *labels, size_t bytes)
{
	struct label_set *set = label_sets_make_set(labels, bytes);
	size_t size = 0;
	uint8_t *key = set && set->count ? canonical(set, &size) : NULL;
	uint64_t *number = key ? map_put(s->index, key, size, NULL) : NULL;
	int64_t rc = set && !set->count ? 0 : -ENOMEM;

	if (number && !*number) {
		*number = new_number(s);
		if (*number) {
			s->entry[*number] = (struct label_entry){.set = set};
			set = NULL;
		}
	}
	if (number && *number)
		rc = (int64_t)*number;
	free(key);
	free(set);
	return rc;
}

struct label_set *label_sets_get(const struct label_sets *s, uint32_t number)
{
	return number && number < s->count ? s->entry[number].set : NULL;
}

void label_sets_mark(struct label_sets *s, uint32_t number)
{
	if (number && number < s->count)
		s->entry[number].is_marked = 1;
}

/* The index of the sets that are marked; NULL: out of memory. */
static struct map *index_of_marked(const struct label_sets *s)
{
	struct map *index = map_new();

	for (uint32_t i = 1; index && i < s->count; i++) {
		const struct label_entry *e = &s->entry[i];
		uint8_t *key = NULL;
		uint64_t *at = NULL;
		size_t size;

		if (!e->set || !e->is_marked)
			continue;
		key = canonical(e->set, &size);
		if (key)
			at = map_put(index, key, size, NULL);
		free(key);
		if (at) {
			*at = i;
		} else {
			map_free(index);
			index = NULL;
		}
	}
	return index;
}

/* Without memory for a new index all sets stay. */
void label_sets_sweep(struct label_sets *s)
{
	struct map *index = index_of_marked(s);

	for (uint32_t i = 1; i < s->count; i++) {
		struct label_entry *e = &s->entry[i];

		if (index && e->set && !e->is_marked) {
			free(e->set);
			*e = (struct label_entry){.next_free = s->first_free};
			s->first_free = i;
		}
		e->is_marked = 0;
	}
	if (!index)
		return;
	map_free(s->index);
	s->index = index;
}
