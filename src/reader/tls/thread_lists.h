/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process's threads by the lists that its libc keeps, read without stopping anybody: glibc's
 * by what it exports for debuggers, musl's ring of threads by what each of them looks like.
 */
#ifndef WEFT_READER_THREAD_LISTS_H
#define WEFT_READER_THREAD_LISTS_H

#include "reader/target/target.h"

/*
 * The pointer of thread @tid, a number as the process itself has it. 0; -ENOTSUP: no list to be
 * found, or it is in none.
 */
int thread_lists_find(struct target *t, int32_t tid, uint64_t *pointer);

/* Any thread of musl's ring is enough to find all others: @pointer is one. 0 or -ENOTSUP. */
int thread_ring_walk(struct target *t, uint64_t pointer);

#endif
