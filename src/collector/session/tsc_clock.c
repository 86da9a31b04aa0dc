/* SPDX-License-Identifier: Apache-2.0 */
/* Ticks of the TSC as CLOCK_MONOTONIC: see tsc_clock.h. */
#include "collector/session/tsc_clock.h"

#include "base/array.h"

#include <errno.h>

#define LOOK_NS UINT64_C(1000000000)
#define RATE_NS UINT64_C(1000000000) /* over which the newest rate is measured */

/* Keeps every second one of the older half: what is far back needs fewer. */
static void thin_out(struct tsc_clock *c)
{
	size_t half = c->count / 2, kept = 0;

	for (size_t i = 0; i < c->count; i++)
		if (i >= half || i % 2 == 0)
			c->anchor[kept++] = c->anchor[i];
	c->count = kept;
}

void tsc_clock_add(struct tsc_clock *c, const struct tsc_anchor *a)
{
	const struct tsc_anchor *newest = c->count ? &c->anchor[c->count - 1] : NULL;

	if (newest && (a->tsc <= newest->tsc || a->mono_ns <= newest->mono_ns))
		return;
	if (c->count == TSC_ANCHORS_MAX)
		thin_out(c);
	c->anchor[c->count++] = *a;
}

void tsc_clock_tick(struct tsc_clock *c, uint64_t now_ns)
{
	struct tsc_anchor anchor;

	if (!c->looked_ns || now_ns - c->looked_ns >= LOOK_NS) {
		c->looked_ns = now_ns;
		c->is_usable = tsc_is_the_clock();
	}
	if (c->is_usable && tsc_anchor_take(&anchor) == 0)
		tsc_clock_add(c, &anchor);
}

uint64_t tsc_clock_hz(const struct tsc_clock *c)
{
	const struct tsc_anchor *last;
	__extension__ unsigned __int128 ticks;

	if (c->count < 2)
		return 0;
	last = &c->anchor[c->count - 1];
	ticks = last->tsc - c->anchor[0].tsc;
	return (uint64_t)(ticks * 1000000000u / (last->mono_ns - c->anchor[0].mono_ns));
}

/* On the line through two anchors. Where it leaves the clock's range, the end of that. */
static uint64_t on_line(const struct tsc_anchor *a, const struct tsc_anchor *b, uint64_t tsc)
{
	__extension__ typedef unsigned __int128 wide;
	uint64_t ticks = b->tsc - a->tsc, ns = b->mono_ns - a->mono_ns;
	wide away = tsc >= a->tsc ? tsc - a->tsc : a->tsc - tsc;
	wide moved = away * ns / ticks;

	if (tsc >= a->tsc)
		return moved > UINT64_MAX - a->mono_ns ? UINT64_MAX : a->mono_ns + (uint64_t)moved;
	return moved > a->mono_ns ? 0 : a->mono_ns - (uint64_t)moved;
}

/* Between two neighbours, which may lie near, their errors would make the rate wrong. */
static const struct tsc_anchor *some_time_before(const struct tsc_clock *c)
{
	size_t i = c->count - 1;

	while (i > 0 && c->anchor[c->count - 1].mono_ns - c->anchor[i].mono_ns < RATE_NS)
		i--;
	return &c->anchor[i];
}

int tsc_clock_ns(const struct tsc_clock *c, uint64_t tsc, uint64_t *out_ns)
{
	const struct tsc_anchor *last;
	size_t next;

	if (c->count < 2)
		return -EINVAL;
	last = &c->anchor[c->count - 1];
	next = array_upto(c->anchor, c->count, sizeof(*last), offsetof(struct tsc_anchor, tsc),
			  tsc);
	if (next == 0)
		*out_ns = on_line(&c->anchor[0], last, tsc);
	else if (next == c->count)
		*out_ns = on_line(some_time_before(c), last, tsc);
	else
		*out_ns = on_line(&c->anchor[next - 1], &c->anchor[next], tsc);
	return 0;
}
