/* SPDX-License-Identifier: Apache-2.0 */
/* Ticks are converted in 128 bits, so that no clock overflows: see common_time.h. */
#include "print/common_time.h"

#include "base/clock.h"

/* Two clocks are the same if they differ by no more than a second, and a thousandth of the time
 * between them: real time is corrected while it goes on. */
#define OFF_NS NS_PER_S
#define OFF_PART 1000

__extension__ typedef __int128 wide;

static wide ns_of(const struct common_time *t, wide ticks)
{
	wide since = ticks - t->start_ticks;

	if (t->ticks_per_second != NS_PER_S && t->ticks_per_second > 0)
		since = since * NS_PER_S / t->ticks_per_second;
	return t->start_ns + since;
}

static int64_t saturated(wide ns)
{
	if (ns > INT64_MAX)
		return INT64_MAX;
	return ns < INT64_MIN + 1 ? INT64_MIN + 1 : (int64_t)ns;
}

static wide distance(wide a, wide b)
{
	return a > b ? a - b : b - a;
}

int common_time_agrees(const struct common_time *t, const struct weft_jfr_chunk_view *chunk,
		       int64_t off_ns, int64_t part)
{
	wide ns = ns_of(t, chunk->start_ticks);

	return t->ticks_per_second == chunk->ticks_per_second &&
	       distance(ns, chunk->start_ns) <=
		       off_ns + (part ? distance(ns, t->start_ns) / part : 0);
}

void common_time_set(struct common_time *t, const struct weft_jfr_chunk_view *chunk)
{
	*t = (struct common_time){chunk->start_ns, chunk->start_ticks, chunk->ticks_per_second};
}

void common_time_enter(struct common_time *t, const struct weft_jfr_chunk_view *chunk)
{
	if (!common_time_agrees(t, chunk, OFF_NS, OFF_PART))
		common_time_set(t, chunk);
}

int64_t common_time_start(const struct common_time *t, const struct weft_jfr_event_view *e)
{
	return saturated(ns_of(t, e->start_ticks));
}

int64_t common_time_end(const struct common_time *t, const struct weft_jfr_event_view *e)
{
	return saturated(ns_of(t, (wide)e->start_ticks + e->duration_ticks));
}
