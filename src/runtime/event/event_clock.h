/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The clock of events: the TSC where the session says that the kernel trusts it (and the collector
 * knows its rate), else CLOCK_MONOTONIC. A recording that attaches in between may change the clock;
 * then times are converted by the session's anchor.
 */
#ifndef WEFT_RUNTIME_EVENT_CLOCK_H
#define WEFT_RUNTIME_EVENT_CLOCK_H

#include "runtime/core/runtime.h"
#include "runtime/core/sys.h"

static inline uint64_t event_tsc(void)
{
#if defined(__x86_64__)
	uint32_t low, high;

	__asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
	return low | (uint64_t)high << 32;
#else
	return 0;
#endif
}

static inline int event_clock_is_tsc(void)
{
#if defined(__x86_64__)
	return (load_relaxed(&weft_rt.header->features) & WEFT_FEATURE_CLOCKSOURCE_TSC) != 0;
#else
	return 0;
#endif
}

static inline uint64_t event_now(int in_tsc)
{
	return LIKELY(in_tsc) ? event_tsc() : clock_monotonic_ns();
}

/* Converts @amount from 1/@from to 1/@to seconds; neither is more than 18 GHz. */
static inline uint64_t event_scale(uint64_t amount, uint64_t from, uint64_t to)
{
	return amount / from * to + amount % from * to / from;
}

/* Converts a time of one clock to the other; unchanged if there is no anchor. */
static inline uint64_t event_convert(uint64_t time, int to_tsc)
{
	const struct weft_session_header *h = weft_rt.header;
	uint64_t hz = load_relaxed(&h->tsc_hz), ns_hz = 1000000000u;
	uint64_t mono = load_relaxed(&h->mono_anchor_ns);
	uint64_t tsc = load_relaxed(&h->tsc_anchor);
	uint64_t from = to_tsc ? mono : tsc, to = to_tsc ? tsc : mono;
	uint64_t from_hz = to_tsc ? ns_hz : hz, to_hz = to_tsc ? hz : ns_hz;

	if (hz == 0 || hz > UINT64_C(18000000000))
		return time;
	return time >= from ? to + event_scale(time - from, from_hz, to_hz)
			    : to - event_scale(from - time, from_hz, to_hz);
}

static inline uint64_t event_in_ns(uint64_t time, int in_tsc)
{
	return in_tsc ? event_convert(time, 0) : time;
}

#endif
