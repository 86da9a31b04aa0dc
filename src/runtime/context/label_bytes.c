/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Labels as the records of a session encode them (struct weft_sample_label).
 *
 * A set may be a program's own that libcustomlabels-weft.so has made (never another): its counts
 * and lengths are cut to what a record may hold; its pointers are trusted, as the program trusts
 * them.
 */
#include "runtime/context/labels.h"

#include <string.h>

#define HEAD_BYTES ((uint32_t)sizeof(struct weft_sample_label))

static uint32_t label_bytes_cut(uint64_t bytes, uint32_t most)
{
	return bytes < most ? (uint32_t)bytes : most;
}

/* The encoded size of a label, and its lengths; 0: no label. */
static uint32_t lengths_of(const struct weft_custom_labels_label *label,
			   struct weft_sample_label *out)
{
	if (!label->key.buf || !label->key.bytes ||
	    weft_label_is_reserved(label->key.buf, label->key.bytes))
		return 0;
	out->key_bytes = (uint16_t)label_bytes_cut(label->key.bytes, WEFT_CUSTOM_LABELS_KEY_BYTES);
	out->value_bytes = 0;
	if (label->value.buf)
		out->value_bytes = (uint16_t)label_bytes_cut(label->value.bytes,
							     WEFT_CUSTOM_LABELS_VALUE_BYTES);
	return HEAD_BYTES + out->key_bytes + out->value_bytes;
}

static uint32_t label_bytes_count_of(const struct weft_custom_labels_set *set)
{
	return set->storage ? label_bytes_cut(set->count, WEFT_SAMPLE_LABELS_MAX) : 0;
}

uint32_t weft_label_room(const struct weft_custom_labels_set *set, uint32_t most)
{
	struct weft_sample_label lengths;
	uint32_t bytes = 0;

	for (uint32_t i = 0; i < label_bytes_count_of(set); i++)
		bytes += lengths_of(&set->storage[i], &lengths);
	bytes = (bytes + 7) & ~7u;
	return bytes < most ? bytes : most;
}

uint32_t weft_label_bytes_put(const struct weft_custom_labels_set *set, uint8_t *to, uint32_t room,
			      uint32_t *left_out)
{
	struct weft_sample_label lengths;
	uint32_t used = 0;

	for (uint32_t i = 0; i < label_bytes_count_of(set); i++) {
		const struct weft_custom_labels_label *label = &set->storage[i];
		uint32_t bytes = lengths_of(label, &lengths);

		if (used + bytes > room || *left_out) {
			*left_out += bytes != 0;
			continue;
		}
		if (!bytes)
			continue;
		memcpy(to + used, &lengths, HEAD_BYTES);
		memcpy(to + used + HEAD_BYTES, label->key.buf, lengths.key_bytes);
		memcpy(to + used + HEAD_BYTES + lengths.key_bytes,
		       lengths.value_bytes ? label->value.buf : label->key.buf,
		       lengths.value_bytes);
		used += bytes;
	}
	for (uint32_t at = used; at & 7; at++)
		to[at] = 0;
	return used;
}
