/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What each program of the matrix does (C and C++; turns.rs and turns.py do the same): two threads
 * named "worker" serve requests of two tenants in turn, by their own clocks, and between two turns
 * work for nobody. A request always ends with its wait, so that the kernel's books are up to date
 * whenever they are read.
 *
 *	request  CPU time  blocked
 *	acme     7 ms      14 ms
 *	globex   3 ms       6 ms
 *	nobody   2 ms       4 ms
 *
 * PROGRAM TURNS PAUSE: "ready" at once, work after PAUSE seconds, so that somebody can come before;
 * then "TENANT SPAN CPU-NS BLOCKED-NS ALL-NS" for each tenant and for nobody (`none`: all that is
 * not theirs), and "turns" with the number that all workers did. The status is TURNS_STATUS.
 */
#ifndef TURNS_H
#define TURNS_H

#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#define TURNS_STATUS 3
#define TURNS_WORKERS 2
#define TURNS_MS 1000000

enum { TURNS_ACME, TURNS_GLOBEX, TURNS_NOBODY };

static const char *const turns_tenant[] = {"acme", "globex", "none"};
static const uint64_t turns_span[] = {0x11, 0x22};

struct turns_time {
	uint64_t cpu, all, not_blocked;
};

static struct turns_time turns_spent[3]; /* of all workers; the last: whatever they did */
static unsigned int turns_asked, turns_done;
static void (*turns_publish)(int request); /* of the calling thread, from now on */

static inline uint64_t turns_now(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* What the calling thread has had: of a CPU, at all, and of a CPU or waiting for one. */
static inline struct turns_time turns_read(int schedstat)
{
	char text[128], *at;
	struct turns_time t;
	ssize_t n = pread(schedstat, text, sizeof(text) - 1, 0);

	if (n <= 0)
		exit(4);
	text[n] = 0;
	t.not_blocked = strtoull(text, &at, 10);
	t.not_blocked += strtoull(at, NULL, 10);
	t.cpu = turns_now(CLOCK_THREAD_CPUTIME_ID);
	t.all = turns_now(CLOCK_MONOTONIC);
	return t;
}

static inline void turns_account(int request, struct turns_time since, struct turns_time now)
{
	struct turns_time *to = &turns_spent[request];

	__atomic_add_fetch(&to->cpu, now.cpu - since.cpu, __ATOMIC_RELAXED);
	__atomic_add_fetch(&to->all, now.all - since.all, __ATOMIC_RELAXED);
	__atomic_add_fetch(&to->not_blocked, now.not_blocked - since.not_blocked, __ATOMIC_RELAXED);
}

/* In user mode but for a clock now and then: the kernel's own ticks would meet the rest. */
static inline void turns_burn(uint64_t ns)
{
	uint64_t from = turns_now(CLOCK_THREAD_CPUTIME_ID);
	volatile unsigned int x = 1;

	while (turns_now(CLOCK_THREAD_CPUTIME_ID) - from < ns)
		for (int i = 0; i < 20000; i++)
			x = x * 1664525 + 1013904223;
}

static inline void turns_serve(int schedstat, int request)
{
	static const long cpu_ns[] = {7 * TURNS_MS, 3 * TURNS_MS, 2 * TURNS_MS};
	struct timespec wait;
	struct turns_time began;

	turns_publish(request);
	began = turns_read(schedstat);
	turns_burn((uint64_t)cpu_ns[request]);
	wait.tv_sec = 0;
	wait.tv_nsec = 2 * cpu_ns[request];
	nanosleep(&wait, NULL);
	if (request != TURNS_NOBODY)
		turns_account(request, began, turns_read(schedstat));
}

static inline void *turns_work(void *arg)
{
	int schedstat = open("/proc/thread-self/schedstat", O_RDONLY);
	struct turns_time began;

	if (schedstat < 0 || prctl(PR_SET_NAME, "worker"))
		exit(4);
	began = turns_read(schedstat);
	for (unsigned int turn = 0; turn < turns_asked; turn++) {
		for (int request = TURNS_ACME; request <= TURNS_NOBODY; request++)
			turns_serve(schedstat, request);
		__atomic_add_fetch(&turns_done, 1, __ATOMIC_RELAXED);
	}
	turns_account(TURNS_NOBODY, began, turns_read(schedstat));
	close(schedstat);
	return arg;
}

static inline void turns_tell(int request, struct turns_time t)
{
	char span[17] = "-";

	if (request != TURNS_NOBODY)
		snprintf(span, sizeof(span), "%016" PRIx64, turns_span[request]);
	printf("%s %s %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", turns_tenant[request], span, t.cpu,
	       t.all > t.not_blocked ? t.all - t.not_blocked : 0, t.all);
}

/* The whole program; @publish shows a request, or that there is none. */
static inline int turns_run(int argc, char **argv, void (*publish)(int request))
{
	pthread_t worker[TURNS_WORKERS];
	struct turns_time *whole = &turns_spent[TURNS_NOBODY];

	if (argc != 3)
		return 2;
	turns_asked = (unsigned int)strtoul(argv[1], NULL, 10);
	turns_publish = publish;
	puts("ready");
	fflush(stdout);
	usleep((useconds_t)(strtod(argv[2], NULL) * 1e6));
	for (int i = 0; i < TURNS_WORKERS; i++)
		if (pthread_create(&worker[i], NULL, turns_work, NULL))
			return 4;
	for (int i = 0; i < TURNS_WORKERS; i++)
		pthread_join(worker[i], NULL);
	for (int request = TURNS_ACME; request < TURNS_NOBODY; request++) {
		turns_tell(request, turns_spent[request]);
		whole->cpu -= turns_spent[request].cpu;
		whole->all -= turns_spent[request].all;
		whole->not_blocked -= turns_spent[request].not_blocked;
	}
	turns_tell(TURNS_NOBODY, *whole);
	printf("turns %u\n", turns_done);
	return TURNS_STATUS;
}

#endif
