/* SPDX-License-Identifier: Apache-2.0 */
/*
 * come-and-go SECONDS LIBRARY...: loads each library in turn, runs it for a few milliseconds of
 * CPU time below a function that has its number (run_0, run_1, ...), and unloads it, so that
 * one after the other lies at the same address. Says how often a library came to lie where
 * another had been.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define LIBRARIES_MAX 4

typedef unsigned long (*run_fn)(unsigned long);

static volatile unsigned long sink;

/* noipa: each stays a function of its own, with a frame. */
#define RUN(number)                                                                                \
	__attribute__((noinline)) static void run_##number(run_fn run, unsigned long rounds)       \
	{                                                                                          \
		sink += run(rounds) + number;                                                      \
	}
RUN(0)
RUN(1)
RUN(2)
RUN(3)

static void (*const runners[LIBRARIES_MAX])(run_fn, unsigned long) = {run_0, run_1, run_2, run_3};

static double cpu_seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Runs one library; the address of its function. */
static uintptr_t visit(const char *path, int number, unsigned long rounds)
{
	void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	run_fn run;
	uintptr_t at;

	if (!handle) {
		fprintf(stderr, "%s\n", dlerror());
		exit(2);
	}
	*(void **)(void *)&run = dlsym(handle, "plugin_run");
	at = (uintptr_t)run;
	runners[number](run, rounds);
	dlclose(handle);
	return at;
}

int main(int argc, char **argv)
{
	double until = argc > 2 ? cpu_seconds() + atof(argv[1]) : 0;
	uintptr_t last[LIBRARIES_MAX] = {0};
	unsigned long visits = 0, shared = 0;
	int libraries = argc - 2;

	if (libraries < 1 || libraries > LIBRARIES_MAX)
		return 2;
	while (cpu_seconds() < until) {
		int number = (int)(visits % (unsigned long)libraries);
		int before =
			(int)((visits + (unsigned long)libraries - 1) % (unsigned long)libraries);

		/* 1 to 8 ms, so that borders fall everywhere between two samples. */
		last[number] = visit(argv[2 + number], number, 700000 + visits % 7 * 700000);
		shared += visits && last[number] >> 16 == last[before] >> 16;
		visits++;
	}
	printf("%lu visits, %lu where another was\n", visits, shared);
	return 0;
}
