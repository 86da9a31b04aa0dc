/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When a thread's hrtimer (clock.h) fires: the gaps between its samples, in CPU time.
 *
 * Gaps are random, uniform in [3/4, 5/4] of their mean, so that nothing stays in step with them.
 * The first is drawn from the equilibrium distribution of that renewal process (a part, uniform, of
 * a gap drawn by its length: Cox, Renewal Theory, 5.3), so that from a thread's first instant on
 * the density of samples is one in a mean gap. The kernel repeats a gap by itself, while a new one
 * costs opening the event anew; so gaps are used several times each, in blocks, and a thread enters
 * a block at a random place.
 *
 * None is shorter than 50 us, or a quarter of the mean: in the kernel, where it makes no sample, it
 * is repeated all the same, each time by an interrupt of some microseconds (20 on a virtual
 * machine), so that a thread with a first gap of 10 us would stand still for tenths of a second
 * until it was back in user mode. A sample due in those first 50 us is taken in the next 50, except
 * for 5 us that belong to the thread's beginning.
 *
 * The kernel also repeats the first gap, however short, if it ended in the kernel, where there is
 * no sample: again and again until it meets user mode, which would so be met too often (a thread of
 * a tenth of a millisecond by a fifth, one with half of its time in the kernel twice). The thread
 * then knows by its CPU time that this is a repeat, takes no sample, and goes on with the rest of
 * the gap after the first.
 *
 * Pure functions: the only state is the caller's.
 */
#ifndef WEFT_RUNTIME_CLOCK_GAPS_H
#define WEFT_RUNTIME_CLOCK_GAPS_H

#include <stdint.h>

struct weft_gaps {
	uint32_t gap_ns; /* with which the event is opened; 0 = none */
	/* gaps of its block still to come, including this one; 0 = it is the first */
	uint8_t left;
	uint8_t is_late; /* the event was opened anew for it, after the last gap was over */
	uint16_t share;  /* see clock.h; not used here */
};

/* SplitMix64: any @state is a seed. */
uint64_t weft_random(uint64_t *state);

/* Uniform in [0, @below). */
uint64_t weft_random_below(uint64_t *state, uint64_t below);

/* The first gap: gap_ns is at least 50000 or @mean_ns / 4. @mean_ns: below 2^32 * 4 / 5. */
void weft_gaps_first(struct weft_gaps *gaps, uint64_t *random, uint64_t mean_ns);

/*
 * The event has fired, @age_ns after it was opened. 1: it is a repeat of the first gap; then there
 * is no sample, and gap_ns is the time until the next one is due. *@late_ns is how late handlers
 * begin on this machine, 3000 to 60000, learned here: the low end of what is seen.
 */
int weft_gaps_is_repeat(struct weft_gaps *gaps, uint64_t *random, uint64_t mean_ns, uint64_t age_ns,
			uint32_t *late_ns);

/* The event has fired. 1: the same gap again; 0: gap_ns is a new one, the event's next period. */
int weft_gaps_next(struct weft_gaps *gaps, uint64_t *random, uint64_t mean_ns);

#endif
