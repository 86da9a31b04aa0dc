/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How libweft and libcustomlabels-weft.so find each other: the one that begins second looks up a
 * symbol of the first. Part of the binary interface between different versions of weft: fields are
 * appended, never changed.
 *
 *   libcustomlabels-weft.so exports weft_custom_labels_v1 (below)
 *   libweft exports weft_runtime_v1 with labels_join (copies.h)
 *
 * The second calls labels_join(), which calls meet(): then each has the other's functions.
 */
#ifndef WEFT_RUNTIME_CUSTOM_LABELS_H
#define WEFT_RUNTIME_CUSTOM_LABELS_H

#include <stdint.h>

#include <weft/abi/custom_labels_v1.h>

#define WEFT_CUSTOM_LABELS_V1_VERSION 1

struct weft_runtime_v1;

struct weft_custom_labels_v1 {
	uint32_t size; /* stored last, when the library has begun: 0 = not yet */
	uint32_t version;
	/* Distance of custom_labels_current_set from the thread pointer; 0 = it differs. */
	int64_t distance;
	/* Its address in the calling thread. Not in a handler: a first access may allocate. */
	struct weft_custom_labels_set **(*current)(void);
	/* Passes the runtime; of several, the last one counts. */
	void (*meet)(const struct weft_runtime_v1 *runtime);
};

/*
 * Every set that the library makes has a u64 before it, its generation: from a counter of the
 * process when it is made (so that no pair of address and generation comes twice), and changed with
 * every change. A set in custom_labels_current_set that is not in one of weft's slots belongs to
 * the program: weft does not write to it, and records its labels.
 */
extern struct weft_custom_labels_v1 weft_custom_labels_v1;

#endif
