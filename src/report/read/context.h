/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which context a thread had at a moment: the intervals of jfr/join/join.h, with their values.
 * Contextual events are added in any order, then the index is sealed, then it can be asked.
 *
 * An interval holds when start <= time < end, as base/recording.h says for weft.Span; one
 * without duration holds at its start. For each key and event type the value of the innermost
 * interval counts. An outer interval of the same type adds the keys that the inner one lacks, but
 * only if it ends after it: intervals that cross are no parts of each other.
 */
#ifndef WEFT_REPORT_CONTEXT_H
#define WEFT_REPORT_CONTEXT_H

#include "jfr/join/join.h"
#include "report/read/model.h"

struct context_index {        /* starts as zeros */
	struct join join;     /* an interval's payload is its number */
	uint32_t *first_item; /* of each number, in items */
	size_t first_room;
	struct context_item *items;
	uint32_t item_count;
	size_t item_room;
};

void context_index_free(struct context_index *x);

/* @thread: any number that stands for the thread; items are copied. 0 or -ENOMEM. */
int context_index_add(struct context_index *x, uint64_t thread, int64_t start_ns, int64_t end_ns,
		      const struct context_item *items, uint32_t count);
/* Once, after the last add and before the first ask. */
void context_index_seal(struct context_index *x);
/* Adds to @out, by context_add(), the values that hold for @thread at @time_ns. */
void context_index_ask(const struct context_index *x, uint64_t thread, int64_t time_ns,
		       struct context *out);
/*
 * The intervals that hold, innermost first, by their numbers: 0 is the first that was added.
 * Returns how many were put into @out, at most @room.
 */
uint32_t context_index_holding(const struct context_index *x, uint64_t thread, int64_t time_ns,
			       uint32_t *out, uint32_t room);

#endif
