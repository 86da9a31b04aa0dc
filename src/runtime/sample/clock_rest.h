/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads whose hrtimers rest. An event of one thread is stopped and started at each of the
 * thread's context switches, and the machine's timer programmed anew: 3 to 5 us a switch on a
 * virtual machine, 10 where the period is a millisecond (weft-bench switches). For a thread that is
 * switched ten thousand times a second that would be a twentieth of a CPU. Such a thread is sampled
 * by ticks only (clock.h) until it is switched less often: what runs for a tenth of a millisecond
 * at a time does not stay in step with ticks, unless a timer of its own wakes it. The recording
 * says how many threads this concerned.
 *
 * Writer: the owning thread's handler of ticks. Kept in the slot; zeros: nothing known yet.
 */
#ifndef WEFT_RUNTIME_CLOCK_REST_H
#define WEFT_RUNTIME_CLOCK_REST_H

#include <stdint.h>

#include <weft/abi/session.h>

struct weft_usage;

/* In the slot: clock_rest. */
struct weft_clock_rest {
	uint32_t since_ms; /* begin of the present window, CLOCK_MONOTONIC modulo 2^32; 0 = none */
	uint32_t switches; /* the thread's total at that time */
	uint32_t waits;    /* ru_nvcsw at its last tick */
	uint16_t is_resting, has_rested; /* has_rested: ever, and is counted in the header */
};
_Static_assert(sizeof(struct weft_clock_rest) == sizeof(((struct weft_slot *)0)->clock_rest),
	       "its room in the slot");

static inline struct weft_clock_rest *weft_clock_rest_of(struct weft_slot *slot)
{
	return (struct weft_clock_rest *)(void *)slot->clock_rest;
}

static inline int weft_clock_rests(struct weft_slot *slot)
{
	return weft_clock_rest_of(slot)->is_resting != 0;
}

/*
 * In a tick, after its weight is known; @usage: the thread's, now. Closes its clock if it was
 * switched too often in the last tenth of a second or more; a later tick may open it again.
 */
void weft_clock_rest_update(struct weft_slot *slot, uint64_t now_ns,
			    const struct weft_usage *usage);

/* Should a thread with so many switches in @ms rest? @rests: it does already. */
int weft_clock_should_rest(uint32_t switches, uint32_t ms, uint64_t gap_ns, int rests);

#endif
