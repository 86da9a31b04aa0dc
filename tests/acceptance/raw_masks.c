/* SPDX-License-Identifier: Apache-2.0 */
/*
 * raw-masks: a program with handlers for SIGPROF and SIGURG, as a runtime of a language has, that
 * blocks signals by libc and opens them by system calls of its own.
 *
 *   raw-masks thread   in threads that are created with all signals blocked: Go with cgo does so
 *   raw-masks self     in the thread that has blocked them
 *
 * Either burns CPU time then, and prints how much: "used SECONDS". A SIGPROF that is raised while
 * it is blocked must come once, after it was opened: "caught N".
 */
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define THREADS 4
#define BURN_SECONDS 0.7

static volatile sig_atomic_t caught;
static volatile unsigned long sink;

static void catch (int signo)
{
	if (signo == SIGPROF)
		caught = caught + 1;
}

static double cpu_seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static __attribute__((noinline)) void burn_opened(double seconds)
{
	double until = cpu_seconds() + seconds;

	while (cpu_seconds() < until)
		for (int i = 0; i < 100000; i++)
			sink = sink + (unsigned long)i;
}

static void open_raw(void)
{
	uint64_t none = 0;

	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &none, NULL, sizeof(none));
}

static void *run(void *arg)
{
	open_raw();
	burn_opened(BURN_SECONDS);
	return arg;
}

static void in_threads(void)
{
	pthread_t thread[THREADS];
	sigset_t all, before;

	sigfillset(&all);
	for (int i = 0; i < THREADS; i++) {
		pthread_sigmask(SIG_SETMASK, &all, &before);
		if (pthread_create(&thread[i], NULL, run, NULL))
			exit(1);
		pthread_sigmask(SIG_SETMASK, &before, NULL);
	}
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	printf("used %.3f\n", THREADS * BURN_SECONDS);
}

static void in_itself(void)
{
	sigset_t all;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, NULL);
	raise(SIGPROF);
	open_raw();
	burn_opened(THREADS * BURN_SECONDS);
	printf("used %.3f\n", THREADS * BURN_SECONDS);
}

int main(int argc, char **argv)
{
	struct sigaction action;

	memset(&action, 0, sizeof(action));
	action.sa_handler = catch;
	action.sa_flags = SA_RESTART;
	sigaction(SIGPROF, &action, NULL);
	sigaction(SIGURG, &action, NULL);
	if (argc == 2 && !strcmp(argv[1], "thread"))
		in_threads();
	else
		in_itself();
	printf("caught %d\n", (int)caught);
	return 0;
}
