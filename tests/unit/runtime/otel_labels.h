/* SPDX-License-Identifier: Apache-2.0 */
/* A label set made by hand in a thread's own slot, where its store is. */
#ifndef TESTS_UNIT_RUNTIME_OTEL_LABELS_H
#define TESTS_UNIT_RUNTIME_OTEL_LABELS_H

#include <string.h>

#include <weft/abi/custom_labels_v1.h>
#include <weft/context.h>

struct hand_made {
	struct weft_custom_labels_set set;
	struct weft_custom_labels_label labels[WEFT_CUSTOM_LABELS_MOST];
};

static inline struct hand_made *hand_made(struct weft_slot *slot)
{
	struct hand_made *h = (struct hand_made *)(void *)slot->labels;

	memset(h, 0, sizeof(*h));
	h->set.storage = h->labels;
	h->set.count = WEFT_CUSTOM_LABELS_RESERVED;
	h->labels[0].key.buf = (const unsigned char *)WEFT_CUSTOM_LABELS_SPAN_KEY;
	h->labels[0].key.bytes = sizeof(WEFT_CUSTOM_LABELS_SPAN_KEY) - 1;
	h->labels[0].value.buf = (const unsigned char *)"1";
	h->labels[0].value.bytes = 1;
	slot->ext.label_set = (uint64_t)(uintptr_t)h;
	return h;
}

/* Strings are not copied. */
static inline void hand_made_bytes(struct hand_made *h, const char *key, const void *value,
				   size_t bytes)
{
	struct weft_custom_labels_label *l = &h->labels[h->set.count++];

	l->key.buf = (const unsigned char *)key;
	l->key.bytes = key ? strlen(key) : 0;
	l->value.buf = value;
	l->value.bytes = bytes;
}

static inline void hand_made_label(struct hand_made *h, const char *key, const char *value)
{
	hand_made_bytes(h, key, value, strlen(value));
}

#endif
