/* SPDX-License-Identifier: Apache-2.0 */
/*
 * burn SECONDS [THREADS]: burns CPU time on each thread under a span of its own, then prints
 * "burnt" and ends. What the tests record when they need a program that takes a while.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <weft/context.h>

#define THREADS_MAX 64

static double seconds;

static __attribute__((noinline)) uint64_t burn_a_little(uint64_t seed)
{
	for (unsigned int i = 0; i < 200000; i++)
		seed = seed * 6364136223846793005u + 1442695040888963407u;
	return seed;
}

/* NOLINTNEXTLINE(misc-no-recursion): a stack to look at. */
static __attribute__((noinline)) uint64_t burn_deeper(unsigned int depth, uint64_t seed)
{
	uint64_t sum = depth ? burn_deeper(depth - 1, seed) : burn_a_little(seed);

	__asm__ volatile("" : "+r"(sum)); /* something left to do: no tail call, no loop */
	return sum + 1;
}

static double cpu_seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void *burn(void *number)
{
	struct weft_context context = {.span_id = 100 + (uintptr_t)number, .root_span_id = 1};
	volatile uint64_t sum = 0;

	context.tags[0] = weft_tag_intern((uintptr_t)number % 2 ? "/odd" : "/even");
	WEFT_SCOPE (&context) {
		while (cpu_seconds() < seconds)
			sum += burn_deeper((unsigned int)(sum % 8), sum);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	unsigned long threads = argc > 2 ? strtoul(argv[2], NULL, 10) : 1;
	pthread_t thread[THREADS_MAX];

	seconds = argc > 1 ? strtod(argv[1], NULL) : 1;
	weft_tag_name(0, "route");
	for (uintptr_t i = 1; i < threads && i < THREADS_MAX; i++)
		if (pthread_create(&thread[i], NULL, burn, (void *)i))
			return 1;
	burn(NULL);
	for (unsigned long i = 1; i < threads && i < THREADS_MAX; i++)
		pthread_join(thread[i], NULL);
	return puts("burnt") < 0 || fflush(stdout) ? 1 : 0;
}
