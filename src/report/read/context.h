/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a thread's context said at a moment: values for the intervals of jfr/join/join.h.
 * Contextual events are put in with their values, in any order; then the index is sealed, then
 * samples ask.
 *
 * An interval holds when start <= time < end, as base/recording.h says for weft.Span; one
 * without duration holds at its start. Innermost first. Per key and event type the innermost
 * value wins; an outer interval of the same type lends the keys that the inner one lacks
 * only if it ends after it, so that neighbours that cross never mix.
 */
#ifndef WEFT_REPORT_CONTEXT_H
#define WEFT_REPORT_CONTEXT_H

#include "report/read/model.h"

struct context_index;

struct context_index *context_index_new(void);
void context_index_free(struct context_index *x);

/* @thread: any number that is the thread's; items are copied. 0 or -ENOMEM. */
int context_index_add(struct context_index *x, uint64_t thread, int64_t start_ns, int64_t end_ns,
		      const struct context_item *items, uint32_t count);
/* Once, after the last add and before the first ask. */
void context_index_seal(struct context_index *x);
/* Adds to @out (see context_add) what holds for @thread at @time_ns. */
void context_index_ask(const struct context_index *x, uint64_t thread, int64_t time_ns,
		       struct context *out);
/*
 * The intervals that hold, innermost first, by their numbers: 0 is the first that was added.
 * Returns how many were put into @out, at most @room.
 */
uint32_t context_index_holding(const struct context_index *x, uint64_t thread, int64_t time_ns,
			       uint32_t *out, uint32_t room);

#endif
