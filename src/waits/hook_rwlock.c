/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Read-write locks: tried first, as mutexes are. glibc checks a time limit and its clock before the
 * lock, so a call that it would refuse is not tried. A reader's event names the writer; that of a
 * writer that waits for readers names nobody.
 */
#include <sched.h>

#include "waits/hook_lock.h"

#define WAIT(kind, is_timed_out, call)                                                             \
	WEFT_WAITS_LOCK(kind, lock, weft_waits_rwlock_holder(lock), is_timed_out, call)

typedef int try_fn(pthread_rwlock_t *);

/* Called while the lock function itself is being looked up. */
static int hook_rwlock_lock_by_trying(try_fn *try, pthread_rwlock_t *lock)
{
	int result = 0;

	while (try && (result = try(lock)) == EBUSY)
		(void)sched_yield();
	return result;
}

static __attribute__((noinline)) int read_unseen(pthread_rwlock_t *lock)
{
	if (!weft_waits_have_pthread_rwlock_rdlock())
		return hook_rwlock_lock_by_trying(pthread_rwlock_tryrdlock, lock);
	return weft_waits_real_table.pthread_rwlock_rdlock(lock);
}

static __attribute__((noinline)) int write_unseen(pthread_rwlock_t *lock)
{
	if (!weft_waits_have_pthread_rwlock_wrlock())
		return hook_rwlock_lock_by_trying(pthread_rwlock_trywrlock, lock);
	return weft_waits_real_table.pthread_rwlock_wrlock(lock);
}

static __attribute__((noinline)) int wait_to_read(pthread_rwlock_t *lock)
{
	WAIT(WEFT_WAITS_RWLOCK_READ, 0, weft_waits_real_table.pthread_rwlock_rdlock(lock));
}

static __attribute__((noinline)) int wait_to_write(pthread_rwlock_t *lock)
{
	WAIT(WEFT_WAITS_RWLOCK_WRITE, 0, weft_waits_real_table.pthread_rwlock_wrlock(lock));
}

/* The call after the try is a tail call, so that it costs no more than itself. */
WEFT_API int pthread_rwlock_rdlock(pthread_rwlock_t *lock)
{
	int result;

	if (!weft_waits_is_on(WEFT_WAITS_LOCKS))
		return read_unseen(lock);
	result = weft_waits_real_table.pthread_rwlock_tryrdlock(lock);
	return __builtin_expect(result != EBUSY, 1) ? result : wait_to_read(lock);
}

WEFT_API int pthread_rwlock_wrlock(pthread_rwlock_t *lock)
{
	int result;

	if (!weft_waits_is_on(WEFT_WAITS_LOCKS))
		return write_unseen(lock);
	result = weft_waits_real_table.pthread_rwlock_trywrlock(lock);
	return __builtin_expect(result != EBUSY, 1) ? result : wait_to_write(lock);
}

/* The four with a time limit differ in the functions that try and that wait. */
#define TIMED(name, kind, try, clock, ...)                                                         \
	WEFT_WAITS_TRY(name, ENOSYS, weft_waits_may_try(clock, until),                             \
		       weft_waits_real_table.try(lock), EBUSY,                                     \
		       WAIT(kind, outcome == ETIMEDOUT, weft_waits_real_table.name(__VA_ARGS__)),  \
		       __VA_ARGS__)

WEFT_API int pthread_rwlock_timedrdlock(pthread_rwlock_t *lock, const struct timespec *until)
{
	TIMED(pthread_rwlock_timedrdlock, WEFT_WAITS_RWLOCK_READ, pthread_rwlock_tryrdlock,
	      CLOCK_REALTIME, lock, until);
}

WEFT_API int pthread_rwlock_timedwrlock(pthread_rwlock_t *lock, const struct timespec *until)
{
	TIMED(pthread_rwlock_timedwrlock, WEFT_WAITS_RWLOCK_WRITE, pthread_rwlock_trywrlock,
	      CLOCK_REALTIME, lock, until);
}

WEFT_API int pthread_rwlock_clockrdlock(pthread_rwlock_t *lock, clockid_t clock,
					const struct timespec *until)
{
	TIMED(pthread_rwlock_clockrdlock, WEFT_WAITS_RWLOCK_READ, pthread_rwlock_tryrdlock, clock,
	      lock, clock, until);
}

WEFT_API int pthread_rwlock_clockwrlock(pthread_rwlock_t *lock, clockid_t clock,
					const struct timespec *until)
{
	TIMED(pthread_rwlock_clockwrlock, WEFT_WAITS_RWLOCK_WRITE, pthread_rwlock_trywrlock, clock,
	      lock, clock, until);
}
