/* SPDX-License-Identifier: Apache-2.0 */
/*
 * names: threads that are given names in all ways. Prints nothing.
 *
 *   names short N   N threads one after the other: named by themselves first thing (by prctl and
 *                   by pthread_setname_np in turns), 12 ms of CPU, gone
 *   names other     named by its creator, 60 ms of CPU under span 3; its own child thread, which
 *                   nobody names, 60 ms under span 4
 *   names again     called "before" for 60 ms of CPU under span 1, then, half a second later,
 *                   "after" for as long under span 2
 *   names confined  sets no_new_privs, as before a seccomp filter; then a thread of 60 ms of CPU
 */
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

#include <weft/context.h>

static void burn_ms(long ms)
{
	struct timespec t, start;
	volatile uint64_t x = 0;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &start);
	do {
		for (int i = 0; i < 10000; i++)
			x += x * 3 + 1;
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	} while ((t.tv_sec - start.tv_sec) * 1000 + (t.tv_nsec - start.tv_nsec) / 1000000 < ms);
}

static void sleep_ms(long ms)
{
	struct timespec t = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};

	nanosleep(&t, NULL);
}

static void *short_one(void *number)
{
	if ((uintptr_t)number % 2)
		prctl(PR_SET_NAME, "short-worker", 0, 0, 0);
	else
		pthread_setname_np(pthread_self(), "short-worker");
	burn_ms(12);
	return NULL;
}

static int in_turn(long count)
{
	pthread_t thread;

	for (long i = 0; i < count; i++)
		if (pthread_create(&thread, NULL, short_one, (void *)i) ||
		    pthread_join(thread, NULL))
			return 1;
	return 0;
}

static pthread_barrier_t named;

static void *unnamed(void *arg)
{
	weft_context_set(4, 4);
	burn_ms(60);
	return arg;
}

static void *named_by_another(void *arg)
{
	pthread_t thread;

	pthread_barrier_wait(&named);
	weft_context_set(3, 3);
	burn_ms(60);
	if (pthread_create(&thread, NULL, unnamed, NULL))
		return NULL;
	pthread_join(thread, NULL);
	return arg;
}

static int by_another(void)
{
	pthread_t thread;

	pthread_barrier_init(&named, NULL, 2);
	if (pthread_create(&thread, NULL, named_by_another, NULL))
		return 1;
	pthread_setname_np(thread, "called-by-other");
	pthread_barrier_wait(&named);
	return pthread_join(thread, NULL);
}

static void *renamed(void *arg)
{
	prctl(PR_SET_NAME, "before", 0, 0, 0);
	weft_context_set(1, 1);
	burn_ms(60);
	weft_context_set(0, 0);
	sleep_ms(500); /* the collector comes meanwhile */
	pthread_setname_np(pthread_self(), "after");
	weft_context_set(2, 2);
	burn_ms(60);
	weft_context_set(0, 0);
	return arg;
}

static int again(void)
{
	pthread_t thread;

	return pthread_create(&thread, NULL, renamed, NULL) || pthread_join(thread, NULL);
}

static int confined(void)
{
	pthread_t thread;

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	       pthread_create(&thread, NULL, unnamed, NULL) || pthread_join(thread, NULL);
}

int main(int argc, char **argv)
{
	if (argc > 2 && !strcmp(argv[1], "short"))
		return in_turn(strtol(argv[2], NULL, 10));
	if (argc > 1 && !strcmp(argv[1], "other"))
		return by_another();
	if (argc > 1 && !strcmp(argv[1], "confined"))
		return confined();
	return argc > 1 && !strcmp(argv[1], "again") ? again() : 2;
}
