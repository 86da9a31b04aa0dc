/* SPDX-License-Identifier: Apache-2.0 */
/*
 * raw-masks: a program with handlers for SIGPROF and SIGURG, as a runtime of a language has, that
 * blocks signals by libc and opens them by system calls of its own.
 *
 *   raw-masks thread   in threads that are created with all signals blocked: Go with cgo does so
 *   raw-masks self     in the thread that has blocked them
 *   raw-masks one      likewise, SIGPROF alone
 *   raw-masks kernel   likewise, without a handler for SIGURG (so it may have an hrtimer); its CPU
 *                      time is the kernel's, and no SIGPROF tells that the mask is open
 *
 * Each burns CPU time then, and prints how much: "used SECONDS". A SIGPROF that is raised while
 * it is blocked must come once, after it was opened: "caught N".
 */
#include <fcntl.h>
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

/* Nearly all of it in read(2), which any signal may cut short. */
static __attribute__((noinline)) void burn_in_kernel(double seconds)
{
	static char room[1 << 20];
	double until = cpu_seconds() + seconds;
	int fd = open("/dev/zero", O_RDONLY | O_CLOEXEC);

	while (cpu_seconds() < until)
		if (read(fd, room, sizeof(room)) <= 0)
			exit(1);
	close(fd);
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

static void in_itself(int is_all, void (*burn)(double seconds))
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGPROF);
	if (is_all)
		sigfillset(&set);
	pthread_sigmask(SIG_SETMASK, &set, NULL);
	if (burn == burn_opened)
		raise(SIGPROF);
	open_raw();
	burn(THREADS * BURN_SECONDS);
	printf("used %.3f\n", THREADS * BURN_SECONDS);
}

int main(int argc, char **argv)
{
	const char *kind = argc == 2 ? argv[1] : "";
	struct sigaction action;

	memset(&action, 0, sizeof(action));
	action.sa_handler = catch;
	action.sa_flags = SA_RESTART;
	sigaction(SIGPROF, &action, NULL);
	if (strcmp(kind, "kernel") != 0)
		sigaction(SIGURG, &action, NULL);
	if (!strcmp(kind, "thread"))
		in_threads();
	else if (!strcmp(kind, "kernel"))
		in_itself(0, burn_in_kernel);
	else
		in_itself(strcmp(kind, "one") != 0, burn_opened);
	printf("caught %d\n", (int)caught);
	return 0;
}
