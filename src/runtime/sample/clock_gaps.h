/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When a thread's hrtimer (clock.h) fires: the gaps between its samples, in CPU time.
 *
 * They are random, uniform in [3/4, 5/4] of their mean, so that nothing falls in with them. The
 * first is drawn from the equilibrium distribution of that renewal process (a part, uniform, of a
 * gap drawn by its length: Cox, Renewal Theory, 5.3), so from a thread's first instant on the
 * density of samples is one in a mean gap. A gap is repeated by the kernel itself, and a new one
 * costs opening the event anew, so each is used several times, by blocks, into which a thread
 * enters at a random place.
 *
 * None is shorter than 50 us, or a quarter of the mean: in the kernel, where it makes no sample, it
 * is repeated all the same, each time by an interrupt that takes some microseconds (20 on a virtual
 * machine), so a thread with a first gap of 10 us stood still until it was back in user mode, for
 * tenths of a second. What would fall into those first 50 us falls into the next besides, but
 * for 5 us that belong to the thread's beginning.
 *
 * The kernel repeats the first as well, short as it may be, if it was over in the kernel, where
 * there is no sample: again and again until it meets user mode, which would so be met too often (a
 * thread of a tenth of a millisecond by a fifth, one with half of its time in the kernel twice).
 * Who is met then knows by his CPU time that it is not the first time, takes no sample, and goes on
 * with what is left of the gap behind the first.
 *
 * Pure: the only state is the caller's.
 */
#ifndef WEFT_RUNTIME_CLOCK_GAPS_H
#define WEFT_RUNTIME_CLOCK_GAPS_H

#include <stdint.h>

struct weft_gaps {
	uint32_t gap_ns; /* that the event is opened with; 0 = none */
	uint8_t left;    /* gaps of its block to come, this one with them; 0 = it is the first */
	uint8_t is_late; /* the event was opened anew for it, so it began after the last was over */
	uint16_t share;  /* clock.h; these functions leave it alone */
};

/* SplitMix64: any @state is a seed. */
uint64_t weft_random(uint64_t *state);

/* Uniform in [0, @below). */
uint64_t weft_random_below(uint64_t *state, uint64_t below);

/* Begins: gap_ns is the first, 50000 or @mean_ns / 4 at least. @mean_ns: below 2^32 * 4 / 5. */
void weft_gaps_first(struct weft_gaps *gaps, uint64_t *random, uint64_t mean_ns);

/*
 * It has fired, @age_ns after it was opened: was it the first, and not for the first time? Then
 * there is no sample, and gap_ns is a first one anew, until the next is due. *@late_ns is how late
 * handlers begin on this machine, 3000 to 60000, learned here: the low end of what is seen.
 */
int weft_gaps_is_repeat(struct weft_gaps *gaps, uint64_t *random, uint64_t mean_ns, uint64_t age_ns,
			uint32_t *late_ns);

/* It has fired. 1: with the same gap once more; 0: gap_ns is a new one, and the event's period has
 * to become that. */
int weft_gaps_next(struct weft_gaps *gaps, uint64_t *random, uint64_t mean_ns);

#endif
