/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory given back all at once: many small pieces, one free. What was handed out stays
 * where it is. With a limit hostile input exhausts its own allowance, not the machine's memory.
 */
#ifndef WEFT_JFR_ARENA_H
#define WEFT_JFR_ARENA_H

#include <stddef.h>

struct arena_block;

struct arena {
	struct arena_block *block; /* newest first */
	size_t used;               /* bytes of the newest block handed out */
	size_t total;              /* bytes of all blocks */
	size_t limit;              /* of total; 0 = none */
};

void *arena_alloc(struct arena *a, size_t bytes); /* 16-aligned, not zeroed; NULL: no memory */
void *arena_zalloc(struct arena *a, size_t bytes);
char *arena_text(struct arena *a, const char *data, size_t bytes); /* copy, NUL-terminated */
void arena_reset(struct arena *a);                                 /* keeps one block */
void arena_free(struct arena *a);

#endif
