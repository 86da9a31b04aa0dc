/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sets of labels as numbers: equal sets have equal numbers, from 1 on, so that a context can be
 * compared by its bytes. What comes in is what a target wrote: label_bytes_are_sound() first.
 *
 * Sets are freed by mark and sweep: now and then all who hold numbers mark them, and the other sets
 * go (label_sets_sweep()); their numbers are used again. Used by the worker.
 */
#ifndef WEFT_COLLECTOR_LABEL_SETS_H
#define WEFT_COLLECTOR_LABEL_SETS_H

#include <stddef.h>
#include <stdint.h>
#include <weft/abi/custom_labels_v1.h>
#include <weft/abi/session.h>

#define LABEL_BYTES_MAX WEFT_SAMPLE_LABELS_BYTES

/* A label. Its texts hold no NUL; bytes that are no UTF-8 are left to the writer. */
struct label_item {
	const char *key, *value; /* terminated */
	uint32_t key_bytes, value_bytes;
	int column; /* of the file; < 0: none */
};

struct label_set {
	int has_columns;   /* the columns of its labels were looked up */
	uint32_t left_out; /* labels without a column */
	size_t count;
	struct label_item item[]; /* sorted by key; of equal keys the first alone */
};

struct label_sets;

struct label_sets *label_sets_new(void);
void label_sets_free(struct label_sets *s); /* takes NULL */

/* Are these whole labels (struct weft_sample_label), of lengths that the format allows? */
int label_bytes_are_sound(const uint8_t *labels, size_t bytes);

/* The number of a set; 0: it has no labels. -ENOMEM. */
int64_t label_sets_put(struct label_sets *s, const uint8_t *labels, size_t bytes);

/* NULL: no such set. Valid until the next sweep. */
struct label_set *label_sets_get(const struct label_sets *s, uint32_t number);

void label_sets_mark(struct label_sets *s, uint32_t number); /* 0 is ignored */
void label_sets_sweep(struct label_sets *s);                 /* frees what is not marked */

#endif
