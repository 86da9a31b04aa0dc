/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wall-times SECONDS [FILE]: threads that spend their time in different ways, each named for it;
 * with FILE they begin when a line comes, and the pid is written there. Each that lives for more
 * than a second writes what it knows of itself to stdout, by the kernel's clocks:
 *
 *	NAME TID NS that passed, NS that it ran
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define CROWD 6
#define MS 1000000u

static double seconds;
static uint64_t until_ns;
static volatile unsigned long sink;

static uint64_t now(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

__attribute__((noinline)) static void compute(uint64_t ns)
{
	uint64_t end = now(CLOCK_THREAD_CPUTIME_ID) + ns;

	while (now(CLOCK_THREAD_CPUTIME_ID) < end && now(CLOCK_MONOTONIC) < until_ns)
		sink++;
}

__attribute__((noinline)) static void rest(uint64_t ns)
{
	nanosleep(&(struct timespec){(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)}, NULL);
	sink++;
}

static void *briefly(void *arg)
{
	compute(3u * MS);
	return arg;
}

static void busy(void)
{
	while (now(CLOCK_MONOTONIC) < until_ns)
		compute(100u * MS);
}

static void sleeping(void)
{
	rest(until_ns - now(CLOCK_MONOTONIC));
}

static void mixed(void)
{
	while (now(CLOCK_MONOTONIC) < until_ns) {
		compute(7u * MS);
		rest(11u * MS);
		compute(1u * MS);
		rest(90u * MS);
	}
}

/* It sleeps for its whole life but for three moments. */
static void seldom(void)
{
	for (int i = 0; i < 4 && now(CLOCK_MONOTONIC) < until_ns; i++) {
		compute(5u * MS);
		rest((uint64_t)(seconds * 1e9 / 4));
	}
}

/* Its last moments are not its first. */
static void midst(void)
{
	uint64_t end = now(CLOCK_MONOTONIC) + (uint64_t)(seconds * 0.55e9);

	while (now(CLOCK_MONOTONIC) < end)
		rest(5u * MS);
	compute(120u * MS);
}

static void parent(void)
{
	pthread_t child;

	while (now(CLOCK_MONOTONIC) < until_ns) {
		if (pthread_create(&child, NULL, briefly, NULL) == 0)
			pthread_join(child, NULL);
		rest(4u * MS);
	}
}

static const struct kind {
	const char *name;
	void (*live)(void);
	int count;
} kinds[] = {{"busy", busy, CROWD}, {"sleeping", sleeping, 2}, {"mixed", mixed, 2},
	     {"seldom", seldom, 2}, {"midst", midst, 2},       {"parent", parent, 1}};

static void *live(void *arg)
{
	const struct kind *kind = arg;
	uint64_t began_ns = now(CLOCK_MONOTONIC), ran_ns = now(CLOCK_THREAD_CPUTIME_ID);

	prctl(PR_SET_NAME, kind->name);
	kind->live();
	printf("%s %ld %llu %llu\n", kind->name, (long)syscall(SYS_gettid),
	       (unsigned long long)(now(CLOCK_MONOTONIC) - began_ns),
	       (unsigned long long)(now(CLOCK_THREAD_CPUTIME_ID) - ran_ns));
	return NULL;
}

static void wait_for_line(const char *path)
{
	FILE *out = fopen(path, "we");

	if (!out || fprintf(out, "%d\n", (int)getpid()) < 0 || fclose(out))
		exit(1);
	while (getchar() != '\n' && !feof(stdin))
		;
}

int main(int argc, char **argv)
{
	pthread_t thread[CROWD * 6];
	size_t count = 0;

	if (argc < 2)
		return 2;
	seconds = strtod(argv[1], NULL);
	if (argc > 2)
		wait_for_line(argv[2]);
	until_ns = now(CLOCK_MONOTONIC) + (uint64_t)(seconds * 1e9);
	for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++)
		for (int i = 0; i < kinds[k].count; i++)
			if (pthread_create(&thread[count++], NULL, live, (void *)&kinds[k]))
				return 1;
	while (count)
		pthread_join(thread[--count], NULL);
	return 0;
}
