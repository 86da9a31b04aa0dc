/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The thread that owns the output: harvesting hands it batches and never waits for a disk. What
 * finds the queue full is refused, and the engine counts it as lost.
 */
#ifndef WEFT_CORO_WRITER_H
#define WEFT_CORO_WRITER_H

#include "coro/engine/harvest.h"
#include "coro/engine/trace.h"

struct writer;

/* Takes over @sink, which is open. Of one that is live, @written is told on the thread how many
 * events are in the output. */
int writer_open(struct writer **out, struct coro_sink *sink,
		void (*written)(void *arg, uint64_t events), void *arg);
/* 0: the batch's events are the writer's and the batch is empty; -EAGAIN: no room; -errno: of the
 * output. */
int writer_give(struct writer *w, struct coro_batch *batch);
/* Writes all that is queued; or less, when the output takes nothing and @is_enough says to wait no
 * more: asked now and then, NULL never does. How many events are in the output. */
uint64_t writer_drain(struct writer *w, int (*is_enough)(void *arg), void *arg);
/* After draining: the trace's end. 0 or -errno of the first failure. */
int writer_finish(struct writer *w, const struct coro_books *books);
const char *writer_why(const struct writer *w); /* or NULL */
void writer_free(struct writer *w);

#endif
