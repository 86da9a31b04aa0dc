/* SPDX-License-Identifier: Apache-2.0 */
/*
 * clock-user [SECONDS]: asks libc for the time again and again, for so many seconds of CPU time by
 * the kernel's own clock (2); prints "done" and the seconds of CLOCK_MONOTONIC.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static volatile long sum;

static double cpu_seconds(void)
{
	struct timespec now = {0};

	syscall(SYS_clock_gettime, CLOCK_THREAD_CPUTIME_ID, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static __attribute__((noinline)) void ask_the_time(double seconds)
{
	double until = cpu_seconds() + seconds;
	struct timespec now;

	while (cpu_seconds() < until)
		for (int i = 0; i < 10000; i++) {
			clock_gettime(CLOCK_MONOTONIC, &now);
			for (int k = 0; k < 50; k++)
				sum = sum + now.tv_nsec;
		}
}

int main(int argc, char **argv)
{
	struct timespec now;

	ask_the_time(argc > 1 ? atof(argv[1]) : 2);
	clock_gettime(CLOCK_MONOTONIC, &now);
	printf("done %ld\n", (long)now.tv_sec);
	return 0;
}
