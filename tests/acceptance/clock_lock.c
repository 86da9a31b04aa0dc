/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A library that stands before libc's clock_gettime, as libfaketime does: it takes a lock, tells
 * another time, and is as slow as a system call. Whoever calls it in a handler that has interrupted
 * it waits for ever.
 */
#include <pthread.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define AHEAD_SECONDS 100000

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

int clock_gettime(clockid_t clock, struct timespec *now)
{
	int result;

	pthread_mutex_lock(&lock);
	result = (int)syscall(SYS_clock_gettime, clock, now);
	pthread_mutex_unlock(&lock);
	if (result == 0 && clock != CLOCK_THREAD_CPUTIME_ID && clock != CLOCK_PROCESS_CPUTIME_ID)
		now->tv_sec += AHEAD_SECONDS;
	return result;
}
