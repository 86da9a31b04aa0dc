/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Condition variables and semaphores. A wait for a condition is always recorded; its time includes
 * taking the mutex again. Both are cancellation points: a cancelled wait leaves no event. A
 * semaphore is tried first, after the check for cancellation with which libc's own wait begins.
 */
#include "waits/hook_lock.h"

#define WAIT(name, timed_out, ...)                                                                 \
	do {                                                                                       \
		if (!weft_waits_is_on(WEFT_WAITS_LOCKS))                                           \
			return weft_waits_real_table.name(__VA_ARGS__);                            \
		WEFT_WAITS_LOCK(WEFT_WAITS_CONDITION, condition, 0, outcome == (timed_out),        \
				weft_waits_real_table.name(__VA_ARGS__));                          \
	} while (0)

WEFT_API int pthread_cond_wait(pthread_cond_t *condition, pthread_mutex_t *mutex)
{
	if (!weft_waits_have_pthread_cond_wait())
		return ENOSYS;
	WAIT(pthread_cond_wait, ETIMEDOUT, condition, mutex);
}

WEFT_API int pthread_cond_timedwait(pthread_cond_t *condition, pthread_mutex_t *mutex,
				    const struct timespec *until)
{
	if (!weft_waits_have_pthread_cond_timedwait())
		return ENOSYS;
	WAIT(pthread_cond_timedwait, ETIMEDOUT, condition, mutex, until);
}

WEFT_API int pthread_cond_clockwait(pthread_cond_t *condition, pthread_mutex_t *mutex,
				    clockid_t clock, const struct timespec *until)
{
	if (!weft_waits_have_pthread_cond_clockwait())
		return ENOSYS;
	WAIT(pthread_cond_clockwait, ETIMEDOUT, condition, mutex, clock, until);
}

WEFT_API int cnd_wait(cnd_t *condition, mtx_t *mutex)
{
	if (!weft_waits_have_cnd_wait())
		return thrd_error;
	WAIT(cnd_wait, thrd_timedout, condition, mutex);
}

WEFT_API int cnd_timedwait(cnd_t *restrict condition, mtx_t *restrict mutex,
			   const struct timespec *restrict until)
{
	if (!weft_waits_have_cnd_timedwait())
		return thrd_error;
	WAIT(cnd_timedwait, thrd_timedout, condition, mutex, until);
}

/* ---- semaphores */

static int hook_condition_is_taken(sem_t *semaphore)
{
	int saved = errno, failed;

	pthread_testcancel();
	failed = sem_trywait(semaphore);
	errno = saved;
	return !failed;
}

static int hook_condition_missing(void)
{
	errno = ENOSYS;
	return -1;
}

#define WAIT_FOR_SEMAPHORE(call)                                                                   \
	WEFT_WAITS_LOCK(WEFT_WAITS_SEMAPHORE, semaphore, 0, outcome &&errno == ETIMEDOUT, call)

WEFT_API int sem_wait(sem_t *semaphore)
{
	if (!weft_waits_have_sem_wait())
		return hook_condition_missing();
	if (!weft_waits_is_on(WEFT_WAITS_LOCKS))
		return weft_waits_real_table.sem_wait(semaphore);
	if (hook_condition_is_taken(semaphore))
		return 0;
	WAIT_FOR_SEMAPHORE(weft_waits_real_table.sem_wait(semaphore));
}

WEFT_API int sem_timedwait(sem_t *semaphore, const struct timespec *until)
{
	if (!weft_waits_have_sem_timedwait())
		return hook_condition_missing();
	if (!weft_waits_is_on(WEFT_WAITS_LOCKS) || !weft_waits_may_try(CLOCK_REALTIME, until))
		return weft_waits_real_table.sem_timedwait(semaphore, until);
	if (hook_condition_is_taken(semaphore))
		return 0;
	WAIT_FOR_SEMAPHORE(weft_waits_real_table.sem_timedwait(semaphore, until));
}

WEFT_API int sem_clockwait(sem_t *semaphore, clockid_t clock, const struct timespec *until)
{
	if (!weft_waits_have_sem_clockwait())
		return hook_condition_missing();
	if (!weft_waits_is_on(WEFT_WAITS_LOCKS) || !weft_waits_may_try(clock, until))
		return weft_waits_real_table.sem_clockwait(semaphore, clock, until);
	if (hook_condition_is_taken(semaphore))
		return 0;
	WAIT_FOR_SEMAPHORE(weft_waits_real_table.sem_clockwait(semaphore, clock, until));
}
