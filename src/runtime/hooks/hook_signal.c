/* SPDX-License-Identifier: Apache-2.0 */
/*
 * While a handler of ours is installed, sigaction and its like show the program its own action for
 * that signal, the ticks' (SIGPROF) or the priming one, and change that (disposition.c). Calls that
 * change a thread's signal mask are here, too.
 */
#include <string.h>

#include "runtime/core/real.h"
#include "runtime/core/sys.h"
#include "runtime/hooks/hooks.h"
#include "runtime/sample/clock.h"
#include "runtime/sample/mask.h"
#include "runtime/sample/sample.h"

/* A signal of ours, or one that may become ours at this moment. */
static int hook_signal_is_kept(int signo)
{
	return weft_hook_is_on(WEFT_HOOK_SIGNALS) &&
	       (weft_disposition_is_kept(signo) ||
		(weft_rt_is_ready() &&
		 (signo == SIGPROF || signo == SIGURG || signo == weft_tick_signal())));
}

static enum weft_kept kept_as(int signo)
{
	return signo == weft_disposition_signal(WEFT_KEPT_PROF) ? WEFT_KEPT_PROF : WEFT_KEPT_PRIME;
}

static int change_in_vfork_child(int signo, const struct sigaction *action, struct sigaction *old)
{
	struct sigaction was;
	int result;

	if (!weft_disposition_is_kept(signo))
		return weft_real(sigaction)(signo, action, old);
	weft_disposition_get(kept_as(signo), &was);
	result = action ? weft_real_sigaction(signo, action, NULL) : 0;
	if (old && !result)
		*old = was;
	return result;
}

static int hook_signal_change(int signo, const struct sigaction *action, struct sigaction *old)
{
	int result;

	if (weft_is_vfork_child())
		return change_in_vfork_child(signo, action, old);
	result = weft_disposition_change(signo, action, old);
	if (signo == SIGURG && weft_disposition_has_handler(WEFT_KEPT_PRIME))
		weft_clock_yield();
	return result;
}

/* A vfork child's actions are its own, while the masks kept here are its parent's. */
static int masks_are_kept(void)
{
	return weft_hook_is_on(WEFT_HOOK_SIGNALS) && weft_altstack_is_small() &&
	       !weft_is_vfork_child();
}

WEFT_API int sigaction(int signo, const struct sigaction *action, struct sigaction *old)
{
	if (hook_signal_is_kept(signo))
		return hook_signal_change(signo, action, old);
	return masks_are_kept() ? weft_altstack_set_action(signo, action, old)
				: weft_real(sigaction)(signo, action, old);
}

int __sigaction(int signo, const struct sigaction *action, struct sigaction *old);

WEFT_API int __sigaction(int signo, const struct sigaction *action, struct sigaction *old)
{
	return sigaction(signo, action, old);
}

static weft_signal_fn set_handler(int signo, weft_signal_fn handler, unsigned int flags,
				  int masks_itself)
{
	struct sigaction action, was;

	memset(&action, 0, sizeof(action));
	action.sa_handler = handler;
	action.sa_flags = (int)flags;
	if (masks_itself)
		sigaddset(&action.sa_mask, signo);
	return hook_signal_change(signo, &action, &was) ? SIG_ERR : was.sa_handler;
}

/* Is there room for our signals on it? See altstack.c. */
WEFT_API int sigaltstack(const stack_t *stack, stack_t *old)
{
	if (stack && weft_hook_is_on(WEFT_HOOK_SIGNALS))
		weft_altstack_register(stack);
	return weft_real(sigaltstack)(stack, old);
}

/* Signals for which siginterrupt was called: signal() must obey it. */
static uint64_t interrupting;

static int interrupts_calls(int signo)
{
	return (int)(load_relaxed(&interrupting) >> (signo - 1) & 1);
}

WEFT_API weft_signal_fn signal(int signo, weft_signal_fn handler)
{
	if (!hook_signal_is_kept(signo))
		return weft_real(signal)(signo, handler);
	return set_handler(signo, handler, interrupts_calls(signo) ? 0 : SA_RESTART, 1);
}

/* not every libc declares these */
weft_signal_fn bsd_signal(int signo, weft_signal_fn handler);
weft_signal_fn ssignal(int signo, weft_signal_fn handler);
weft_signal_fn sysv_signal(int signo, weft_signal_fn handler);
weft_signal_fn __sysv_signal(int signo, weft_signal_fn handler);

WEFT_API weft_signal_fn bsd_signal(int signo, weft_signal_fn handler)
{
	return signal(signo, handler);
}

WEFT_API weft_signal_fn ssignal(int signo, weft_signal_fn handler)
{
	return signal(signo, handler);
}

WEFT_API weft_signal_fn sysv_signal(int signo, weft_signal_fn handler)
{
	if (hook_signal_is_kept(signo))
		return set_handler(signo, handler, SA_RESETHAND | SA_NODEFER, 0);
	if (weft_real(__sysv_signal))
		return weft_real(__sysv_signal)(signo, handler);
	return weft_real(signal)(signo, handler);
}

WEFT_API weft_signal_fn __sysv_signal(int signo, weft_signal_fn handler)
{
	return sysv_signal(signo, handler);
}

/* ---- masks: mask.c decides about SIGPROF in them */

WEFT_API int pthread_sigmask(int how, const sigset_t *set, sigset_t *old)
{
	return weft_mask_change(weft_real(pthread_sigmask), how, set, old);
}

WEFT_API int sigprocmask(int how, const sigset_t *set, sigset_t *old)
{
	return weft_mask_change(weft_real(sigprocmask), how, set, old);
}

static int mask_change_one(int how, int signo)
{
	sigset_t set;

	sigemptyset(&set);
	return sigaddset(&set, signo) ? -1 : sigprocmask(how, &set, NULL);
}

WEFT_API int sighold(int signo)
{
	return mask_change_one(SIG_BLOCK, signo);
}

WEFT_API int sigrelse(int signo)
{
	return mask_change_one(SIG_UNBLOCK, signo);
}

#define HOLD ((weft_signal_fn)2) /* SIG_HOLD */

WEFT_API weft_signal_fn sigset(int signo, weft_signal_fn handler)
{
	int was_blocked = weft_mask_has(signo);
	weft_signal_fn was;

	if (!hook_signal_is_kept(signo))
		return weft_real(sigset)(signo, handler);
	if (handler == HOLD) {
		struct sigaction action;

		hook_signal_change(signo, NULL, &action);
		mask_change_one(SIG_BLOCK, signo);
		return was_blocked ? HOLD : action.sa_handler;
	}
	was = set_handler(signo, handler, 0, 0);
	mask_change_one(SIG_UNBLOCK, signo);
	return was_blocked ? HOLD : was;
}

WEFT_API int sigignore(int signo)
{
	if (!hook_signal_is_kept(signo))
		return weft_real(sigignore)(signo);
	return set_handler(signo, SIG_IGN, 0, 0) == SIG_ERR ? -1 : 0;
}

WEFT_API int siginterrupt(int signo, int interrupts)
{
	struct sigaction action;

	if (!hook_signal_is_kept(signo))
		return weft_real(siginterrupt)(signo, interrupts);
	hook_signal_change(signo, NULL, &action);
	if (interrupts) {
		__atomic_fetch_or(&interrupting, SYS_SIGNAL_BIT(signo), __ATOMIC_RELAXED);
		action.sa_flags &= ~SA_RESTART;
	} else {
		__atomic_fetch_and(&interrupting, ~(SYS_SIGNAL_BIT(signo)), __ATOMIC_RELAXED);
		action.sa_flags |= SA_RESTART;
	}
	return hook_signal_change(signo, &action, NULL);
}
