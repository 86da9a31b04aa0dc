/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which threads' hrtimers are to rest. An event that is a thread's alone is stopped and started at
 * each of its switches, and the machine's timer set anew: 3 to 5 us a switch on a virtual machine,
 * 10 where the period is a millisecond (weft-bench switches). For a thread that is switched ten
 * thousand times a second that would be a twentieth of a CPU. Such a thread is left to the ticks
 * (clock.h) until it is switched less often: what runs for a tenth of a millisecond at a time does
 * not stay in step with ticks, unless a timer of its own wakes it; the recording tells how many
 * threads it were.
 *
 * Writer: the owning thread's handler of ticks. Lives with the slot; zeros: nothing known yet.
 */
#ifndef WEFT_RUNTIME_CLOCK_REST_H
#define WEFT_RUNTIME_CLOCK_REST_H

#include <stdint.h>

#include <weft/abi/session.h>

struct weft_usage;

/* In the slot: clock_rest. */
struct weft_clock_rest {
	uint32_t since_ms; /* where the present window began, CLOCK_MONOTONIC modulo 2^32; 0 = none
			    */
	uint32_t switches; /* of the thread so far, by then */
	uint32_t waits;    /* ru_nvcsw at its last tick */
	uint16_t is_resting, has_rested; /* at some time, and is counted in the header */
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
 * In a tick, behind its weighing: what the thread has used by now. Closes its clock where that was
 * too often in the last tenth of a second or more. Where it may have one again the next tick opens
 * it.
 */
void weft_clock_rest_look(struct weft_slot *slot, uint64_t now_ns, const struct weft_usage *usage);

/* By the number of switches in so many milliseconds; @rests: it does already. */
int weft_clock_should_rest(uint32_t switches, uint32_t ms, uint64_t gap_ns, int rests);

#endif
