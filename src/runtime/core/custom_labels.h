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

#include <stddef.h>
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
	/* 1: the library has made @set, which is not freed. Looks at nothing that @set leads to if
	 * it is another's. In handlers, too. */
	int (*is_set)(const struct weft_custom_labels_set *set);
};
/* What the first version had. */
#define WEFT_CUSTOM_LABELS_V1_BYTES offsetof(struct weft_custom_labels_v1, is_set)

/*
 * Every set that the library makes has a u64 before it, its generation: from a counter of the
 * process when it is made (so that no pair of address and generation comes twice), and changed with
 * every change. A set in custom_labels_current_set that is not in one of weft's slots belongs to
 * the program, and weft does not write to it. Its labels are recorded if the library has made it.
 * Of any other set nothing is known but what its own maker promises a reader who stops the thread:
 * weft's handlers look at nothing there.
 */
extern struct weft_custom_labels_v1 weft_custom_labels_v1;

#endif
