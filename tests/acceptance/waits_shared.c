/* SPDX-License-Identifier: Apache-2.0 */
/*
 * waits-shared SECONDS: threads that compute, wait briefly in epoll, and sleep, again and again,
 * and know by the kernel's clocks how long they were blocked in each. The last line on stdout:
 *
 *	NS of the short waits, NS of the long ones, NS that a thread lived on average
 *
 * Time in which a thread had been woken and waited for a CPU is left out: that is another state.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#include "blocked_time.h"

#define THREADS 6
#define WORK_NS 2000000
#define SHORT_MS 4
#define LONG_NS 22000000

static uint64_t until_ns, blocked_ns[2], lived_ns;
static volatile unsigned long sink;

__attribute__((noinline)) static void compute(void)
{
	uint64_t end = now(CLOCK_THREAD_CPUTIME_ID) + WORK_NS;

	while (now(CLOCK_THREAD_CPUTIME_ID) < end)
		sink++;
}

__attribute__((noinline)) static void wait_briefly(int epoll)
{
	struct epoll_event event;

	epoll_wait(epoll, &event, 1, SHORT_MS);
	sink++;
}

__attribute__((noinline)) static void wait_long(void)
{
	nanosleep(&(struct timespec){.tv_nsec = LONG_NS}, NULL);
	sink++;
}

static void add(int which, uint64_t all_ns, uint64_t other_ns)
{
	__atomic_add_fetch(&blocked_ns[which], all_ns > other_ns ? all_ns - other_ns : 0,
			   __ATOMIC_RELAXED);
}

static void *live(void *arg)
{
	uint64_t began_ns = now(CLOCK_MONOTONIC);
	int epoll = epoll_create1(0), schedstat = open("/proc/thread-self/schedstat", O_RDONLY);

	if (schedstat < 0)
		exit(3);
	while (now(CLOCK_MONOTONIC) < until_ns) {
		uint64_t at, other;

		compute();
		at = now(CLOCK_MONOTONIC);
		other = not_blocked(schedstat);
		wait_briefly(epoll);
		add(0, now(CLOCK_MONOTONIC) - at, not_blocked(schedstat) - other);
		at = now(CLOCK_MONOTONIC);
		other = not_blocked(schedstat);
		wait_long();
		add(1, now(CLOCK_MONOTONIC) - at, not_blocked(schedstat) - other);
	}
	__atomic_add_fetch(&lived_ns, now(CLOCK_MONOTONIC) - began_ns, __ATOMIC_RELAXED);
	return arg;
}

int main(int argc, char **argv)
{
	pthread_t thread[THREADS];

	if (argc != 2)
		return 2;
	until_ns = now(CLOCK_MONOTONIC) + strtoull(argv[1], NULL, 10) * 1000000000;
	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&thread[i], NULL, live, NULL))
			return 1;
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	printf("%llu %llu %llu\n", (unsigned long long)blocked_ns[0],
	       (unsigned long long)blocked_ns[1], (unsigned long long)(lived_ns / THREADS));
	return 0;
}
