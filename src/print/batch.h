/* SPDX-License-Identifier: Apache-2.0 */
/* Places of events, in the order in which they end; of equal ends, in that of the file. */
#ifndef WEFT_PRINT_BATCH_H
#define WEFT_PRINT_BATCH_H

#include <stddef.h>
#include <stdint.h>

struct batch_entry {
	int64_t end_ticks;
	uint64_t offset;
};

struct batch {
	struct batch_entry *entries;
	size_t count, room;
	int is_sorted; /* so far they came in order */
};

void batch_free(struct batch *b);
void batch_clear(struct batch *b);
int batch_add(struct batch *b, int64_t end_ticks, uint64_t offset); /* 0 or -ENOMEM */
void batch_sort(struct batch *b);

#endif
