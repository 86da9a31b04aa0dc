/* SPDX-License-Identifier: Apache-2.0 */
/* CPU time, for the programs of this folder. */
#ifndef WEFT_TESTS_LATECOMER_H
#define WEFT_TESTS_LATECOMER_H

#include <stdint.h>
#include <time.h>

static inline uint64_t thread_cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static inline void burn_ms(long ms)
{
	uint64_t until = thread_cpu_ns() + (uint64_t)ms * 1000000;
	volatile uint64_t sink = 0;

	do
		for (int i = 0; i < 20000; i++)
			sink += (uint64_t)i * sink + 1;
	while (thread_cpu_ns() < until);
}

#endif
