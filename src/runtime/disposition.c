/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the program believes about SIGPROF: its own action, kept here while ours is
 * installed, and carried out when a SIGPROF comes that is not ours.
 *
 * Two copies and a version: a writer fills the copy that nobody reads and then publishes
 * it. Writers (calls of sigaction) exclude each other by a word that they spin on with all
 * signals blocked; readers (handlers) never wait.
 */
#include <string.h>

#include "runtime/sampler.h"
#include "runtime/sys.h"

static struct sigaction copies[2];
static uint32_t version; /* copies[version & 1] is the current one */
static uint32_t writing;

void weft_disposition_get(struct sigaction *action)
{
	uint32_t seen;

	do {
		seen = __atomic_load_n(&version, __ATOMIC_ACQUIRE);
		memcpy(action, &copies[seen & 1], sizeof(*action));
		/* Program order is enough for the compiler; a writer two versions on is seen. */
		__atomic_signal_fence(__ATOMIC_SEQ_CST);
	} while (__atomic_add_fetch(&version, 0, __ATOMIC_ACQ_REL) - seen > 1);
}

void weft_disposition_swap(const struct sigaction *action, struct sigaction *was)
{
	uint64_t all = ~UINT64_C(0), old;

	sys_call4(SYS_rt_sigprocmask, SIG_SETMASK, &all, &old, sizeof(all));
	while (__atomic_exchange_n(&writing, 1, __ATOMIC_ACQUIRE))
		sys_call0(SYS_sched_yield);
	if (was)
		memcpy(was, &copies[version & 1], sizeof(*was));
	memcpy(&copies[(version + 1) & 1], action, sizeof(*action));
	__atomic_store_n(&version, version + 1, __ATOMIC_RELEASE);
	__atomic_store_n(&writing, 0, __ATOMIC_RELEASE);
	sys_call4(SYS_rt_sigprocmask, SIG_SETMASK, &old, NULL, sizeof(old));
}

int weft_disposition_has_handler(void)
{
	struct sigaction action;

	weft_disposition_get(&action);
	return action.sa_handler != SIG_DFL && action.sa_handler != SIG_IGN;
}

int weft_disposition_is_ignored(void)
{
	struct sigaction action;

	weft_disposition_get(&action);
	return action.sa_handler == SIG_IGN;
}

/* As without weft: the process dies of it. Our own handler must be gone for that. */
static void die(int signo)
{
	struct sigaction action = {.sa_handler = SIG_DFL};
	uint64_t mask = 0;

	weft_real_sigaction(signo, &action, NULL);
	sys_call3(SYS_tgkill, sys_getpid(), sys_gettid(), signo);
	sys_call4(SYS_rt_sigprocmask, SIG_SETMASK, &mask, NULL, sizeof(mask));
}

/* The mask that the kernel would have set: the interrupted one, the action's, the signal. */
static uint64_t handler_mask(int signo, const struct sigaction *action, const ucontext_t *uc)
{
	uint64_t interrupted, own;

	memcpy(&interrupted, &uc->uc_sigmask, sizeof(interrupted));
	memcpy(&own, &action->sa_mask, sizeof(own));
	if (!(action->sa_flags & SA_NODEFER))
		own |= UINT64_C(1) << (signo - 1);
	return interrupted | own;
}

static void call(const struct sigaction *action, int signo, siginfo_t *info, void *ucontext)
{
	uint64_t mask = handler_mask(signo, action, ucontext), ours;

	sys_call4(SYS_rt_sigprocmask, SIG_SETMASK, &mask, &ours, sizeof(mask));
	if (action->sa_flags & SA_SIGINFO)
		action->sa_sigaction(signo, info, ucontext);
	else
		action->sa_handler(signo);
	sys_call4(SYS_rt_sigprocmask, SIG_SETMASK, &ours, NULL, sizeof(ours));
}

void weft_disposition_deliver(int signo, siginfo_t *info, void *ucontext)
{
	struct sigaction action, once;

	weft_disposition_get(&action);
	if (action.sa_handler == SIG_IGN)
		return;
	if (action.sa_handler == SIG_DFL) {
		die(signo);
		return;
	}
	if (action.sa_flags & (int)SA_RESETHAND) {
		once = action;
		once.sa_handler = SIG_DFL;
		once.sa_flags &= ~SA_SIGINFO;
		weft_disposition_swap(&once, NULL);
	}
	call(&action, signo, info, ucontext);
}
