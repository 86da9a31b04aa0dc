/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which contextual events hold for a thread at a moment: the one answer to that in the tree.
 *
 *   join.c        intervals of threads, and which of them hold
 *   chunk_ends.c  when the events of each chunk end: how long an interval may still be asked for
 *
 * What the three users need of it:
 *
 *   report  the values of those that hold at a sample's time, the innermost first. The contexts of
 *           the whole file are added in a first reading; samples ask in any order.
 *   print   all that are open when another event ends, to write them around it.
 *   merge   whether any is open when an event ends (select=if-context).
 *
 * The latter two go chunk by chunk and keep no more than a chunk's intervals and those that reach
 * out of their chunk: see chunk_ends.h. What select=if-triggered asks is none of this: whether
 * another event was *kept* since the event began depends on what was decided of the earlier ones.
 * Nor is what each does with the answer: report lends fields from outer to inner ones, print keeps
 * texts.
 *
 * An interval holds from its start to its last nanosecond, both included. Of two that hold the
 * inner one is that which started later, of equal starts that which ends first, of equals that
 * of the greater order. They may come in any order, nest, and cross.
 *
 * Protocol: zeros, join_add() for each, join_seal(), then any questions; more may be added and
 * sealed. No thread of its own. A question costs a binary search and the depth of nesting.
 */
#ifndef WEFT_JFR_JOIN_H
#define WEFT_JFR_JOIN_H

#include <weft/jfr.h>

#include <stddef.h>
#include <stdint.h>

struct join_interval {
	uint64_t thread; /* any number that is the thread's; not 0 */
	int64_t start_ns, last_ns;
	uint64_t order;   /* of equal intervals the one of the greater order is the inner one */
	uint32_t payload; /* the user's */
	uint32_t outer;   /* the nearest before it that ends later; join_seal() sets it */
};

struct join { /* starts as zeros */
	struct join_interval *intervals;
	uint32_t count, sealed;
	size_t room;
};

/* The last nanosecond of an event that ends before @end_ns; one without duration has its start. */
static inline int64_t join_last_ns(int64_t start_ns, int64_t end_ns)
{
	return end_ns > start_ns ? end_ns - 1 : start_ns;
}

/* For sorting by times. */
static inline int join_compare(int64_t a, int64_t b)
{
	return (a > b) - (a < b);
}

void join_free(struct join *x);
/* 0 or -ENOMEM. */
int join_add(struct join *x, const struct join_interval *interval);
/* After adding, before asking. Moves the intervals. */
void join_seal(struct join *x);
/* Of a sealed one: drops what ended before @from_ns. It is still sealed. */
void join_forget(struct join *x, int64_t from_ns);
/* The innermost that holds; NULL: none does. */
const struct join_interval *join_innermost(const struct join *x, uint64_t thread, int64_t time_ns);
/* The next one around @inner, which holds at @time_ns, that does too; NULL: there is no more. */
const struct join_interval *join_outer(const struct join *x, const struct join_interval *inner,
				       int64_t time_ns);

/* Is anything in the type contextual: the type itself, or a field? */
int join_is_contextual(const struct weft_jfr_class *c);

#endif
