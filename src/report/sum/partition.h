/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which keys divide the samples in nearly the same way. A sample is a tuple: its row's index in the
 * sums of each key. Samples are summed by tuple; from these sums any two keys can be compared.
 * Memory grows with the distinct tuples, as it does with contexts.
 */
#ifndef WEFT_REPORT_PARTITION_H
#define WEFT_REPORT_PARTITION_H

#include <stddef.h>
#include <stdint.h>

#define PARTITION_ALIKE 0.98 /* of the samples have to agree */

struct map;

struct partition {
	struct map *tuples; /* [width] numbers of rows -> samples that have them */
	size_t width;
};

/* @width keys. 0 or -ENOMEM; partition_free() is allowed after both. */
int partition_init(struct partition *p, size_t width);
void partition_free(struct partition *p);
/* @rows: the sample's row for each key. 0 or -ENOMEM. */
int partition_add(struct partition *p, const uint32_t *rows, uint64_t samples);
/*
 * Do nearly all samples with the same row of one key have the same row of the other, and the other
 * way round? 1, 0 or -ENOMEM.
 */
int partition_alike(const struct partition *p, size_t a, size_t b);

#endif
