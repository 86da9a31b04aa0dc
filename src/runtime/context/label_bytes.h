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

/* The encoded size of all labels. */
uint32_t weft_label_bytes(const struct weft_custom_labels_set *set);

/* Encodes as many labels as fit, in order. Returns the size; *left_out grows by those that do
 * not. */
uint32_t weft_label_bytes_put(const struct weft_custom_labels_set *set, uint8_t *to, uint32_t room,
			      uint32_t *left_out);

#endif
