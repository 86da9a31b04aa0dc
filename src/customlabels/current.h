/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libcustomlabels-weft.so: the Custom Labels interface for programs, whose two symbols outside
 * readers look for in a library of this name. Sets are this library's own; if libweft.so is in the
 * process, labels are part of its contexts.
 *
 * Runs on the thread that calls. A set changes only where no reader sees it; a reader that stops
 * the thread between any two instructions finds a whole one.
 *
 *   api.c       the public functions
 *   set.c       sets: made, changed, freed
 *   places.c    where they lie, and which are ours
 *   current.c   the two symbols readers find
 *   weft_set.c  changes of weft's own set
 *
 * This header: the thread's current set, and weft's runtime if it is in the process.
 * runtime/core/custom_labels.h describes how the two find each other.
 */
#ifndef WEFT_CUSTOMLABELS_CURRENT_H
#define WEFT_CUSTOMLABELS_CURRENT_H

#include <stddef.h>

#include <weft/abi/custom_labels_v1.h>

/* The address of custom_labels_current_set in the calling thread. */
struct weft_custom_labels_set **current_place(void);

/* Is @set one of weft's? Any of them stands for the calling thread's. */
int current_is_weft(const struct weft_custom_labels_set *set);

/* weft's visible set of the calling thread; NULL: none yet. */
struct weft_custom_labels_set *current_of_weft(void);

/* Makes @set current; NULL: none. */
void current_put(struct weft_custom_labels_set *set);

struct weft_label;

/* Labels of the calling thread, by weft's writer (weft_context_update()). */
int current_update(struct weft_label *labels, size_t count);

/*
 * set_exchange() for weft's set (weft_set.c). Also EPERM (span-id, root-span-id), ENOSPC (all
 * labels are in use), ENAMETOOLONG.
 */
int weft_set_exchange(struct weft_custom_labels_label *what, size_t count);

/*
 * Restores what weft_set_exchange() left in @what; of equal keys the first counts, and keys without
 * a value are removed. Does not allocate.
 */
int weft_set_put_back(const struct weft_custom_labels_label *what, size_t count);

#endif
