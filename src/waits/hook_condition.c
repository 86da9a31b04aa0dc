/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Condition variables and semaphores. A wait for a condition is always recorded; its time includes
 * taking the mutex again. Both are cancellation points: a cancelled wait leaves no event. A
 * semaphore is tried first, after the check for cancellation with which libc's own wait begins.
 */
#include "waits/hook_lock.h"

/* @missing: what is returned where libc has no such function. */
#define WAIT(name, missing, timed_out, ...)                                                        \
	do {                                                                                       \
		if (!weft_waits_have_##name())                                                     \
			return missing;                                                            \
		if (!weft_waits_is_on(WEFT_WAITS_LOCKS))                                           \
			return weft_waits_real_table.name(__VA_ARGS__);                            \
		WEFT_WAITS_LOCK(WEFT_WAITS_CONDITION, condition, 0, outcome == (timed_out),        \
				weft_waits_real_table.name(__VA_ARGS__));                          \
	} while (0)

WEFT_API int pthread_cond_wait(pthread_cond_t *condition, pthread_mutex_t *mutex)
{
	WAIT(pthread_cond_wait, ENOSYS, ETIMEDOUT, condition, mutex);
}

WEFT_API int pthread_cond_timedwait(pthread_cond_t *condition, pthread_mutex_t *mutex,
				    const struct timespec *until)
{
	WAIT(pthread_cond_timedwait, ENOSYS, ETIMEDOUT, condition, mutex, until);
}

WEFT_API int pthread_cond_clockwait(pthread_cond_t *condition, pthread_mutex_t *mutex,
				    clockid_t clock, const struct timespec *until)
{
	WAIT(pthread_cond_clockwait, ENOSYS, ETIMEDOUT, condition, mutex, clock, until);
}

WEFT_API int cnd_wait(cnd_t *condition, mtx_t *mutex)
{
	WAIT(cnd_wait, thrd_error, thrd_timedout, condition, mutex);
}

WEFT_API int cnd_timedwait(cnd_t *restrict condition, mtx_t *restrict mutex,
			   const struct timespec *restrict until)
{
	WAIT(cnd_timedwait, thrd_error, thrd_timedout, condition, mutex, until);
}

/* ---- semaphores */

static int hook_condition_is_taken(sem_t *semaphore)
{
	int saved = errno, failed;

	pthread_testcancel();
	failed = weft_waits_real_table.sem_trywait(semaphore);
	errno = saved;
	return !failed;
}

#define WAIT_FOR_SEMAPHORE(name, may_try, ...)                                                     \
	do {                                                                                       \
		if (!weft_waits_have_##name()) {                                                   \
			errno = ENOSYS;                                                            \
			return -1;                                                                 \
		}                                                                                  \
		if (!weft_waits_is_on(WEFT_WAITS_LOCKS) || !(may_try))                             \
			return weft_waits_real_table.name(__VA_ARGS__);                            \
		if (hook_condition_is_taken(semaphore))                                            \
			return 0;                                                                  \
		WEFT_WAITS_LOCK(WEFT_WAITS_SEMAPHORE, semaphore, 0, outcome &&errno == ETIMEDOUT,  \
				weft_waits_real_table.name(__VA_ARGS__));                          \
	} while (0)

WEFT_API int sem_wait(sem_t *semaphore)
{
	WAIT_FOR_SEMAPHORE(sem_wait, 1, semaphore);
}

WEFT_API int sem_timedwait(sem_t *semaphore, const struct timespec *until)
{
	WAIT_FOR_SEMAPHORE(sem_timedwait, weft_waits_may_try(CLOCK_REALTIME, until), semaphore,
			   until);
}

WEFT_API int sem_clockwait(sem_t *semaphore, clockid_t clock, const struct timespec *until)
{
	WAIT_FOR_SEMAPHORE(sem_clockwait, weft_waits_may_try(clock, until), semaphore, clock,
			   until);
}
