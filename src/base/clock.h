/* SPDX-License-Identifier: Apache-2.0 */
/* Clocks in nanoseconds (that of samples and files is CLOCK_MONOTONIC); and numbers at random. */
#ifndef WEFT_BASE_CLOCK_H
#define WEFT_BASE_CLOCK_H

#include <stdint.h>
#include <sys/random.h>
#include <time.h>

#define NS_PER_S INT64_C(1000000000)

static inline uint64_t clock_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec;
}

static inline uint64_t clock_mono_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

/* The kernel's tick: the resolution of the coarse clock, and of CPU timers. A millisecond, the
 * shortest that kernels have, where it cannot be read. */
static inline uint64_t clock_tick_ns(void)
{
	struct timespec t;

	if (clock_getres(CLOCK_MONOTONIC_COARSE, &t) || t.tv_sec || t.tv_nsec <= 0)
		return 1000000;
	return (uint64_t)t.tv_nsec;
}

/* Never 0. Where the kernel has none yet: by the clock. */
static inline uint64_t random_number(void)
{
	uint64_t number = 0;

	if (getrandom(&number, sizeof(number), GRND_NONBLOCK) < 0 || !number)
		number = clock_mono_ns();
	return number;
}

#endif
