/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Changes of weft's own set by the interface's functions: weft's writer makes them, a batch at a
 * time, within its limits. If it refuses one, all are undone, because a call here changes all or
 * nothing.
 */
#include <errno.h>
#include <stdlib.h>

#include <weft/labels.h>

#include "customlabels/current.h"
#include "customlabels/set.h"

static int weft_set_error_of(int result)
{
	switch (result) {
	case WEFT_LABEL_NO_ROOM:
		return ENOSPC;
	case WEFT_LABEL_RESERVED:
		return EPERM;
	case WEFT_LABEL_INVALID:
		return EINVAL;
	default:
		return ENOMEM;
	}
}

static struct weft_label for_weft(const struct weft_custom_labels_label *l)
{
	return (struct weft_label){
		.key = (const char *)l->key.buf,
		.key_bytes = l->key.bytes,
		.value = (const char *)l->value.buf,
		.value_bytes = l->value.bytes,
	};
}

static int weft_set_apply(struct weft_label *batch, size_t count)
{
	int result = current_update(batch, count);

	return result < 0 ? weft_set_error_of(result) : 0;
}

static int update(const struct weft_custom_labels_label *what, struct weft_label *batch,
		  size_t count)
{
	for (size_t i = 0; i < count; i++)
		batch[i] = for_weft(&what[i]);
	return weft_set_apply(batch, count);
}

/* Backwards, so that of equal keys the first one's old value comes last. */
static void undo(const struct weft_custom_labels_label *old, struct weft_label *batch, size_t count)
{
	while (count--)
		update(&old[count], batch, 1);
}

/* The present label of @key: a copy, or the key without a value. */
static int copy_of(struct weft_custom_labels_label *out, struct weft_custom_labels_string key)
{
	const struct weft_custom_labels_set *now = current_of_weft();
	const struct weft_custom_labels_label *found = now ? set_find(now, key) : NULL;

	*out = (struct weft_custom_labels_label){.key = key};
	return found ? label_make(out, found->key, found->value) : 0;
}

static int copies_of(struct weft_custom_labels_label *old,
		     const struct weft_custom_labels_label *what, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		int failed = what[i].key.bytes > WEFT_CUSTOM_LABELS_KEY_BYTES
				     ? ENAMETOOLONG
				     : copy_of(&old[i], what[i].key);

		if (failed) {
			labels_free(old, i);
			return failed;
		}
	}
	return 0;
}

static int customlabels_weft_set_exchange(struct weft_custom_labels_label *what,
					  struct weft_custom_labels_label *old,
					  struct weft_label *batch, size_t count)
{
	int failed = copies_of(old, what, count);

	if (failed)
		return failed;
	failed = update(what, batch, count);
	if (failed) {
		undo(old, batch, count);
		labels_free(old, count);
		return failed;
	}
	for (size_t i = 0; i < count; i++) {
		label_free(&what[i]);
		what[i] = old[i].value.buf ? old[i] : (struct weft_custom_labels_label){0};
	}
	return 0;
}

int weft_set_exchange(struct weft_custom_labels_label *what, size_t count)
{
	struct weft_custom_labels_label *old = calloc(count + 1, sizeof(*old));
	struct weft_label *batch = calloc(count + 1, sizeof(*batch));
	int failed =
		old && batch ? customlabels_weft_set_exchange(what, old, batch, count) : ENOMEM;

	free(old);
	free(batch);
	return failed;
}

/*
 * All keys were in weft's set at one time, so there is room for them. A longer key never was; weft
 * would mistake it for one that it truncates.
 */
int weft_set_put_back(const struct weft_custom_labels_label *what, size_t count)
{
	struct weft_label batch[WEFT_CUSTOM_LABELS_MOST];
	size_t keys = 0;

	for (size_t i = 0; i < count && keys < WEFT_CUSTOM_LABELS_MOST; i++)
		if (what[i].key.bytes <= WEFT_CUSTOM_LABELS_KEY_BYTES &&
		    !labels_find(what, i, what[i].key))
			batch[keys++] = for_weft(&what[i]);
	return weft_set_apply(batch, keys);
}
