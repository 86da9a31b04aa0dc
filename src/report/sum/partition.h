/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which keys divide the samples in nearly the same way. Every sample is a tuple: the number of
 * its row in each key's sums. Tuples that occur are counted, once each; from them any two keys
 * are compared afterwards. Memory grows with distinct tuples, as contexts do.
 */
#ifndef WEFT_REPORT_PARTITION_H
#define WEFT_REPORT_PARTITION_H

#include <stddef.h>
#include <stdint.h>

#define PARTITION_ALIKE 0.98 /* of the samples */

struct map;

struct partition {
	struct map *tuples; /* [width] numbers of rows -> samples that have them */
	size_t width;
};

/* @width keys. 0 or -ENOMEM; partition_free() is allowed after both. */
int partition_init(struct partition *p, size_t width);
void partition_free(struct partition *p);
/* @rows: of each key. 0 or -ENOMEM. */
int partition_add(struct partition *p, const uint32_t *rows, uint64_t samples);
/*
 * Does the row of one key tell that of the other, either way, for nearly all samples? 1, 0 or
 * -ENOMEM.
 */
int partition_alike(const struct partition *p, size_t a, size_t b);

#endif
