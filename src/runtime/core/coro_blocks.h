/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Label blocks of coroutines: a store (label_store.h) with its two sets, room for what scopes save,
 * and a record of OpenTelemetry's. Allocated at a coroutine's first label, freed at its end.
 *
 * Blocks lie in a few areas that are mapped as they are needed, each twice as large as the one
 * before, and never unmapped: a reader outside finds memory where a block was, and the generations
 * of a block's labels only grow, whichever coroutine it belongs to.
 */
#ifndef WEFT_RUNTIME_CORO_BLOCKS_H
#define WEFT_RUNTIME_CORO_BLOCKS_H

#include <stdint.h>

struct weft_label_store;

#pragma GCC visibility push(hidden)
/* A store without labels; NULL: no memory. Not in handlers: it may make a system call. */
struct weft_label_store *weft_block_alloc(void);
void weft_block_free(struct weft_label_store *store);

/* The block that @address lies in; 0: none. In handlers, too. */
uint64_t weft_block_of(uint64_t address);

#pragma GCC visibility pop

#endif
