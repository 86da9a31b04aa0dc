/* SPDX-License-Identifier: Apache-2.0 */
/*
 * clock-user [CALLS]: asks libc for the time again and again, and loads a library now and then;
 * prints "done" and the seconds of CLOCK_MONOTONIC.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static volatile long sum;

static __attribute__((noinline)) void ask_the_time(long calls)
{
	struct timespec now;

	for (long i = 0; i < calls; i++) {
		clock_gettime(CLOCK_MONOTONIC, &now);
		for (int k = 0; k < 50; k++)
			sum = sum + now.tv_nsec;
	}
}

int main(int argc, char **argv)
{
	struct timespec now;

	ask_the_time(argc > 1 ? atol(argv[1]) : 5000000);
	clock_gettime(CLOCK_MONOTONIC, &now);
	printf("done %ld\n", (long)now.tv_sec);
	return 0;
}
