/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All calls that libweft-waits.so stands before, each in the cases that it has: what they return,
 * and errno. The same program is run with the library and without it; its output must be the same.
 */
#ifndef TESTS_WAITS_CALLS_H
#define TESTS_WAITS_CALLS_H

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* One line: what, its result, errno (which is set to a number that none is, before). */
#define ERRNO_BEFORE 4095
#define CALL(what, expression)                                                                     \
	do {                                                                                       \
		long long calls_result_;                                                           \
		errno = ERRNO_BEFORE;                                                              \
		calls_result_ = (long long)(expression);                                           \
		printf("%s: %s = %lld errno %d\n", (what), #expression, calls_result_, errno);     \
	} while (0)

/* musl's waits go round for ever with a limit that is none. */
#ifdef __GLIBC__
#define IF_LIMITS_ARE_CHECKED(statement) statement
#else
#define IF_LIMITS_ARE_CHECKED(statement) (void)sizeof(bad)
#endif

void calls_locks(void);
void calls_conditions(void);
void calls_io(void);
void calls_cancel(void);

static inline struct timespec calls_after(clockid_t clock, long ms)
{
	struct timespec at;

	clock_gettime(clock, &at);
	at.tv_nsec += ms * 1000000;
	at.tv_sec += at.tv_nsec / 1000000000;
	at.tv_nsec %= 1000000000;
	return at;
}

/* @run in a thread of its own, to its end. */
static inline void calls_elsewhere(void *(*run)(void *), void *argument)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, run, argument) || pthread_join(thread, NULL))
		abort();
}

#endif
