/* SPDX-License-Identifier: Apache-2.0 */
/* See reference_labels.h. */
#include "reference_labels.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define BARRIER() __asm__ volatile("" : : : "memory")

struct reference_set *reference_new(size_t capacity)
{
	struct reference_set *set = calloc(1, sizeof(*set));

	if (!set)
		return NULL;
	set->storage = capacity ? calloc(capacity, sizeof(*set->storage)) : NULL;
	set->capacity = set->storage ? capacity : 0;
	return set;
}

void reference_free(struct reference_set *set)
{
	if (!set)
		return;
	for (size_t i = 0; i < set->count; i++) {
		free(set->storage[i].key.buf);
		free(set->storage[i].value.buf);
	}
	free(set->storage);
	free(set);
}

static struct reference_label *find(const struct reference_set *set, struct reference_string key)
{
	for (size_t i = 0; i < set->count; i++) {
		struct reference_label *label = &set->storage[i];

		if (label->key.buf && label->key.len == key.len &&
		    !memcmp(label->key.buf, key.buf, key.len))
			return label;
	}
	return NULL;
}

static int copy_of(struct reference_string from, struct reference_string *to)
{
	unsigned char *buf = malloc(from.len ? from.len : 1);

	if (!buf)
		return -ENOMEM;
	memcpy(buf, from.buf, from.len);
	*to = (struct reference_string){from.len, buf};
	return 0;
}

static int grow(struct reference_set *set)
{
	size_t capacity = set->capacity ? 2 * set->capacity : 4;
	struct reference_label *old = set->storage, *wide = calloc(capacity, sizeof(*wide));

	if (!wide)
		return -ENOMEM;
	if (set->count)
		memcpy(wide, old, set->count * sizeof(*wide));
	BARRIER();
	set->storage = wide;
	BARRIER();
	set->capacity = capacity;
	free(old);
	return 0;
}

static int push(struct reference_set *set, struct reference_label label)
{
	int rc = set->count == set->capacity ? grow(set) : 0;

	if (rc)
		return rc;
	set->storage[set->count] = label;
	BARRIER();
	set->count++;
	BARRIER();
	return 0;
}

static void swap_delete(struct reference_set *set, struct reference_label *label)
{
	struct reference_label *last = &set->storage[set->count - 1];
	struct reference_label gone = *label;

	if (label == last) {
		set->count--;
		BARRIER();
	} else {
		label->key.buf = NULL;
		BARRIER();
		label->value = last->value;
		label->key.len = last->key.len;
		BARRIER();
		label->key.buf = last->key.buf;
		BARRIER();
		set->count--;
		BARRIER();
	}
	free(gone.key.buf);
	free(gone.value.buf);
}

int reference_set(struct reference_set *set, struct reference_string key,
		  struct reference_string value)
{
	struct reference_label *old = find(set, key), made = {0};
	size_t place = old ? (size_t)(old - set->storage) : 0;

	if (copy_of(key, &made.key))
		return -ENOMEM;
	if (copy_of(value, &made.value) || push(set, made)) {
		free(made.key.buf);
		free(made.value.buf);
		return -ENOMEM;
	}
	if (old)
		swap_delete(set, &set->storage[place]);
	return 0;
}

void reference_delete(struct reference_set *set, struct reference_string key)
{
	struct reference_label *label = find(set, key);

	if (label)
		swap_delete(set, label);
}

const struct reference_label *reference_get(const struct reference_set *set,
					    struct reference_string key)
{
	return find(set, key);
}
