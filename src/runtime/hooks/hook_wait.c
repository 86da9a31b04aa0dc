/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The calls that wait for signals, or with a mask of their own. While a thread waits, SIGPROF is as
 * open or blocked as the program asks, so that the kernel itself decides whether it ends the wait:
 * a waiting thread has no CPU time that could be sampled.
 *
 * sigwait and its like also accept a SIGPROF that was delivered to another thread: mask.c hands it
 * on. A SIGPROF that is read by signalfd must be pending, so its readers are closed (mask.c).
 */
#include "runtime/hooks/hooks.h"

#include <string.h>
#include <sys/signalfd.h>

#include "runtime/core/real.h"
#include "runtime/core/sys.h"
#include "runtime/sample/mask.h"
#include "runtime/sample/sample.h"

#define SYS_EPOLL_PWAIT2 441 /* since Linux 5.11 */

/* Does the call change anything about SIGPROF? */
static int borrows(const sigset_t *mask)
{
	return mask && weft_mask_is_active() && !weft_is_vfork_child();
}

/* The body of a wrapper: @call waits with @mask. */
#define WAIT_WITH(mask, call)                                                                      \
	do {                                                                                       \
		int borrowed = borrows(mask), result;                                              \
		struct weft_belief before;                                                         \
                                                                                                   \
		if (borrowed)                                                                      \
			before = weft_mask_borrow(mask);                                           \
		result = (call);                                                                   \
		if (borrowed)                                                                      \
			weft_mask_give_back(before);                                               \
		return result;                                                                     \
	} while (0)

WEFT_API int sigsuspend(const sigset_t *mask)
{
	WAIT_WITH(mask, weft_real(sigsuspend)(mask));
}

WEFT_API int ppoll(struct pollfd *fds, nfds_t count, const struct timespec *timeout,
		   const sigset_t *mask)
{
	WAIT_WITH(mask, weft_real(ppoll)(fds, count, timeout, mask));
}

WEFT_API int pselect(int count, fd_set *in, fd_set *out, fd_set *failed,
		     const struct timespec *timeout, const sigset_t *mask)
{
	WAIT_WITH(mask, weft_real(pselect)(count, in, out, failed, timeout, mask));
}

WEFT_API int epoll_pwait(int fd, struct epoll_event *events, int count, int timeout,
			 const sigset_t *mask)
{
	WAIT_WITH(mask, weft_real(epoll_pwait)(fd, events, count, timeout, mask));
}

int epoll_pwait2(int fd, struct epoll_event *events, int count, const struct timespec *timeout,
		 const sigset_t *mask);

/* If libc has none, only programs that look it up by dlsym come here. */
static int raw_epoll_pwait2(int fd, struct epoll_event *events, int count,
			    const struct timespec *timeout, const sigset_t *mask)
{
	long result = sys_call_anyway(SYS_EPOLL_PWAIT2, fd, (long)(uintptr_t)events, count,
				      (long)(uintptr_t)timeout, (long)(uintptr_t)mask, 8);

	if (result >= 0)
		return (int)result;
	errno = (int)-result;
	return -1;
}

WEFT_API int epoll_pwait2(int fd, struct epoll_event *events, int count,
			  const struct timespec *timeout, const sigset_t *mask)
{
	WAIT_WITH(mask, weft_real(epoll_pwait2)
				? weft_real(epoll_pwait2)(fd, events, count, timeout, mask)
				: raw_epoll_pwait2(fd, events, count, timeout, mask));
}

/* libc's own would bypass the hooks. sigpause takes a mask on glibc, a signal on musl. */
int __xpg_sigpause(int signo);
int __sigpause(int signo_or_mask, int is_signo);

WEFT_API int __xpg_sigpause(int signo)
{
	sigset_t set;

	if (pthread_sigmask(SIG_BLOCK, NULL, &set) || sigdelset(&set, signo))
		return -1;
	return sigsuspend(&set);
}

static int pause_with_mask(int mask)
{
	sigset_t set;

	sigemptyset(&set);
	memcpy(&set, &(unsigned int){(unsigned int)mask}, sizeof(unsigned int));
	return sigsuspend(&set);
}

WEFT_API int __sigpause(int signo_or_mask, int is_signo)
{
	return is_signo ? __xpg_sigpause(signo_or_mask) : pause_with_mask(signo_or_mask);
}

int bsd_sigpause(int mask) __asm__("sigpause");

WEFT_API int bsd_sigpause(int mask)
{
	return weft_real(__xpg_sigpause) ? pause_with_mask(mask) : __xpg_sigpause(mask);
}

WEFT_API int signalfd(int fd, const sigset_t *mask, int flags)
{
	int result = weft_real(signalfd)(fd, mask, flags);

	if (result >= 0 && weft_mask_has_sigprof(mask) && weft_mask_is_active() &&
	    !weft_is_vfork_child())
		weft_mask_read_by_fd();
	return result;
}

static int64_t time_left_ns(const struct timespec *timeout, uint64_t began_ns)
{
	int64_t whole = (int64_t)timeout->tv_sec * 1000000000 + timeout->tv_nsec;
	int64_t left = whole - (int64_t)(clock_own_ns() - began_ns);

	return left > 0 ? left : 0;
}

/* Our own ticks, pending since before the wait, are not for the program. */
static int wait_for_theirs(const sigset_t *set, siginfo_t *info, const struct timespec *timeout)
{
	uint64_t began_ns = clock_own_ns();
	struct timespec left, *limit = timeout ? &left : NULL;
	int signo;

	if (timeout)
		left = *timeout;
	for (;;) {
		signo = weft_real(sigtimedwait)(set, info, limit);
		if (signo != weft_tick_signal() || !weft_sampler_is_ours(info))
			return signo;
		if (timeout) {
			int64_t ns = time_left_ns(timeout, began_ns);

			left = (struct timespec){.tv_sec = ns / 1000000000,
						 .tv_nsec = ns % 1000000000};
		}
	}
}

WEFT_API int sigtimedwait(const sigset_t *set, siginfo_t *info, const struct timespec *timeout)
{
	siginfo_t unasked;
	int was_blocked, result, saved;

	if (!weft_mask_is_active() || !weft_mask_has_sigprof(set) || weft_is_vfork_child())
		return weft_real(sigtimedwait)(set, info, timeout);
	was_blocked = weft_mask_begin_wait();
	result = wait_for_theirs(set, info ? info : &unasked, timeout);
	saved = errno;
	weft_mask_end_wait(was_blocked);
	errno = saved;
	return result;
}

WEFT_API int sigwaitinfo(const sigset_t *set, siginfo_t *info)
{
	return sigtimedwait(set, info, NULL);
}

WEFT_API int sigwait(const sigset_t *set, int *signo)
{
	int saved = errno, result;

	do
		result = sigtimedwait(set, NULL, NULL);
	while (result < 0 && errno == EINTR);
	if (result < 0) {
		result = errno;
		errno = saved;
		return result;
	}
	*signo = result;
	return 0;
}
