/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A label set encoded for a record of a session: a sample, or a coroutine's switch. Called by the
 * thread whose set it is, and by its handlers.
 */
#ifndef WEFT_RUNTIME_LABEL_BYTES_H
#define WEFT_RUNTIME_LABEL_BYTES_H

#include <stdint.h>

#include <weft/abi/custom_labels_v1.h>
#include <weft/abi/session.h>

/* Labels 0 and 1, whose values are the ids. */
static inline int weft_label_is_reserved(const void *key, uint64_t bytes)
{
	return (bytes == sizeof(WEFT_CUSTOM_LABELS_SPAN_KEY) - 1 &&
		!__builtin_memcmp(key, WEFT_CUSTOM_LABELS_SPAN_KEY, bytes)) ||
	       (bytes == sizeof(WEFT_CUSTOM_LABELS_ROOT_KEY) - 1 &&
		!__builtin_memcmp(key, WEFT_CUSTOM_LABELS_ROOT_KEY, bytes));
}

/* The encoded size of all labels. */
uint32_t weft_label_bytes(const struct weft_custom_labels_set *set);

/* Encodes as many labels as fit, in order. Returns the size; *left_out grows by those that do
 * not. */
uint32_t weft_label_bytes_put(const struct weft_custom_labels_set *set, uint8_t *to, uint32_t room,
			      uint32_t *left_out);

#endif
