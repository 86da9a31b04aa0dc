/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Mutexes, pthread's and C11's. A mutex is tried first. Only if that returns "busy" the call itself
 * is made, which may return another error (EDEADLK). Any other result of a try would be the call's,
 * too, and calling again might not give it: the first try of a mutex with a priority ceiling
 * changes what the next one finds.
 *
 * glibc's robust mutexes are not tried: a try of one that is not recoverable reports that, and
 * leaves it locked for ever. Their owner is read instead, and only a wait for one that is held is
 * timed.
 */
#include <sched.h>

#include "waits/hook_lock.h"

#define WAIT(is_timed_out, call)                                                                   \
	WEFT_WAITS_LOCK(WEFT_WAITS_MUTEX, mutex, weft_waits_mutex_holder(mutex), is_timed_out, call)

/* Called while the lock function itself is being looked up. */
static int hook_mutex_lock_by_trying(pthread_mutex_t *mutex)
{
	int result = 0;

	while (pthread_mutex_trylock && (result = pthread_mutex_trylock(mutex)) == EBUSY)
		(void)sched_yield();
	return result;
}

static __attribute__((noinline)) int lock_unseen(pthread_mutex_t *mutex)
{
	if (!weft_waits_have_pthread_mutex_lock())
		return hook_mutex_lock_by_trying(mutex);
	return weft_waits_real_table.pthread_mutex_lock(mutex);
}

static __attribute__((noinline)) int wait_for(pthread_mutex_t *mutex)
{
	WAIT(0, weft_waits_real_table.pthread_mutex_lock(mutex));
}

static __attribute__((noinline)) int lock_robust(pthread_mutex_t *mutex)
{
	return weft_waits_is_taken(mutex) ? wait_for(mutex)
					  : weft_waits_real_table.pthread_mutex_lock(mutex);
}

/* The call after the try is a tail call, so that it costs no more than itself. */
WEFT_API int pthread_mutex_lock(pthread_mutex_t *mutex)
{
	int result;

	if (!weft_waits_is_on(WEFT_WAITS_LOCKS))
		return lock_unseen(mutex);
	if (__builtin_expect(weft_waits_is_robust(mutex), 0))
		return lock_robust(mutex);
	result = weft_waits_real_table.pthread_mutex_trylock(mutex);
	if (__builtin_expect(result != EBUSY, 1))
		return result;
	return wait_for(mutex);
}

static int is_free_robust(const pthread_mutex_t *mutex)
{
	return weft_waits_is_robust(mutex) && !weft_waits_is_taken(mutex);
}

static int try_unless_robust(pthread_mutex_t *mutex)
{
	return weft_waits_is_robust(mutex) ? EBUSY
					   : weft_waits_real_table.pthread_mutex_trylock(mutex);
}

#define TIMED(name, may_try, ...)                                                                  \
	WEFT_WAITS_TRY(name, ENOSYS, !is_free_robust(mutex) && (may_try),                          \
		       try_unless_robust(mutex), EBUSY,                                            \
		       WAIT(outcome == ETIMEDOUT, weft_waits_real_table.name(__VA_ARGS__)),        \
		       __VA_ARGS__)

WEFT_API int pthread_mutex_timedlock(pthread_mutex_t *mutex, const struct timespec *until)
{
	TIMED(pthread_mutex_timedlock, 1, mutex, until);
}

/* An unknown clock is refused before anything else is checked. */
WEFT_API int pthread_mutex_clocklock(pthread_mutex_t *mutex, clockid_t clock,
				     const struct timespec *until)
{
	TIMED(pthread_mutex_clocklock, clock == CLOCK_REALTIME || clock == CLOCK_MONOTONIC, mutex,
	      clock, until);
}

/* C11's. */
#define LOCK(name, ...)                                                                            \
	WEFT_WAITS_TRY(name, thrd_error, 1, weft_waits_real_table.mtx_trylock(mutex), thrd_busy,   \
		       WAIT(outcome == thrd_timedout, weft_waits_real_table.name(__VA_ARGS__)),    \
		       __VA_ARGS__)

WEFT_API int mtx_lock(mtx_t *mutex)
{
	LOCK(mtx_lock, mutex);
}

WEFT_API int mtx_timedlock(mtx_t *restrict mutex, const struct timespec *restrict until)
{
	LOCK(mtx_timedlock, mutex, until);
}
