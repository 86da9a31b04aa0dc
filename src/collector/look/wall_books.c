/* SPDX-License-Identifier: Apache-2.0 */
/* When to look, and what a look is worth: see wall_books.h. */
#include "collector/look/wall_books.h"

#include "base/hash.h"

#define DEBT_SHARE 8
#define FRACTION 65536 /* of a sample */

enum purpose { FOR_TIME = 1, FOR_WEIGHT, FOR_PART };

/* Uniform in [0, @below), the same for the same cell. */
static uint64_t chance(const struct wall_books *b, uint64_t cell, enum purpose what, uint64_t below)
{
	return (hash_mix(hash_mix(b->seed ^ cell) + what) >> 16) % below;
}

static uint64_t look_ns(const struct wall_books *b, uint64_t cell)
{
	return b->start_ns + cell * b->period_ns + chance(b, cell, FOR_TIME, b->period_ns);
}

void wall_books_begin(struct wall_books *b, uint64_t start_ns, uint64_t period_ns, uint64_t seed)
{
	*b = (struct wall_books){
		.start_ns = start_ns, .period_ns = period_ns, .seed = hash_mix(seed)};
}

uint64_t wall_books_due(const struct wall_books *b)
{
	return look_ns(b, b->cell);
}

uint64_t wall_books_pass(struct wall_books *b, uint64_t now_ns)
{
	uint64_t before = b->cell, cell;

	if (now_ns < look_ns(b, b->cell))
		return 0;
	cell = (now_ns - b->start_ns) / b->period_ns;
	b->cell = cell + (look_ns(b, cell) <= now_ns);
	return b->cell - before;
}

/* @parts of FRACTION as a whole number, the rest by chance. */
static int64_t rounded(const struct wall_books *b, int64_t parts, enum purpose what)
{
	int64_t whole = parts / FRACTION, rest = parts % FRACTION;
	int64_t limit = (int64_t)chance(b, b->cell, what, FRACTION);

	if (rest < 0)
		return whole - (limit < -rest);
	return whole + (limit < rest);
}

/* As if it stayed blocked up to the end of the newest cell that is over. */
static int64_t debt_of(const struct wall_books *b, uint64_t now_ns)
{
	int64_t end_ns = (int64_t)(b->start_ns + b->cell * b->period_ns);

	return b->blocked_ns + (end_ns - (int64_t)now_ns) - (int64_t)(b->told * b->period_ns);
}

uint64_t wall_books_weigh(struct wall_books *b, uint64_t cells, uint64_t now_ns, int is_known)
{
	int64_t period_ns = (int64_t)b->period_ns, more = 0, middle_ns;

	b->told += cells;
	if (!cells || !is_known)
		return cells;
	middle_ns = (debt_of(b, now_ns) + b->debt_ns) / 2;
	if (middle_ns >= period_ns / 2 || middle_ns <= -period_ns / 2)
		more = rounded(b, middle_ns / DEBT_SHARE * FRACTION / period_ns, FOR_WEIGHT);
	if (more < -(int64_t)cells)
		more = -(int64_t)cells;
	b->told += (uint64_t)more;
	b->debt_ns = debt_of(b, now_ns);
	return cells + (uint64_t)more;
}

uint64_t wall_books_part(const struct wall_books *b, uint64_t cells, uint64_t gap_ns,
			 int64_t blocked_ns)
{
	if (blocked_ns <= 0 || !gap_ns)
		return 0;
	if ((uint64_t)blocked_ns >= gap_ns)
		return cells;
	return (uint64_t)rounded(
		b, (int64_t)((double)cells * FRACTION * (double)blocked_ns / (double)gap_ns),
		FOR_PART);
}
