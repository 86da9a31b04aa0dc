/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table memfd (abi/module_map.h): unwind tables for all targets of a recording, one for
 * each distinct file. Made before the first target joins, filled by the walker thread alone.
 *
 * Only the mapping made here can write it: it is older than F_SEAL_FUTURE_WRITE. Where no
 * memfd, no seal or no address space can be had, bytes stays 0, and targets copy stacks.
 */
#ifndef WEFT_COLLECTOR_TABLES_H
#define WEFT_COLLECTOR_TABLES_H

#include "unwind/rules.h"

#include <weft/abi/module_map.h>

struct tables {
	int fd; /* -1: none */
	uint8_t *base;
	uint64_t bytes; /* of the memfd; 0: none */
	uint64_t used;
};

/* As large as the process's limits allow, up to @bytes_max. 0, or -errno: then there is none,
 * which every function here takes. */
int tables_open(struct tables *t, uint64_t bytes_max);
void tables_close(struct tables *t);

/* Copy a checked table in. Its offset, or WEFT_TABLE_PENDING when there is no room. */
uint64_t tables_add(struct tables *t, const struct unwind_table *table);

/* The table at an offset that tables_add() gave. */
const struct unwind_table *tables_at(const struct tables *t, uint64_t offset);

#endif
