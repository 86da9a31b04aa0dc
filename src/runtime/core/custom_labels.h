/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How libweft and libcustomlabels-weft.so meet: whichever begins second finds the other by a
 * symbol. Part of the binary interface between different versions of weft: fields are appended,
 * never changed.
 *
 *   libcustomlabels-weft.so exports weft_custom_labels_v1 (below)
 *   libweft exports weft_runtime_v1 with labels_join (copies.h)
 *
 * Who begins second calls labels_join(), which calls meet(): then each has the other's functions.
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
	/* custom_labels_current_set from the thread pointer, the same in all threads; 0 = it
	 * differs */
	int64_t distance;
	/* Where it is in the calling thread. Not in a handler: a first touch may take memory. */
	struct weft_custom_labels_set **(*current)(void);
	/* Here is the runtime: of several, the one called with last. */
	void (*meet)(const struct weft_runtime_v1 *runtime);
};

/*
 * Every set that the library makes has a u64 before it, its generation: from a counter of the
 * process when it is made (so that no address and generation come twice), and changed with
 * every change. A set in custom_labels_current_set that is not weft's own slot's belongs to the
 * program: weft does not write there, and records its labels.
 */
extern struct weft_custom_labels_v1 weft_custom_labels_v1;

#endif
