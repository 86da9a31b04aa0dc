/* SPDX-License-Identifier: Apache-2.0 */
/* set.h: sets of the program's own. */
#include "customlabels/set.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/atomic.h"

#define CAPACITY_MOST (SIZE_MAX / 4 / sizeof(struct weft_custom_labels_label))
#define CHANGES_PER_NUMBER 24 /* bits: after so many changes a set takes another number */

static uint64_t numbers;

/* No pair of address and generation comes twice, even if malloc reuses the address. */
static uint64_t set_next_generation(uint64_t generation)
{
	generation++;
	if (generation & ((UINT64_C(1) << CHANGES_PER_NUMBER) - 1))
		return generation;
	return (__atomic_add_fetch(&numbers, 1, __ATOMIC_RELAXED) << CHANGES_PER_NUMBER) + 1;
}

int label_make(struct weft_custom_labels_label *out, struct weft_custom_labels_string key,
	       struct weft_custom_labels_string value)
{
	unsigned char *at;

	if (key.bytes > SIZE_MAX / 4 || value.bytes > SIZE_MAX / 4)
		return ENOMEM;
	at = malloc(key.bytes + value.bytes + 1);
	if (!at)
		return ENOMEM;
	memcpy(at, key.buf, key.bytes);
	if (value.bytes)
		memcpy(at + key.bytes, value.buf, value.bytes);
	out->key.bytes = key.bytes;
	out->key.buf = at;
	out->value.bytes = value.bytes;
	out->value.buf = at + key.bytes;
	return 0;
}

void label_free(struct weft_custom_labels_label *label)
{
	if (label->value.buf)
		free((void *)(uintptr_t)label->key.buf);
}

void labels_free(struct weft_custom_labels_label *labels, size_t count)
{
	for (size_t i = 0; i < count; i++)
		label_free(&labels[i]);
}

/* Two arrays, all zeros; NULL, errno ENOMEM: no memory, or more labels than addresses. */
static struct weft_custom_labels_label *make_arrays(size_t capacity)
{
	if (capacity > CAPACITY_MOST) {
		errno = ENOMEM;
		return NULL;
	}
	return calloc(capacity, 2 * sizeof(struct weft_custom_labels_label));
}

struct set *set_new(size_t capacity)
{
	struct set *s = place_take();

	if (!s)
		return NULL;
	if (capacity) {
		s->arrays = make_arrays(capacity);
		if (!s->arrays) {
			place_give_back(s);
			return NULL;
		}
		s->seen.storage = s->arrays;
		s->seen.capacity = capacity;
		s->hidden = s->arrays + capacity;
	}
	s->generation = set_next_generation(UINT64_MAX);
	store_release(&s->is_live, 1);
	return s;
}

/* What readers see of it first: a program may free a set that another thread still shows. */
void set_free(struct set *s)
{
	struct weft_custom_labels_label *labels = s->seen.storage;
	uint64_t count = s->seen.count;

	store_release(&s->is_live, 0);
	store_release(&s->seen.count, 0);
	store_release(&s->seen.storage, NULL);
	s->seen.capacity = 0;
	labels_free(labels, count);
	free(s->arrays);
	s->arrays = s->hidden = NULL;
	place_give_back(s);
}

struct weft_custom_labels_label *labels_find(const struct weft_custom_labels_label *labels,
					     uint64_t count, struct weft_custom_labels_string key)
{
	for (uint64_t i = 0; i < count; i++)
		if (labels[i].key.buf && labels[i].key.bytes == key.bytes &&
		    !memcmp(labels[i].key.buf, key.buf, key.bytes))
			return (struct weft_custom_labels_label *)(uintptr_t)&labels[i];
	return NULL;
}

const struct weft_custom_labels_label *set_find(const struct weft_custom_labels_set *seen,
						struct weft_custom_labels_string key)
{
	return labels_find(seen->storage, seen->count, key);
}

/* The same labels in larger arrays: readers see no difference. */
static int set_grow(struct set *s, size_t least)
{
	size_t capacity = s->seen.capacity < least / 2 ? least : 2 * s->seen.capacity;
	struct weft_custom_labels_label *old = s->arrays, *arrays;

	capacity = capacity < least ? least : capacity;
	arrays = make_arrays(capacity);
	if (!arrays)
		return ENOMEM;
	if (s->seen.count)
		memcpy(arrays, s->seen.storage, s->seen.count * sizeof(*arrays));
	store_release(&s->seen.storage, arrays);
	store_release(&s->seen.capacity, capacity);
	s->arrays = arrays;
	s->hidden = arrays + capacity;
	free(old);
	return 0;
}

/* The largest number of labels while @what is applied, one after the other. */
static size_t room_for(const struct set *s, const struct weft_custom_labels_label *what,
		       size_t count)
{
	size_t room = s->seen.count;

	for (size_t i = 0; i < count; i++)
		room += what[i].value.buf && !set_find(&s->seen, what[i].key);
	return room;
}

static uint64_t exchange_one(struct weft_custom_labels_label *labels, uint64_t count,
			     struct weft_custom_labels_label *what)
{
	struct weft_custom_labels_label none = {0}, old = none;
	struct weft_custom_labels_label *at = labels_find(labels, count, what->key);

	if (at)
		old = *at;
	if (what->value.buf) {
		at = at ? at : &labels[count++];
		*at = *what;
	} else if (at) {
		*at = labels[--count];
		labels[count] = none;
	}
	*what = old;
	return count;
}

/* The hidden array, with @count labels, becomes the visible one. */
static void set_flip(struct set *s, uint64_t count)
{
	struct weft_custom_labels_label *old = s->seen.storage;
	uint64_t before = s->seen.count;

	if (count > before)
		store_release(&s->seen.count, count);
	store_release(&s->seen.storage, s->hidden);
	store_release(&s->generation, set_next_generation(s->generation));
	if (count < before)
		store_release(&s->seen.count, count);
	s->hidden = old;
	if (before)
		memset(old, 0, before * sizeof(*old));
}

int set_exchange(struct set *s, struct weft_custom_labels_label *what, size_t count)
{
	size_t room = room_for(s, what, count);
	uint64_t labels = s->seen.count;

	if (room > s->seen.capacity && set_grow(s, room))
		return ENOMEM;
	if (!s->seen.capacity) /* (to delete a label that never existed) */
		return 0;
	if (labels)
		memcpy(s->hidden, s->seen.storage, labels * sizeof(*s->hidden));
	for (size_t i = 0; i < count; i++)
		labels = exchange_one(s->hidden, labels, &what[i]);
	set_flip(s, labels);
	return 0;
}
