/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When to look at a thread, and how many samples a look is worth that finds it blocked: arithmetic
 * without a clock and without memory of its own.
 *
 *   When      Time is cut into cells of one period, from when the thread was first seen. In each
 *             there is one look, at a time that is uniform over the cell and independent of all
 *             others (a hash of seed and cell). So every moment is looked at with the same
 *             probability, and no work can fall in with the looks.
 *   Worth     A look stands for its cell: one sample if it finds the thread blocked, none if not.
 *             That has no bias, however short a wait is, because it does not ask for what was
 *             before: a wait behind CPU work is worth what any other is. (To weigh a look by the
 *             blocked time since the one before would starve just those.) A cell that nobody looked
 *             in, because the run count says that the thread has not moved, is as sure as one with
 *             a look: so all of a long wait but its ends is exact.
 *   The sum   The kernel says exactly how long it was blocked. What samples lack of that, or have
 *             too much, is their debt. A @DEBT_SHARE-th of it is added to each look, rounded at
 *             random: slowly, so that it is no longer about the wait that it came from; and of
 *             the mean of the debts before and after the cell, for the one alone knows this wait,
 *             the other one what it is not, by as much.
 */
#ifndef WEFT_COLLECTOR_WALL_BOOKS_H
#define WEFT_COLLECTOR_WALL_BOOKS_H

#include <stdint.h>

struct wall_books {
	uint64_t start_ns, period_ns, seed;
	uint64_t cell;      /* the first whose look is not over */
	uint64_t told;      /* samples */
	int64_t blocked_ns; /* since start_ns, by the kernel's clocks, up to the last look */
	int64_t debt_ns;    /* at the end of the cell in which it was last found blocked */
};

void wall_books_begin(struct wall_books *b, uint64_t start_ns, uint64_t period_ns, uint64_t seed);

/* The time of the next look. */
uint64_t wall_books_due(const struct wall_books *b);

/* How many cells' looks are over by @now_ns since this was asked last. */
uint64_t wall_books_pass(struct wall_books *b, uint64_t now_ns);

/*
 * It is blocked at @now_ns, up to which blocked_ns is known if @is_known: how many samples that is
 * worth, which stands for @cells of those that are over. They count as told.
 */
uint64_t wall_books_weigh(struct wall_books *b, uint64_t cells, uint64_t now_ns, int is_known);

/* Of @cells without a look, in a gap of @gap_ns of which it was blocked for @blocked_ns: in how
 * many? */
uint64_t wall_books_part(const struct wall_books *b, uint64_t cells, uint64_t gap_ns,
			 int64_t blocked_ns);

#endif
