/* SPDX-License-Identifier: Apache-2.0 */
/*
 * switch-pairs SECONDS: two threads on one CPU that hand a byte back and forth, so that each read
 * is a switch. Prints nanoseconds a switch, medians of rounds: in the first 20 ms,
 * and behind the first 200 ms:  first_ns later_ns
 */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "harness.h"

#define ROUND 500 /* there and back */
#define ROUNDS_MAX 20000

static int there[2], back[2];

static double now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void *answer(void *unused)
{
	char c;

	while (read(there[0], &c, 1) == 1 && write(back[1], &c, 1) == 1)
		;
	return unused;
}

static double round_ns(void)
{
	double from = now_ns();
	char c = 0;

	for (int i = 0; i < ROUND; i++)
		if (write(there[1], &c, 1) != 1 || read(back[0], &c, 1) != 1)
			exit(1);
	return (now_ns() - from) / (2.0 * ROUND);
}

static void stay_on_one_cpu(void)
{
	cpu_set_t set, one;

	CPU_ZERO(&one);
	sched_getaffinity(0, sizeof(set), &set);
	for (size_t cpu = 0; cpu < CPU_SETSIZE && !CPU_COUNT(&one); cpu++)
		if (CPU_ISSET(cpu, &set))
			CPU_SET(cpu, &one);
	sched_setaffinity(0, sizeof(one), &one);
}

int main(int argc, char **argv)
{
	static double first[ROUNDS_MAX], later[ROUNDS_MAX];
	double end = now_ns() + (argc > 1 ? atof(argv[1]) : 1) * 1e9, begin;
	size_t firsts = 0, laters = 0;
	pthread_t thread;

	stay_on_one_cpu();
	if (pipe2(there, O_CLOEXEC) || pipe2(back, O_CLOEXEC) ||
	    pthread_create(&thread, NULL, answer, NULL))
		return 1;
	begin = now_ns();
	while (now_ns() < end && firsts < ROUNDS_MAX && laters < ROUNDS_MAX) {
		double since = now_ns() - begin;

		if (since < 20e6)
			first[firsts++] = round_ns();
		else if (since > 200e6)
			later[laters++] = round_ns();
		else
			round_ns();
	}
	close(there[1]);
	pthread_join(thread, NULL);
	if (!firsts || !laters)
		return 1;
	printf("%.0f %.0f\n", bench_median(first, firsts), bench_median(later, laters));
	return 0;
}
