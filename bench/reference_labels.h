/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The yardstick of the label bench: how the Custom Labels reference library changes a label set,
 * written anew from the description of its "careful" functions. Each string is an allocation of
 * its own; a set is edited where it stands, in an order that a stopped thread may be read in at
 * any instruction (compiler barriers alone):
 *
 *   set     the new label goes behind the last; then the old one of that key is deleted
 *   delete  the last label: count goes down. Another: key = NULL, the last one's value and key
 *           length are moved there, then its key; then count goes down
 *   grow    a new array, copied, then the pointer to it
 *
 * Duplicates: the first counts. Nothing of weft is used here.
 */
#ifndef BENCH_REFERENCE_LABELS_H
#define BENCH_REFERENCE_LABELS_H

#include <stddef.h>

struct reference_string {
	size_t len;
	unsigned char *buf;
};

struct reference_label {
	struct reference_string key, value;
};

struct reference_set {
	struct reference_label *storage;
	size_t count, capacity;
};

struct reference_set *reference_new(size_t capacity);
void reference_free(struct reference_set *set);
/* 0, or -ENOMEM: then nothing has changed. */
int reference_set(struct reference_set *set, struct reference_string key,
		  struct reference_string value);
void reference_delete(struct reference_set *set, struct reference_string key);
const struct reference_label *reference_get(const struct reference_set *set,
					    struct reference_string key);

#endif
