/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Batches that wait for names: those of processes that tell of their code later than it
 * runs (jit_is_late()). In the order in which they came; released when the process or
 * the chunk ends, or when they become too many. Used by the walker thread.
 */
#ifndef WEFT_COLLECTOR_HELD_H
#define WEFT_COLLECTOR_HELD_H

#include "collector/process/queue.h"

#define HELD_BYTES_MAX ((size_t)64 << 20)

struct held {
	struct batch *first, *last;
	size_t bytes;
};

/* Takes @b over. */
void held_put(struct held *h, struct batch *b);

/* The next batch of @process, of any if it is NULL; the caller frees it. NULL: none left. */
struct batch *held_take(struct held *h, const struct process *process);

#endif
