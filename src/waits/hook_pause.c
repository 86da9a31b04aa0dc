/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Waits for descriptors to be ready, and for time to pass. libweft.so interposes those with a
 * signal mask, too, behind us. sleep and thrd_sleep have no errno that says how they ended; sleep
 * returns the rest of its time, which is not recorded.
 */
#include "waits/hook_io.h"

#define WAITS(name, parameters, arguments, operation, fd)                                          \
	WEFT_WAITS_CALL(int, name, parameters, arguments, operation, fd, 0, WEFT_WAITS_ERRNO)

static int only_one(const struct pollfd *fds, nfds_t count)
{
	return fds && count == 1 ? fds->fd : -1;
}

WAITS(poll, (struct pollfd * fds, nfds_t count, int timeout), (fds, count, timeout), poll,
      only_one(fds, count))
WAITS(__poll_chk, (struct pollfd * fds, nfds_t count, int timeout, size_t room),
      (fds, count, timeout, room), poll, only_one(fds, count))
WAITS(ppoll,
      (struct pollfd * fds, nfds_t count, const struct timespec *timeout, const sigset_t *mask),
      (fds, count, timeout, mask), ppoll, only_one(fds, count))
WAITS(__ppoll_chk,
      (struct pollfd * fds, nfds_t count, const struct timespec *timeout, const sigset_t *mask,
       size_t room),
      (fds, count, timeout, mask, room), ppoll, only_one(fds, count))
WAITS(select, (int count, fd_set *in, fd_set *out, fd_set *failed, struct timeval *timeout),
      (count, in, out, failed, timeout), select, -1)
WAITS(pselect,
      (int count, fd_set *in, fd_set *out, fd_set *failed, const struct timespec *timeout,
       const sigset_t *mask),
      (count, in, out, failed, timeout, mask), pselect, -1)
WAITS(epoll_wait, (int fd, struct epoll_event *events, int count, int timeout),
      (fd, events, count, timeout), epoll_wait, fd)
WAITS(epoll_pwait,
      (int fd, struct epoll_event *events, int count, int timeout, const sigset_t *mask),
      (fd, events, count, timeout, mask), epoll_pwait, fd)
WAITS(epoll_pwait2,
      (int fd, struct epoll_event *events, int count, const struct timespec *timeout,
       const sigset_t *mask),
      (fd, events, count, timeout, mask), epoll_pwait2, fd)

WAITS(nanosleep, (const struct timespec *time, struct timespec *left), (time, left), nanosleep, -1)
WAITS(usleep, (useconds_t us), (us), usleep, -1)
WEFT_WAITS_CALL(int, clock_nanosleep,
		(clockid_t clock, int flags, const struct timespec *time, struct timespec *left),
		(clock, flags, time, left), clock_nanosleep, -1, 0, result)
WEFT_WAITS_CALL(unsigned int, sleep, (unsigned int seconds), (seconds), sleep, -1, 0,
		result ? EINTR : 0)
WEFT_WAITS_CALL(int, thrd_sleep, (const struct timespec *time, struct timespec *left), (time, left),
		thrd_sleep, -1, 0, result == -1 ? EINTR : 0)
