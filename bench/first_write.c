/* SPDX-License-Identifier: Apache-2.0 */
/*
 * first-write COUNT: what a thread's slot costs. With WEFT_HOOKS=-threads a thread's own first
 * context write claims it; else the start hook has by then. Prints medians in nanoseconds:
 *
 *   fresh used create_join spaced claims
 *
 * fresh: first write of threads that all live at a time, each in a slot that nobody had;
 * used: of COUNT threads one after the other, which take each other's; create_join: of COUNT
 * that do nothing, the median of means over 16 of them, since not all get a clock at once;
 * spaced: the same of threads that begin 9 ms apart, which all get one; claims: the session's own
 * histogram (a log2 bucket: its upper bound).
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <weft/context.h>

#include "../tests/own_session.h"
#include "harness.h"

#define ALIVE 48 /* of the 64 slots of a session's first block */
#define COUNT_MAX 4096
#define TOGETHER 16
#define SPACED 32
#define SPACE_NS 9000000 /* no rush: src/runtime/sample/clock.h */

static pthread_barrier_t all_written;

static double first_write(void)
{
	uint64_t start = bench_now_ns();

	weft_context_set(1, 2);
	return (double)(bench_now_ns() - start);
}

static void *write_and_wait(void *out)
{
	*(double *)out = first_write();
	pthread_barrier_wait(&all_written);
	return NULL;
}

static void *write_and_end(void *out)
{
	*(double *)out = first_write();
	return NULL;
}

static void *do_nothing(void *unused)
{
	return unused;
}

static double fresh_slots(void)
{
	static double ns[ALIVE];
	pthread_t threads[ALIVE];

	pthread_barrier_init(&all_written, NULL, ALIVE + 1);
	for (int i = 0; i < ALIVE; i++)
		if (pthread_create(&threads[i], NULL, write_and_wait, &ns[i]))
			exit(1);
	pthread_barrier_wait(&all_written);
	for (int i = 0; i < ALIVE; i++)
		pthread_join(threads[i], NULL);
	return bench_median(ns, ALIVE);
}

static double create_and_join(void *(*run)(void *), void *arg)
{
	uint64_t start = bench_now_ns();
	pthread_t thread;

	if (pthread_create(&thread, NULL, run, arg) || pthread_join(thread, NULL))
		exit(1);
	return (double)(bench_now_ns() - start);
}

/* What the threads measured themselves. */
static double writes_of_used(size_t count)
{
	static double ns[COUNT_MAX];

	for (size_t i = 0; i < count; i++)
		create_and_join(write_and_end, &ns[i]);
	return bench_median(ns, count);
}

static double one_after_the_other(size_t count)
{
	static double ns[COUNT_MAX / TOGETHER];
	size_t n = count < TOGETHER ? 1 : count / TOGETHER;

	for (size_t i = 0; i < n; i++) {
		ns[i] = 0;
		for (int j = 0; j < TOGETHER; j++)
			ns[i] += create_and_join(do_nothing, NULL) / TOGETHER;
	}
	return bench_median(ns, n);
}

static double spaced(void)
{
	const struct timespec pause = {.tv_nsec = SPACE_NS};
	double ns[SPACED];

	for (int i = 0; i < SPACED; i++) {
		nanosleep(&pause, NULL);
		ns[i] = create_and_join(do_nothing, NULL);
	}
	return bench_median(ns, SPACED);
}

static double claims_median(void)
{
	const struct weft_session_header *header = own_session();
	uint64_t total = 0, below = 0;
	unsigned int b;

	for (b = 0; header && b < 64; b++)
		total += header->claim_ns[b];
	for (b = 0; header && b < 63 && (below += header->claim_ns[b]) * 2 < total; b++)
		;
	return total ? (double)(UINT64_C(1) << b) : 0;
}

int main(int argc, char **argv)
{
	size_t count = argc > 1 ? strtoul(argv[1], NULL, 10) : 200;
	double fresh = fresh_slots(), used, create_join, apart;

	if (count > COUNT_MAX)
		count = COUNT_MAX;
	used = writes_of_used(count);
	create_join = one_after_the_other(count);
	apart = spaced();
	printf("%.1f %.1f %.1f %.1f %.0f\n", fresh, used, create_join, apart, claims_median());
	return 0;
}
