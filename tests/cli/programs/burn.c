/* SPDX-License-Identifier: Apache-2.0 */
/*
 * burn MS [THREADS]: uses MS milliseconds of CPU time in each thread, then prints "burnt".
 * burn fork N MS: N children that each use MS, waited for.
 * burn orphan MS: a child that uses MS and is not waited for.
 * burn wait: prints "ready", then uses CPU time until a signal ends it.
 * burn catch: as wait, but ends with status 7 at SIGTERM or SIGINT.
 * burn exec MS: uses MS, then becomes `burn MS`.
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile unsigned long sink;

static long used_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

__attribute__((noinline)) static void use(long ms)
{
	long end = used_ms() + ms;

	while (ms < 0 || used_ms() < end)
		for (int i = 0; i < 20000; i++)
			sink += (unsigned long)i * sink;
}

static void *run(void *arg)
{
	use(*(long *)arg);
	return NULL;
}

static void use_in_threads(long ms, int count)
{
	pthread_t thread[64];

	for (int i = 0; i < count && i < 64; i++)
		pthread_create(&thread[i], NULL, run, &ms);
	for (int i = 0; i < count && i < 64; i++)
		pthread_join(thread[i], NULL);
}

static void child(long ms)
{
	if (fork() == 0) {
		use(ms);
		_exit(0);
	}
}

static void caught(int number)
{
	(void)number;
	_exit(7);
}

static void wait_for_signal(int catches)
{
	if (catches) {
		signal(SIGTERM, caught);
		signal(SIGINT, caught);
	}
	puts("ready");
	fflush(stdout);
	use(-1);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "100";
	long number = argc > 2 ? atol(argv[2]) : 1;

	if (!strcmp(what, "fork")) {
		for (long i = 0; i < number; i++)
			child(argc > 3 ? atol(argv[3]) : 50);
		while (wait(NULL) > 0)
			continue;
	} else if (!strcmp(what, "orphan")) {
		use(30);
		child(number);
	} else if (!strcmp(what, "wait") || !strcmp(what, "catch")) {
		wait_for_signal(!strcmp(what, "catch"));
	} else if (!strcmp(what, "exec")) {
		use(number);
		execl(argv[0], argv[0], argv[2], (char *)NULL);
	} else if (argc > 2) {
		use_in_threads(atol(what), (int)number);
	} else {
		use(atol(what));
	}
	puts("burnt");
	return 0;
}
