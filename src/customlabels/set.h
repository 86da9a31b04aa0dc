/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A label set of the program's own. What readers see of it (weft/abi/custom_labels_v1.h) keeps its
 * place, for the program has the pointer; its labels stand in one of two arrays:
 *
 *   set       hidden ---> array, all zeros     Invariants between changes: `seen.count` labels in
 *             generation                       the visible array, none absent, no key twice; what
 *             seen      ---> array             is behind them in either array is zeros.
 *
 * Sets lie in memory that stays (places.c), so that weft's handler, which finds a pointer to any
 * set in a thread, can tell those that are ours without looking at what it leads to: no other set
 * has a generation. A set that was freed has no labels.
 *
 * Writer: one thread at a time. A change builds the hidden array and then stores the pointer:
 * that is the one instruction at which readers see it. The count moves before it when it grows
 * and after it when it shrinks: the labels in between have no key, and readers skip them. The
 * generation moves after it: who finds the old one has the labels from before, or misses the
 * change by an instruction.
 * Readers: stop the thread, or are a handler on it, or read twice until equal.
 */
#ifndef WEFT_CUSTOMLABELS_SET_H
#define WEFT_CUSTOMLABELS_SET_H

#include <stddef.h>
#include <stdint.h>

#include <weft/abi/custom_labels_v1.h>

struct set {
	/* both, as malloc returned them; NULL if capacity is 0 */
	struct weft_custom_labels_label *arrays;
	struct weft_custom_labels_label *hidden;
	uint32_t is_live; /* between set_new() and set_free() */
	uint32_t next;    /* places.c: of a place that is free */
	uint64_t generation;
	struct weft_custom_labels_set seen;
};
_Static_assert(offsetof(struct set, seen) == offsetof(struct set, generation) + 8,
	       "a generation stands before each set");

static inline struct set *set_of(const struct weft_custom_labels_set *seen)
{
	return (struct set *)((uintptr_t)seen - offsetof(struct set, seen));
}

/*
 * A label in one allocation, at key.buf. A label without a value (value.buf NULL) owns no memory;
 * its key, if any, belongs to somebody else.
 */
int label_make(struct weft_custom_labels_label *out, struct weft_custom_labels_string key,
	       struct weft_custom_labels_string value);
void label_free(struct weft_custom_labels_label *label);
void labels_free(struct weft_custom_labels_label *labels, size_t count);
/* The first one with the key; or NULL. */
struct weft_custom_labels_label *labels_find(const struct weft_custom_labels_label *labels,
					     uint64_t count, struct weft_custom_labels_string key);

struct set *set_new(size_t capacity);
void set_free(struct set *s);

/* 1: the set was made by set_new() and is not freed. In handlers, too, for any pointer. */
int set_is_ours(const struct weft_custom_labels_set *seen);

/* places.c: a place for a set, all zeros but for what is of that file; NULL: no memory. */
struct set *place_take(void);
void place_give_back(struct set *s);

/* The first label with the key, in any set, weft's too; or NULL. */
const struct weft_custom_labels_label *set_find(const struct weft_custom_labels_set *seen,
						struct weft_custom_labels_string key);

/*
 * Exchanges each of @what, in order, for the set's label with its key: a label made by label_make()
 * becomes the set's; one without a value removes the set's. Afterwards @what holds the set's old
 * labels, which are the caller's; absent ones have neither value nor key. Readers see all changes
 * at once. 0, or ENOMEM: nothing has changed.
 */
int set_exchange(struct set *s, struct weft_custom_labels_label *what, size_t count);

#endif
