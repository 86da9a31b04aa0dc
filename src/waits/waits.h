/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libweft-waits.so: a preload beside libweft.so that interposes the functions that wait, for a lock
 * (weft.LockWait) or for the world outside (weft.IOWait), and makes events of the waits.
 *
 * A wrapper reads the row of its event type, which is libweft.so's: if it is off, the next function
 * of that name is called, for the cost of a branch. A lock is tried first, so that only a held one
 * costs more. A wrapper keeps no state of its thread, takes no lock, allocates nothing and leaves
 * errno alone, so that it may be left by cancellation or longjmp, and used in handlers, in malloc,
 * and before any constructor.
 *
 * WEFT_WAITS=locks,io selects groups (unset: both). libweft.so's event functions are looked up at
 * start; without them, or before that, all is off.
 *
 *   begin.c           groups, and libweft.so's functions
 *   hook_mutex.c      mutexes
 *   hook_rwlock.c     locks for readers and writers
 *   hook_condition.c  condition variables
 *   hook_lock.h       what these three share
 *   hook_transfer.c   read, write, send, receive
 *   hook_pause.c      poll, sleep and their like
 *   hook_io.h         what those two share
 *   holder.c          who holds a lock
 *   real.c            libc's own functions
 */
#ifndef WEFT_WAITS_WAITS_H
#define WEFT_WAITS_WAITS_H

#include <weft/event.h>

#include "base/atomic.h"

enum weft_waits_group {
	WEFT_WAITS_LOCKS,
	WEFT_WAITS_IO,
	WEFT_WAITS_GROUPS,
};

/* The kind of a lock in its event. */
enum weft_waits_kind {
	WEFT_WAITS_MUTEX,
	WEFT_WAITS_RWLOCK_READ,
	WEFT_WAITS_RWLOCK_WRITE,
	WEFT_WAITS_CONDITION,
	WEFT_WAITS_SEMAPHORE,
	WEFT_WAITS_KINDS,
};

/* The operations that wait. The text in the event is the function's name. */
/* clang-format off */
#define WEFT_WAITS_OPERATIONS(X) \
	X(read) X(pread) X(readv) X(preadv) X(preadv2) \
	X(write) X(pwrite) X(writev) X(pwritev) X(pwritev2) \
	X(recv) X(recvfrom) X(recvmsg) X(recvmmsg) \
	X(send) X(sendto) X(sendmsg) X(sendmmsg) X(sendfile) \
	X(accept) X(accept4) X(connect) X(fsync) X(fdatasync) \
	X(poll) X(ppoll) X(select) X(pselect) X(epoll_wait) X(epoll_pwait) X(epoll_pwait2) \
	X(nanosleep) X(clock_nanosleep) X(sleep) X(usleep) X(thrd_sleep)
/* clang-format on */

enum weft_waits_operation {
#define WEFT_WAITS_NAME(name) WEFT_WAITS_##name,
	WEFT_WAITS_OPERATIONS(WEFT_WAITS_NAME)
#undef WEFT_WAITS_NAME
		WEFT_WAITS_OPERATION_COUNT,
};

#pragma GCC visibility push(hidden)

/* For each group the row of its type; one that is off until there is a type. */
extern const struct weft_event_row *weft_waits_rows[WEFT_WAITS_GROUPS];

static inline int weft_waits_is_on(enum weft_waits_group group)
{
	const struct weft_event_row *row = load_acquire(&weft_waits_rows[group]);

	return (load_relaxed(&row->flags) & WEFT_EVENT_ON) != 0;
}

/* Only for a group that is on. */
void weft_waits_start(struct weft_event *event, enum weft_waits_group group);

/* The wait is over. @holder: thread id of who held the lock; 0 = not known. errno is unchanged. */
void weft_waits_lock_done(struct weft_event *event, enum weft_waits_kind kind, const void *lock,
			  int32_t holder, int is_timed_out);

/* @fd: -1 = none. @bytes: moved. @error: 0 = none. errno is unchanged. */
void weft_waits_io_done(struct weft_event *event, enum weft_waits_operation operation, int fd,
			int64_t bytes, int error);

void weft_waits_holder_open(void); /* in the constructor */

/* Thread id of the present holder, as far as this libc's own words say; 0 = not known. */
int32_t weft_waits_mutex_holder(const void *mutex);
int32_t weft_waits_rwlock_holder(const void *rwlock);

/* The bit of a mutex's kind that marks one that must not be tried (robust); 0 in musl. */
extern int32_t weft_waits_robust_bit;

static inline int weft_waits_is_robust(const void *mutex)
{
	return (((const int32_t *)mutex)[4] & weft_waits_robust_bit) != 0;
}

/* of a robust one: is it held by a thread that lives? */
int weft_waits_is_taken(const void *mutex);

#pragma GCC visibility pop
#endif
