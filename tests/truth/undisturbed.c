/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Measures as act() does, three times in a millisecond and beside two busy processes for each CPU:
 * do the kernel's ticks meet the thread as often as is due? Where the measure makes it lose its CPU
 * between two ticks (used.c) it is a fifth. Of some 150 ticks; a half is what is asked for.
 */
#include "truth.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define WORK_NS UINT64_C(600000000)
#define PART_NS 300000
#define HOGS_MAX 64

static volatile sig_atomic_t ticks;

uint64_t now_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void on_tick(int signo)
{
	(void)signo;
	ticks++;
}

static pid_t start_hog(void)
{
	pid_t child = fork();

	if (child)
		return child;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;)
		__asm__ volatile("");
}

static void tick(void)
{
	struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGPROF};
	struct itimerspec due = {.it_value = {0, 1000}, .it_interval = {0, 1000}};
	timer_t timer;

	signal(SIGPROF, on_tick);
	if (timer_create(CLOCK_THREAD_CPUTIME_ID, &event, &timer) ||
	    timer_settime(timer, 0, &due, NULL))
		abort();
}

static uint64_t work(void)
{
	struct used began;
	uint64_t all = 0, from;

	used_open();
	while (all < WORK_NS) {
		used_begin(&began);
		from = now_ns(CLOCK_MONOTONIC);
		while (now_ns(CLOCK_MONOTONIC) - from < PART_NS)
			;
		all += used_since(&began);
	}
	used_close();
	return all;
}

int main(void)
{
	long hogs = 2 * sysconf(_SC_NPROCESSORS_ONLN);
	pid_t hog[HOGS_MAX];
	struct timespec one;
	uint64_t used;
	double met;

	hogs = hogs < HOGS_MAX ? hogs : HOGS_MAX;
	for (long i = 0; i < hogs; i++)
		hog[i] = start_hog();
	clock_getres(CLOCK_MONOTONIC_COARSE, &one);
	tick();
	used = work();
	for (long i = 0; i < hogs; i++)
		if (hog[i] > 0) {
			kill(hog[i], SIGKILL);
			waitpid(hog[i], NULL, 0);
		}
	met = (double)ticks * (double)one.tv_nsec / (double)used;
	printf("%s 1 - a thread that is measured is met by ticks (%.2f of what is due)\n1..1\n",
	       met > 0.5 ? "ok" : "not ok", met);
	return met <= 0.5;
}
