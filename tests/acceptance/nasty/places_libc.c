/* SPDX-License-Identifier: Apache-2.0 */
/* Places inside the C library and the dynamic linker: see nasty.h. */
#include "nasty.h"

#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* ---- malloc: two threads, every size, and what was written there stays */

static int fill_and_look(unsigned int *seed)
{
	unsigned char *piece[64];
	int wrong = 0;

	for (int i = 0; i < 64; i++) {
		size_t bytes = 1 + (size_t)rand_r(seed) % (i % 16 ? 600 : 200000);

		piece[i] = malloc(bytes);
		if (!piece[i])
			return 1;
		piece[i][0] = piece[i][bytes - 1] = (unsigned char)i;
		if (i % 3 == 0)
			piece[i] = realloc(piece[i], bytes + 100);
	}
	for (int i = 0; i < 64; i++) {
		wrong |= piece[i][0] != i;
		free(piece[i]);
	}
	return wrong;
}

static void *malloc_too(void *unused)
{
	unsigned int seed = 2;
	intptr_t wrong = 0;

	(void)unused;
	while (more())
		wrong |= fill_and_look(&seed);
	return (void *)wrong;
}

NOINLINE int place_malloc(void)
{
	unsigned int seed = 1;
	pthread_t thread;
	void *theirs;
	int wrong = 0;

	if (pthread_create(&thread, NULL, malloc_too, NULL))
		return 1;
	while (more())
		wrong |= fill_and_look(&seed);
	pthread_join(thread, &theirs);
	return wrong || theirs;
}

/* ---- the dynamic linker */

typedef unsigned long (*run_fn)(unsigned long);

static void *open_library(const char *name, int how, const char *symbol, run_fn *run)
{
	char path[PATH_MAX];
	void *handle;

	snprintf(path, sizeof(path), "%s%s", own_directory(), name);
	handle = dlopen(path, how | RTLD_LOCAL);
	if (handle)
		*(void **)(void *)run = dlsym(handle, symbol);
	else
		fprintf(stderr, "%s\n", dlerror());
	return handle && *run ? handle : NULL;
}

/* The linker at work, more than what it loads. */
NOINLINE int place_dlopen(void)
{
	run_fn run;

	while (more()) {
		void *handle = open_library("libnasty-left.so", RTLD_NOW, "run_library", &run);

		if (!handle || run(1) != 42 || dlclose(handle))
			return 1;
	}
	return 0;
}

static NOINLINE unsigned long call_left(run_fn run)
{
	volatile unsigned long got = run(300000);

	return got;
}

static NOINLINE unsigned long call_right(run_fn run)
{
	volatile unsigned long got = run(300000);

	return got + 1;
}

/* One library lies where the other has been, in each round. */
NOINLINE int place_reload(void)
{
	run_fn run, last = NULL;
	unsigned long same = 0, rounds = 0;

	for (; more(); rounds++) {
		int left = rounds % 2 == 0;
		void *handle = open_library(left ? "libnasty-left.so" : "libnasty-right.so",
					    RTLD_NOW, "run_library", &run);

		if (!handle || (left ? call_left(run) : call_right(run)) != (left ? 42 : 44))
			return 1;
		same += run == last;
		last = run;
		dlclose(handle);
	}
	fprintf(stderr, "%lu of %lu at the same address\n", same, rounds);
	return 0;
}

/* Symbols that are resolved when they are first called. */
NOINLINE int place_lazy(void)
{
	run_fn run;

	while (more()) {
		void *handle = open_library("libnasty-left.so", RTLD_LAZY, "call_many", &run);

		if (!handle || run(1) != 12 || dlclose(handle))
			return 1;
	}
	return 0;
}

unsigned long nasty_empty(unsigned long x); /* in another library */

/* Most of the time is in a stub of the PLT and in what it calls, which is nothing. */
NOINLINE int place_plt(void)
{
	while (more())
		for (unsigned long i = 0; i < 100000; i++)
			if (nasty_empty(i) != i)
				return 1;
	return 0;
}

NOINLINE int place_vdso(void)
{
	struct timespec before = {0}, now;

	while (more())
		for (int i = 0; i < 10000; i++) {
			clock_gettime(CLOCK_MONOTONIC, &now);
			if (now.tv_sec < before.tv_sec || now.tv_nsec > 999999999)
				return 1;
			before = now;
		}
	return 0;
}

/* ---- the end of a thread */

#define END_TURNS 60000

static pthread_key_t at_end;
static _Atomic unsigned long ended, ended_wrong;
static __thread char own[2000];

static NOINLINE void burn_destructor(void *value)
{
	ended_wrong += (unsigned long)burnt_wrong(burn(END_TURNS), END_TURNS);
	ended_wrong += own[1999] != *(char *)value;
	ended++;
	free(value);
}

static void begin_thread(void)
{
	char *value = malloc(1);

	if (!value)
		abort();
	*value = own[1999] = 7;
	pthread_setspecific(at_end, value);
}

static void *leave(void *arg)
{
	begin_thread();
	if (arg)
		pthread_exit(arg);
	return arg;
}

static int threads_end(void *(*run)(void *), int cancelled)
{
	unsigned long begun = 0;

	if (pthread_key_create(&at_end, burn_destructor))
		return 1;
	while (more()) {
		pthread_t thread[4];
		void *result;

		for (size_t i = 0; i < 4; i++)
			if (pthread_create(&thread[i], NULL, run, (void *)(i % 2)))
				return 1;
		for (size_t i = 0; i < 4; i++) {
			if (cancelled)
				pthread_cancel(thread[i]);
			if (pthread_join(thread[i], &result) ||
			    result != (cancelled ? PTHREAD_CANCELED : (void *)(i % 2)))
				return 1;
		}
		begun += 4;
	}
	return ended_wrong || ended != begun;
}

NOINLINE int place_thread_exit(void)
{
	return threads_end(leave, 0);
}

static NOINLINE void burn_cleanup(void *unused)
{
	(void)unused;
	ended_wrong += (unsigned long)burnt_wrong(burn(END_TURNS), END_TURNS);
}

static void *wait_for_cancel(void *unused)
{
	int old;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &old);
	begin_thread();
	pthread_setcancelstate(old, &old);
	pthread_cleanup_push(burn_cleanup, NULL);
	for (;;)
		pause();
	pthread_cleanup_pop(0);
	return unused;
}

NOINLINE int place_cancel(void)
{
	return threads_end(wait_for_cancel, 1);
}

/* ---- processes */

#define FORK_TURNS 100000

static unsigned long fork_handlers;

static NOINLINE void burn_at_fork(void)
{
	fork_handlers += !burnt_wrong(burn(FORK_TURNS), FORK_TURNS);
}

NOINLINE int place_fork(void)
{
	unsigned long forks = 0;

	if (pthread_atfork(burn_at_fork, burn_at_fork, burn_at_fork))
		return 1;
	while (more()) {
		int status = -1;
		pid_t pid = fork();

		if (pid == 0) {
			void *piece = malloc(100);

			free(piece);
			_exit(fork_handlers == 2 * forks + 2 ? 5 : 6);
		}
		if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status) ||
		    WEXITSTATUS(status) != 5)
			return 1;
		forks++;
	}
	return fork_handlers != 2 * forks;
}

/* Nobody should do this; it must work all the same, and be over before the parent goes on. */
static NOINLINE void burn_in_vfork(char *const *command)
{
	if (burnt_wrong(burn(2000000), 2000000))
		_exit(6);
	execv(command[0], command);
	_exit(7);
}

NOINLINE int place_vfork(void)
{
	char *const command[] = {(char[]){"/bin/true"}, NULL};

	while (more()) {
		int status = -1;
		pid_t pid = vfork();

		if (pid == 0)
			burn_in_vfork(command);
		if (pid < 0 || waitpid(pid, &status, 0) != pid || status != 0)
			return 1;
		if (burnt_wrong(burn(2000000), 2000000))
			return 1;
	}
	return 0;
}
