/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sums of samples by one key. A sample counts once in the total of a row, even if recursion has put
 * the row's id on its stack several times, and once in the self of the row of its leaf. Of a key of
 * which a sample has one id, self and total are the same.
 */
#ifndef WEFT_REPORT_AGGREGATE_H
#define WEFT_REPORT_AGGREGATE_H

#include "report/read/key.h"

struct row {
	uint32_t id; /* of the key */
	struct weight weight;
	/* Context items that all its samples have; only of keys of which a sample has one id. */
	struct context_item *common;
	uint32_t common_count;
};

struct aggregate {
	struct key key;
	struct row *rows;
	uint32_t count;
	size_t room;
	uint32_t *row_of; /* [ids], by id: index + 1 in rows; 0 = none yet */
	size_t ids;
	uint64_t events;
	uint32_t last; /* index of the row of the last sample, if a sample has one id */
};

void aggregate_init(struct aggregate *a, const struct key *key); /* @key is bound */
void aggregate_free(struct aggregate *a);
/* 0 or -ENOMEM. */
int aggregate_add(struct aggregate *a, struct model *m, const struct sample *s);
/* Heaviest first: by self, then by total, equal ones by name. No sample may follow. */
void aggregate_sort(struct aggregate *a, const struct model *m);

#endif
