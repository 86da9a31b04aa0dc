/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cpu-loop [UNITS]: a fixed amount of work for the CPU on one thread: sorting, hashing,
 * recursion. Prints, as measured from inside, so that what starts and ends a program does
 * not count:  wall_ns cpu_ns result
 */
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define VALUES 4096

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static int by_value(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

static __attribute__((noinline)) uint64_t hash(const uint32_t *values, uint64_t sum)
{
	for (unsigned int round = 0; round < 60; round++)
		for (unsigned int i = 0; i < VALUES; i++)
			sum = (sum ^ values[i]) * 0x100000001b3u;
	return sum;
}

/* NOLINTNEXTLINE(misc-no-recursion): deep stacks are the point. */
static __attribute__((noinline)) uint64_t descend(unsigned int depth, const uint32_t *values)
{
	uint64_t sum = depth ? descend(depth - 1, values) : hash(values, 1);

	__asm__ volatile("" : "+r"(sum)); /* something left to do: no tail call, no loop */
	return sum + depth;
}

static uint64_t unit(uint32_t seed)
{
	uint32_t values[VALUES];

	for (unsigned int i = 0; i < VALUES; i++) {
		seed = seed * 1664525u + 1013904223u;
		values[i] = seed;
	}
	qsort(values, VALUES, sizeof(values[0]), by_value);
	return hash(values, seed) ^ descend(20, values);
}

int main(int argc, char **argv)
{
	unsigned long units = argc > 1 ? strtoul(argv[1], NULL, 10) : 1000;
	uint64_t wall = clock_ns(CLOCK_MONOTONIC), cpu = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	uint64_t sum = 0;

	for (unsigned long i = 0; i < units; i++)
		sum ^= unit((uint32_t)i);
	wall = clock_ns(CLOCK_MONOTONIC) - wall;
	cpu = clock_ns(CLOCK_PROCESS_CPUTIME_ID) - cpu;
	printf("%" PRIu64 " %" PRIu64 " %" PRIx64 "\n", wall, cpu, sum);
	return 0;
}
