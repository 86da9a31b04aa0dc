/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A label set as the bytes that a record of a session tells it by: of a sample, or of a
 * coroutine's switch. For the thread that has the set, and its handlers.
 */
#ifndef WEFT_RUNTIME_LABEL_BYTES_H
#define WEFT_RUNTIME_LABEL_BYTES_H

#include <stdint.h>

#include <weft/abi/custom_labels_v1.h>
#include <weft/abi/session.h>

/* How many bytes all of it would take. */
uint32_t weft_label_bytes(const struct weft_custom_labels_set *set);

/* As many labels as fit, in order, to @to. Returns how many bytes; *left_out grows by how many
 * labels did not fit. */
uint32_t weft_label_bytes_put(const struct weft_custom_labels_set *set, uint8_t *to, uint32_t room,
			      uint32_t *left_out);

#endif
