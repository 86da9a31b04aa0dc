/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wall_brief MS SECONDS: a thread for each request, one after the other; each waits for MS and
 * ends. Prints how long they waited in all, by their own clocks, in nanoseconds, and how many there
 * were.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static struct timespec pause_of_one;
static uint64_t waited_ns;

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static __attribute__((noinline)) void wait_in_request(void)
{
	uint64_t began_ns = now_ns();

	nanosleep(&pause_of_one, NULL);
	waited_ns += now_ns() - began_ns;
}

static void *serve(void *unused)
{
	(void)unused;
	wait_in_request();
	return NULL;
}

int main(int argc, char **argv)
{
	uint64_t end_ns = now_ns() + (argc > 2 ? strtoull(argv[2], NULL, 10) : 5) * 1000000000u;
	unsigned int requests = 0;
	pthread_t thread;

	pause_of_one.tv_nsec = (argc > 1 ? strtol(argv[1], NULL, 10) : 20) * 1000000;
	for (; now_ns() < end_ns; requests++) {
		if (pthread_create(&thread, NULL, serve, NULL))
			return 1;
		pthread_join(thread, NULL);
	}
	printf("%llu %u\n", (unsigned long long)waited_ns, requests);
	return 0;
}
