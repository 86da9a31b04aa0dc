/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Dispositions: while our handler is installed, sigaction and its kin show the program its
 * own SIGPROF action and change that (disposition.c); all other signals pass through.
 */
#include <errno.h>
#include <string.h>

#include "runtime/hooks.h"
#include "runtime/real.h"
#include "runtime/sampler.h"
#include "runtime/sys.h"

static int is_kept(int signo)
{
	return signo == SIGPROF && weft_hook_is_on(WEFT_HOOK_SIGNALS) &&
	       weft_sampler_is_installed();
}

/*
 * What the program believes is its parent's in a vfork child, which runs in that one's memory,
 * and the action in the kernel its own. (A forked child without a session yet is not known
 * by its pid.)
 */
static int is_vfork_child(void)
{
	return weft_rt_is_ready() && weft_guard_holds() && sys_getpid() != weft_rt.pid;
}

static void swap(const struct sigaction *action, struct sigaction *was)
{
	if (!is_vfork_child()) {
		weft_disposition_swap(action, was);
		return;
	}
	if (was)
		weft_disposition_get(was);
	weft_real_sigaction(SIGPROF, action, NULL);
}

static int change_sigprof(const struct sigaction *action, struct sigaction *old)
{
	struct sigaction was;

	if (action)
		swap(action, &was);
	else
		weft_disposition_get(&was);
	if (old)
		*old = was;
	return 0;
}

WEFT_API int sigaction(int signo, const struct sigaction *action, struct sigaction *old)
{
	return is_kept(signo) ? change_sigprof(action, old)
			      : weft_real(sigaction)(signo, action, old);
}

int __sigaction(int signo, const struct sigaction *action, struct sigaction *old);

WEFT_API int __sigaction(int signo, const struct sigaction *action, struct sigaction *old)
{
	return sigaction(signo, action, old);
}

static weft_signal_fn set_handler(weft_signal_fn handler, unsigned int flags, int masks_itself)
{
	struct sigaction action, was;

	memset(&action, 0, sizeof(action));
	action.sa_handler = handler;
	action.sa_flags = (int)flags;
	if (masks_itself)
		sigaddset(&action.sa_mask, SIGPROF);
	swap(&action, &was);
	return was.sa_handler;
}

WEFT_API weft_signal_fn signal(int signo, weft_signal_fn handler)
{
	return is_kept(signo) ? set_handler(handler, SA_RESTART, 1)
			      : weft_real(signal)(signo, handler);
}

/* the ones that not every libc declares */
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
	if (is_kept(signo))
		return set_handler(handler, SA_RESETHAND | SA_NODEFER, 0);
	if (weft_real(__sysv_signal))
		return weft_real(__sysv_signal)(signo, handler);
	return weft_real(signal)(signo, handler);
}

WEFT_API weft_signal_fn __sysv_signal(int signo, weft_signal_fn handler)
{
	return sysv_signal(signo, handler);
}

#define HOLD ((weft_signal_fn)2) /* SIG_HOLD */

WEFT_API weft_signal_fn sigset(int signo, weft_signal_fn handler)
{
	int was_blocked = weft_mask_is_blocked();
	weft_signal_fn was;

	if (!is_kept(signo))
		return weft_real(sigset)(signo, handler);
	if (handler == HOLD) {
		struct sigaction action;

		weft_disposition_get(&action);
		weft_mask_change_one(SIG_BLOCK, signo);
		return was_blocked ? HOLD : action.sa_handler;
	}
	was = set_handler(handler, 0, 0);
	weft_mask_change_one(SIG_UNBLOCK, signo);
	return was_blocked ? HOLD : was;
}

WEFT_API int sigignore(int signo)
{
	if (!is_kept(signo))
		return weft_real(sigignore)(signo);
	set_handler(SIG_IGN, 0, 0);
	return 0;
}

WEFT_API int siginterrupt(int signo, int interrupts)
{
	struct sigaction action;

	if (!is_kept(signo))
		return weft_real(siginterrupt)(signo, interrupts);
	weft_disposition_get(&action);
	if (interrupts)
		action.sa_flags &= ~SA_RESTART;
	else
		action.sa_flags |= SA_RESTART;
	swap(&action, NULL);
	return 0;
}
