/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Signal masks: a thread that blocks all signals would give no samples, so SIGPROF stays
 * open in the kernel's mask unless the program has a handler for it, and one word per
 * thread remembers that the program believes it blocked. What the program sees of its mask
 * is what it set. A foreign SIGPROF that comes to a thread which believes it blocked is
 * held here, one for the process as in the kernel, and queued again when a thread opens
 * SIGPROF or waits for it.
 *
 * The kernel's mask also changes behind our back (siglongjmp, sigsetmask, raw calls), so the
 * word stands only as long as all is blocked that was blocked together with SIGPROF.
 *
 * In the wait calls SIGPROF is really blocked, so that the kernel itself ends the wait; a
 * waiting thread has no CPU time that could be sampled.
 */
#include "runtime/hooks.h"

#include <string.h>
#include <sys/signalfd.h>

#include "runtime/real.h"
#include "runtime/sampler.h"
#include "runtime/sys.h"

#define MASK_BYTES 8 /* the kernel's */

enum held { HELD_NONE, HELD_CHANGING, HELD_FULL };

static __thread uint32_t believes_blocked __attribute__((tls_model("initial-exec")));
static __thread uint64_t believed_with __attribute__((tls_model("initial-exec")));
static siginfo_t held_info;
static uint32_t held;

static uint64_t sigprof_bit(void)
{
	return UINT64_C(1) << (SIGPROF - 1);
}

static uint64_t real_mask(void)
{
	uint64_t mask = 0;

	sys_call4(SYS_rt_sigprocmask, SIG_BLOCK, NULL, &mask, MASK_BYTES);
	return mask;
}

static void believe(int is_blocked)
{
	if (is_blocked)
		believed_with = real_mask();
	believes_blocked = is_blocked != 0;
}

/* @mask: the thread's, as the kernel has it now; a handler's has more in it. */
static int belief_stands(uint64_t mask)
{
	return believes_blocked && (believed_with & ~(mask | sigprof_bit())) == 0;
}

int weft_mask_is_blocked(void)
{
	return believes_blocked && belief_stands(real_mask());
}

void weft_mask_inherit(int is_blocked)
{
	believe(is_blocked);
}

int weft_mask_set_real(int how)
{
	uint64_t bit = sigprof_bit(), old = 0;

	sys_call4(SYS_rt_sigprocmask, how, &bit, &old, MASK_BYTES);
	return (old & bit) != 0;
}

/* The program's exec may have handed a blocked SIGPROF down: remember, and open it. */
void weft_mask_open(void)
{
	if (weft_hook_is_on(WEFT_HOOK_SIGNALS))
		believe(weft_mask_set_real(SIG_UNBLOCK));
}

int weft_mask_hold_back(const siginfo_t *info, const ucontext_t *uc)
{
	uint32_t none = HELD_NONE;
	uint64_t interrupted;

	memcpy(&interrupted, &uc->uc_sigmask, sizeof(interrupted));
	if (!belief_stands(interrupted))
		return 0;
	if (__atomic_compare_exchange_n(&held, &none, HELD_CHANGING, 0, __ATOMIC_ACQUIRE,
					__ATOMIC_RELAXED)) {
		memcpy(&held_info, info, sizeof(held_info));
		__atomic_store_n(&held, HELD_FULL, __ATOMIC_RELEASE);
	}
	return 1;
}

static int take_held(siginfo_t *info)
{
	uint32_t full = HELD_FULL;

	if (!__atomic_compare_exchange_n(&held, &full, HELD_CHANGING, 0, __ATOMIC_ACQUIRE,
					 __ATOMIC_RELAXED))
		return 0;
	memcpy(info, &held_info, sizeof(*info));
	__atomic_store_n(&held, HELD_NONE, __ATOMIC_RELEASE);
	return 1;
}

/* As it came, but to this thread. */
static void queue_again(const siginfo_t *info)
{
	sys_call4(SYS_rt_tgsigqueueinfo, sys_getpid(), sys_gettid(), SIGPROF, info);
}

static void deliver_held(void)
{
	siginfo_t info;

	if (take_held(&info))
		queue_again(&info);
}

static int is_active(void)
{
	return weft_hook_is_on(WEFT_HOOK_SIGNALS) && weft_sampler_is_installed();
}

static int has_sigprof(const sigset_t *set)
{
	return set && sigismember(set, SIGPROF) == 1;
}

static const sigset_t *without_sigprof(const sigset_t *set, sigset_t *copy)
{
	if (!has_sigprof(set) || weft_disposition_has_handler())
		return set;
	memcpy(copy, set, sizeof(*copy));
	sigdelset(copy, SIGPROF);
	return copy;
}

static int belief_after(int how, int named, int before)
{
	if (how == SIG_SETMASK)
		return named;
	if (named)
		return how == SIG_BLOCK;
	return before;
}

static int change(int (*real)(int, const sigset_t *, sigset_t *), int how, const sigset_t *set,
		  sigset_t *old)
{
	int before = is_active() && weft_mask_is_blocked();
	int named = has_sigprof(set), is_set = set != NULL, result;
	sigset_t open;

	if (!is_active())
		return real(how, set, old);
	if (how != SIG_UNBLOCK)
		set = without_sigprof(set, &open);
	result = real(how, set, old);
	if (result)
		return result;
	if (old && before)
		sigaddset(old, SIGPROF);
	if (is_set)
		believe(belief_after(how, named, before));
	if (before && !believes_blocked)
		deliver_held();
	return 0;
}

WEFT_API int pthread_sigmask(int how, const sigset_t *set, sigset_t *old)
{
	return change(weft_real(pthread_sigmask), how, set, old);
}

WEFT_API int sigprocmask(int how, const sigset_t *set, sigset_t *old)
{
	return change(weft_real(sigprocmask), how, set, old);
}

int weft_mask_change_one(int how, int signo)
{
	sigset_t set;

	sigemptyset(&set);
	return sigaddset(&set, signo) ? -1 : change(weft_real(sigprocmask), how, &set, NULL);
}

WEFT_API int sighold(int signo)
{
	return weft_mask_change_one(SIG_BLOCK, signo);
}

WEFT_API int sigrelse(int signo)
{
	return weft_mask_change_one(SIG_UNBLOCK, signo);
}

WEFT_API int sigpending(sigset_t *set)
{
	int result = weft_real(sigpending)(set);

	if (!result && weft_mask_is_blocked() &&
	    __atomic_load_n(&held, __ATOMIC_ACQUIRE) == HELD_FULL)
		sigaddset(set, SIGPROF);
	return result;
}

/* The calls that set a mask for their own time. */
struct borrowed {
	uint32_t believed;
	uint64_t believed_with;
	int was_closed;
	int restores_real;
	sigset_t copy;
};

static const sigset_t *borrow(struct borrowed *b, const sigset_t *mask)
{
	siginfo_t info;

	b->believed = believes_blocked;
	b->believed_with = believed_with;
	b->restores_real = 0;
	if (!mask || !is_active())
		return mask;
	if (!has_sigprof(mask) && believes_blocked && take_held(&info)) {
		b->was_closed = weft_mask_set_real(SIG_BLOCK);
		b->restores_real = !b->was_closed;
		queue_again(&info);
	}
	believed_with = 0; /* the call's own mask, for as long as the call takes */
	believes_blocked = (uint32_t)has_sigprof(mask);
	return without_sigprof(mask, &b->copy);
}

static void give_back(const struct borrowed *b)
{
	believes_blocked = b->believed;
	believed_with = b->believed_with;
	if (b->restores_real)
		weft_mask_set_real(SIG_UNBLOCK);
}

WEFT_API int sigsuspend(const sigset_t *mask)
{
	struct borrowed b;
	int result = weft_real(sigsuspend)(borrow(&b, mask));

	give_back(&b);
	return result;
}

WEFT_API int ppoll(struct pollfd *fds, nfds_t count, const struct timespec *timeout,
		   const sigset_t *mask)
{
	struct borrowed b;
	int result = weft_real(ppoll)(fds, count, timeout, borrow(&b, mask));

	give_back(&b);
	return result;
}

WEFT_API int pselect(int count, fd_set *in, fd_set *out, fd_set *failed,
		     const struct timespec *timeout, const sigset_t *mask)
{
	struct borrowed b;
	int result = weft_real(pselect)(count, in, out, failed, timeout, borrow(&b, mask));

	give_back(&b);
	return result;
}

WEFT_API int epoll_pwait(int fd, struct epoll_event *events, int count, int timeout,
			 const sigset_t *mask)
{
	struct borrowed b;
	int result = weft_real(epoll_pwait)(fd, events, count, timeout, borrow(&b, mask));

	give_back(&b);
	return result;
}

/* A SIGPROF read from a descriptor would be ours as well: it is never offered there. */
WEFT_API int signalfd(int fd, const sigset_t *mask, int flags)
{
	sigset_t open;

	if (!is_active() || !has_sigprof(mask))
		return weft_real(signalfd)(fd, mask, flags);
	memcpy(&open, mask, sizeof(open));
	sigdelset(&open, SIGPROF);
	return weft_real(signalfd)(fd, &open, flags);
}

static int64_t time_left_ns(const struct timespec *timeout, uint64_t began_ns)
{
	int64_t whole = (int64_t)timeout->tv_sec * 1000000000 + timeout->tv_nsec;
	int64_t left = whole - (int64_t)(clock_monotonic_ns() - began_ns);

	return left > 0 ? left : 0;
}

/* Our own ticks, pending from before the wait, are not for the program. */
static int wait_for_theirs(const sigset_t *set, siginfo_t *info, const struct timespec *timeout)
{
	uint64_t began_ns = clock_monotonic_ns();
	struct timespec left, *limit = timeout ? &left : NULL;
	int signo;

	if (timeout)
		left = *timeout;
	for (;;) {
		if (take_held(info))
			return SIGPROF;
		signo = weft_real(sigtimedwait)(set, info, limit);
		if (signo != SIGPROF || !weft_sampler_is_ours(info))
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
	int was_closed, result;

	if (!is_active() || !has_sigprof(set))
		return weft_real(sigtimedwait)(set, info, timeout);
	was_closed = weft_mask_set_real(SIG_BLOCK);
	result = wait_for_theirs(set, info ? info : &unasked, timeout);
	if (!was_closed)
		weft_mask_set_real(SIG_UNBLOCK);
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
