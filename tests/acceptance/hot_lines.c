/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hot_lines MS: uses MS milliseconds of CPU time, nearly all of it in the lines marked HOT, of
 * which each belongs to another function: one inlined into another that is inlined, one inlined
 * twice, one on its own.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define ROUNDS 200000

static long used_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static inline __attribute__((always_inline)) uint64_t scramble(uint64_t x)
{
	for (int i = 0; i < ROUNDS; i++)
		x = x / (uint64_t)(i | 7) + (x ^ x << 13) * 2862933555777941757u; /* HOT scramble */
	return x;
}

static inline __attribute__((always_inline)) uint64_t twice(uint64_t x)
{
	return scramble(x) + 1;
}

static inline __attribute__((always_inline)) uint64_t divide(uint64_t x)
{
	for (int i = 0; i < ROUNDS; i++)
		x = (x | 1) % 1000003 * 77777 + x / 3; /* HOT divide */
	return x;
}

static __attribute__((noinline)) uint64_t serve(uint64_t x)
{
	return twice(x) + divide(x);
}

static __attribute__((noinline)) uint64_t other(uint64_t x)
{
	for (int i = 0; i < ROUNDS; i++)
		x = x / 11 + (x >> 3 | x * 3935559000370003845u) % 10007; /* HOT other */
	return divide(x);
}

int main(int argc, char **argv)
{
	long ms = argc > 1 ? atol(argv[1]) : 500;
	uint64_t x = 1;

	while (used_ms() < ms)
		x = serve(x) + other(x);
	printf("%llu\n", (unsigned long long)x);
	return 0;
}
