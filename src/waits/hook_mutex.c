/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Mutexes and C11's. A mutex is tried first: 0 and EOWNERDEAD mean that it is had. What else the
 * try says is said again, or differently (EDEADLK), by the call itself.
 */
#include <errno.h>
#include <sched.h>

#include "waits/real.h"
#include "waits/waits.h"

static int is_had(int result)
{
	return result == 0 || result == EOWNERDEAD;
}

/* Within a look-up of the lock function itself. */
static int lock_by_trying(pthread_mutex_t *mutex)
{
	int result = 0;

	while (pthread_mutex_trylock && (result = pthread_mutex_trylock(mutex)) == EBUSY)
		(void)sched_yield();
	return result;
}

static __attribute__((noinline)) int lock_unseen(pthread_mutex_t *mutex)
{
	if (!weft_waits_have_pthread_mutex_lock())
		return lock_by_trying(mutex);
	return weft_waits_real_table.pthread_mutex_lock(mutex);
}

static __attribute__((noinline)) int wait_for(pthread_mutex_t *mutex)
{
	int32_t holder = weft_waits_mutex_holder(mutex);
	struct weft_event event;
	int result;

	weft_waits_start(&event, WEFT_WAITS_LOCKS);
	result = weft_waits_real_table.pthread_mutex_lock(mutex);
	weft_waits_lock_done(&event, WEFT_WAITS_MUTEX, mutex, holder, 0);
	return result;
}

/* What comes behind the try is jumped to, so that it costs no more than itself. */
WEFT_API int pthread_mutex_lock(pthread_mutex_t *mutex)
{
	int result;

	if (!weft_waits_is_on(WEFT_WAITS_LOCKS))
		return lock_unseen(mutex);
	result = pthread_mutex_trylock(mutex);
	if (__builtin_expect(is_had(result), 1))
		return result;
	return wait_for(mutex);
}

WEFT_API int pthread_mutex_timedlock(pthread_mutex_t *mutex, const struct timespec *until)
{
	struct weft_event event;
	int32_t holder;
	int result;

	if (!weft_waits_have_pthread_mutex_timedlock())
		return ENOSYS;
	if (!weft_waits_is_on(WEFT_WAITS_LOCKS))
		return weft_waits_real_table.pthread_mutex_timedlock(mutex, until);
	result = pthread_mutex_trylock(mutex);
	if (is_had(result))
		return result;
	holder = weft_waits_mutex_holder(mutex);
	weft_waits_start(&event, WEFT_WAITS_LOCKS);
	result = weft_waits_real_table.pthread_mutex_timedlock(mutex, until);
	weft_waits_lock_done(&event, WEFT_WAITS_MUTEX, mutex, holder, result == ETIMEDOUT);
	return result;
}

/* A clock that it does not know is refused before anything else is looked at. */
WEFT_API int pthread_mutex_clocklock(pthread_mutex_t *mutex, clockid_t clock,
				     const struct timespec *until)
{
	struct weft_event event;
	int32_t holder;
	int result;

	if (!weft_waits_have_pthread_mutex_clocklock())
		return ENOSYS;
	if (!weft_waits_is_on(WEFT_WAITS_LOCKS) ||
	    (clock != CLOCK_REALTIME && clock != CLOCK_MONOTONIC))
		return weft_waits_real_table.pthread_mutex_clocklock(mutex, clock, until);
	result = pthread_mutex_trylock(mutex);
	if (is_had(result))
		return result;
	holder = weft_waits_mutex_holder(mutex);
	weft_waits_start(&event, WEFT_WAITS_LOCKS);
	result = weft_waits_real_table.pthread_mutex_clocklock(mutex, clock, until);
	weft_waits_lock_done(&event, WEFT_WAITS_MUTEX, mutex, holder, result == ETIMEDOUT);
	return result;
}

WEFT_API int mtx_lock(mtx_t *mutex)
{
	struct weft_event event;
	int32_t holder;
	int result;

	if (!weft_waits_have_mtx_lock())
		return thrd_error;
	if (!weft_waits_is_on(WEFT_WAITS_LOCKS))
		return weft_waits_real_table.mtx_lock(mutex);
	result = weft_waits_real_table.mtx_trylock(mutex);
	if (result == thrd_success)
		return result;
	holder = weft_waits_mutex_holder(mutex);
	weft_waits_start(&event, WEFT_WAITS_LOCKS);
	result = weft_waits_real_table.mtx_lock(mutex);
	weft_waits_lock_done(&event, WEFT_WAITS_MUTEX, mutex, holder, 0);
	return result;
}

WEFT_API int mtx_timedlock(mtx_t *restrict mutex, const struct timespec *restrict until)
{
	struct weft_event event;
	int32_t holder;
	int result;

	if (!weft_waits_have_mtx_timedlock())
		return thrd_error;
	if (!weft_waits_is_on(WEFT_WAITS_LOCKS))
		return weft_waits_real_table.mtx_timedlock(mutex, until);
	result = weft_waits_real_table.mtx_trylock(mutex);
	if (result == thrd_success)
		return result;
	holder = weft_waits_mutex_holder(mutex);
	weft_waits_start(&event, WEFT_WAITS_LOCKS);
	result = weft_waits_real_table.mtx_timedlock(mutex, until);
	weft_waits_lock_done(&event, WEFT_WAITS_MUTEX, mutex, holder, result == thrd_timedout);
	return result;
}
