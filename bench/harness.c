/* SPDX-License-Identifier: Apache-2.0 */
/* Timing of short operations: see harness.h. */
#include "harness.h"

#include <stdlib.h>
#include <time.h>

#define ROUNDS_MAX 101

uint64_t bench_now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

double bench_median(double *values, size_t count)
{
	if (!count)
		return 0;
	qsort(values, count, sizeof(*values), by_value);
	return count % 2 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}

static double time_case(const struct bench_case *c, uint64_t iterations)
{
	uint64_t start = bench_now_ns();

	c->run(iterations, c->arg);
	return (double)(bench_now_ns() - start) / (double)iterations;
}

void bench_interleave(struct bench_case *cases, size_t count, unsigned int rounds,
		      uint64_t iterations)
{
	double *times = calloc(count * ROUNDS_MAX, sizeof(*times));

	if (!times)
		return;
	if (rounds > ROUNDS_MAX)
		rounds = ROUNDS_MAX;
	for (size_t i = 0; i < count; i++)
		time_case(&cases[i], iterations); /* warm up */
	for (unsigned int round = 0; round < rounds; round++)
		for (size_t i = 0; i < count; i++)
			times[i * ROUNDS_MAX + round] = time_case(&cases[i], iterations);
	for (size_t i = 0; i < count; i++)
		cases[i].ns = bench_median(times + i * ROUNDS_MAX, rounds);
	free(times);
}

/* The cycle counter costs less than the system clock and has a finer step. */
static inline uint64_t ticks(void)
{
#if defined(__x86_64__)
	return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
	uint64_t now;

	__asm__ volatile("isb; mrs %0, cntvct_el0" : "=r"(now));
	return now;
#else
	return bench_now_ns();
#endif
}

static double ns_per_tick(void)
{
	uint64_t start = bench_now_ns(), first = ticks();

	while (bench_now_ns() - start < 20000000)
		;
	return (double)(bench_now_ns() - start) / (double)(ticks() - first);
}

static double time_batch(const struct bench_case *c, unsigned int batch)
{
	uint64_t first = ticks();

	c->run(batch, c->arg);
	return (double)(ticks() - first);
}

static void run_nothing(uint64_t iterations, void *arg)
{
	for (uint64_t i = 0; i < iterations; i++)
		bench_keep(arg);
}

/* What an empty batch costs: reading the counter twice, the call and the loop. */
static double empty_batch(unsigned int batch)
{
	static const struct bench_case nothing = {.run = run_nothing};
	double times[ROUNDS_MAX];

	for (unsigned int i = 0; i < ROUNDS_MAX; i++)
		times[i] = time_batch(&nothing, batch);
	return bench_median(times, ROUNDS_MAX);
}

void bench_percentiles(const struct bench_case *c, unsigned int batch, size_t samples,
		       struct bench_percentiles *out)
{
	double *times = calloc(samples, sizeof(*times));
	double scale = ns_per_tick() / batch, empty = empty_batch(batch), step = 0;

	if (!times)
		return;
	for (size_t i = 0; i < samples; i++)
		times[i] = time_batch(c, batch);
	qsort(times, samples, sizeof(*times), by_value);
	for (size_t i = 1; i < samples; i++) {
		double gap = times[i] - times[i - 1];

		if (gap > 0 && (step == 0 || gap < step))
			step = gap;
	}
	out->p50 = (times[samples / 2] - empty) * scale;
	out->p99 = (times[samples * 99 / 100] - empty) * scale;
	out->p999 = (times[samples * 999 / 1000] - empty) * scale;
	out->resolution = step * scale;
	free(times);
}
