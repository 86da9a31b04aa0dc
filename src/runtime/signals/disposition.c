/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The signals that weft handles while the program is shown its own action for them: that of ticks
 * (SIGPROF, or SIGWINCH) and the priming one. While our action is installed, the program's is kept
 * here. It is carried out for signals that are not ours (weft_disposition_deliver), and installed
 * again at the end.
 *
 * Two copies and a version: a writer fills the copy that nobody reads, and then publishes it.
 * Writers (install, uninstall, calls of sigaction) exclude each other by a lock, on which they spin
 * with all signals blocked; readers (handlers) never wait. The lock holds the writer's pid, so that
 * a forked child takes over one that it has inherited. A vfork child never writes here.
 */
#include <string.h>

#include "runtime/core/real.h"
#include "runtime/core/runtime.h"
#include "runtime/core/sys.h"
#include "runtime/signals/signals.h"

#define HELD_BACK_MAX 2
#define TRIES_OPEN 100000

struct kept {
	int signo; /* 0: ours is not installed */
	weft_handler_fn *handler;
	struct sigaction copies[2];
	uint32_t version;           /* copies[version & 1] is the current one */
	struct sigaction installed; /* our action as libc returns it */
};

static struct kept kept[WEFT_KEPT_COUNT];
static int32_t writing;

static uint64_t disposition_lock(void)
{
	uint64_t before = sys_signals_block(SYS_SIGNALS_ALL);
	int32_t self = sys_getpid(), holder = 0;

	/* With signals open, as where system calls are filtered, a handler may have interrupted the
	 * holder on this very thread: it does not wait for ever. */
	for (int tries = 0; !cas_acquire(&writing, &holder, self); tries++) {
		if (weft_rt_is_careful() && tries > TRIES_OPEN)
			break;
		if (holder == self)
			holder = 0;
		if (!holder)
			sys_call0(SYS_sched_yield);
	}
	return before;
}

static void disposition_unlock(uint64_t before)
{
	store_release(&writing, 0);
	sys_signals_restore(before);
}

static struct kept *disposition_find(int signo)
{
	for (int i = 0; i < WEFT_KEPT_COUNT; i++)
		if (signo && load_acquire(&kept[i].signo) == signo)
			return &kept[i];
	return NULL;
}

int weft_disposition_is_kept(int signo)
{
	return disposition_find(signo) != NULL;
}

int weft_disposition_signal(enum weft_kept which)
{
	return load_acquire(&kept[which].signo);
}

void weft_disposition_get(enum weft_kept which, struct sigaction *action)
{
	struct kept *k = &kept[which];
	uint32_t seen;

	do {
		seen = load_acquire(&k->version);
		memcpy(action, &k->copies[seen & 1], sizeof(*action));
		KEEP_ORDER(); /* a writer that is two versions ahead is seen below */
	} while (__atomic_add_fetch(&k->version, 0, __ATOMIC_ACQ_REL) - seen > 1);
}

/* The lock is held. */
static void disposition_publish(struct kept *k, const struct sigaction *action)
{
	memcpy(&k->copies[(k->version + 1) & 1], action, sizeof(*action));
	store_release(&k->version, k->version + 1);
}

static int is_handler(const struct sigaction *action)
{
	return action->sa_handler != SIG_DFL && action->sa_handler != SIG_IGN;
}

/*
 * Everything but the synchronous signals is blocked: one of those kills if it is raised while
 * blocked. Set bit by bit: sigfillset() leaves out the signals that the C library uses, and a
 * thread cancelled in the middle of the handler would run its cleanup handlers from there.
 * SA_RESTART and SA_ONSTACK are as in the program's own action.
 */
static void fill_action(struct sigaction *ours, weft_handler_fn *handler,
			const struct sigaction *theirs)
{
	const uint64_t blocked = SYS_SIGNALS_ASYNC;
	const int follows = SA_RESTART | SA_ONSTACK;

	memset(ours, 0, sizeof(*ours));
	ours->sa_flags = is_handler(theirs) ? theirs->sa_flags & follows : follows;
	if (weft_altstack_is_tiny())
		ours->sa_flags &= ~SA_ONSTACK;
	ours->sa_flags |= SA_SIGINFO;
	ours->sa_sigaction = handler;
	memset(&ours->sa_mask, 0xff, sizeof(ours->sa_mask));
	memcpy(&ours->sa_mask, &blocked, sizeof(blocked));
}

static int install_ours(struct kept *k, const struct sigaction *theirs)
{
	struct sigaction ours;

	fill_action(&ours, k->handler, theirs);
	if (weft_real_sigaction(k->signo, &ours, NULL))
		return -EINVAL;
	return weft_real_sigaction(k->signo, NULL, &k->installed) ? -EINVAL : 0;
}

/* Makes it what kernel and libc would return: with libc's own restorer. */
static void normalise(const struct kept *k, struct sigaction *action)
{
	action->sa_flags |= k->installed.sa_flags & ~(SA_SIGINFO | SA_RESTART | SA_ONSTACK);
	action->sa_restorer = k->installed.sa_restorer;
	sys_set_put(&action->sa_mask, SIGKILL, 0);
	sys_set_put(&action->sa_mask, SIGSTOP, 0);
}

/* Of those that may be ours. */
static int is_harmless(int signo)
{
	return signo == SIGURG || signo == SIGWINCH;
}

static int is_discarded(int signo, const struct sigaction *action)
{
	return action->sa_handler == SIG_IGN ||
	       (action->sa_handler == SIG_DFL && is_harmless(signo));
}

/* Pending signals are discarded, in all threads, when the signal becomes ignored. */
static void discard_pending(int signo)
{
	struct sigaction ignore = {.sa_handler = SIG_IGN};
	uint64_t pending = 0;

	if (!sys_call2(SYS_rt_sigpending, &pending, sizeof(pending)) &&
	    (pending >> (signo - 1) & 1))
		weft_real_sigaction(signo, &ignore, NULL);
}

/* The lock is held. */
static void disposition_replace(struct kept *k, struct sigaction *theirs)
{
	struct sigaction ours;

	normalise(k, theirs);
	disposition_publish(k, theirs);
	if (is_discarded(k->signo, theirs))
		discard_pending(k->signo);
	fill_action(&ours, k->handler, theirs);
	if (((ours.sa_flags ^ k->installed.sa_flags) & (SA_RESTART | SA_ONSTACK)) ||
	    is_discarded(k->signo, theirs))
		install_ours(k, theirs);
}

int weft_disposition_change(int signo, const struct sigaction *action, struct sigaction *was)
{
	struct sigaction wanted, before;
	uint64_t old;
	struct kept *k;
	int result = 0;

	if (action)
		wanted = *action; /* a bad address faults before the lock is taken */
	old = disposition_lock();
	k = disposition_find(signo);
	if (k) {
		before = k->copies[k->version & 1];
		if (action)
			disposition_replace(k, &wanted);
	} else {
		result = weft_real_sigaction(signo, action ? &wanted : NULL, &before);
	}
	disposition_unlock(old);
	if (was && !result)
		*was = before;
	return result;
}

int weft_disposition_has_handler(enum weft_kept which)
{
	struct sigaction action;

	weft_disposition_get(which, &action);
	return is_handler(&action);
}

int weft_disposition_is_ignored(enum weft_kept which)
{
	struct sigaction action;

	weft_disposition_get(which, &action);
	return action.sa_handler == SIG_IGN;
}

/* From the first moment on the program is shown, and has called, its action of before. */
static int install(struct kept *k, int signo, weft_handler_fn *handler)
{
	struct sigaction theirs;

	if (k->signo)
		return k->signo == signo ? 0 : -EBUSY;
	if (weft_real_sigaction(signo, NULL, &theirs))
		return -EINVAL;
	k->handler = handler;
	disposition_publish(k, &theirs);
	store_release(&k->signo, signo);
	if (!install_ours(k, &theirs))
		return 0;
	store_release(&k->signo, 0);
	return -EINVAL;
}

int weft_disposition_install(enum weft_kept which, int signo, weft_handler_fn *handler)
{
	uint64_t old = disposition_lock();
	int failed = install(&kept[which], signo, handler);

	disposition_unlock(old);
	if (!failed)
		weft_altstack_begin();
	return failed;
}

static int disposition_is_ours(const struct sigaction *action, const struct kept *k)
{
	return (action->sa_flags & SA_SIGINFO) && action->sa_sigaction == k->handler;
}

/* Asks the kernel. */
static int is_in_place(const struct kept *k)
{
	struct sigaction now;
	int signo = load_acquire(&k->signo);

	return signo && !weft_real_sigaction(signo, NULL, &now) && disposition_is_ours(&now, k);
}

int weft_disposition_is_installed(enum weft_kept which)
{
	return is_in_place(&kept[which]);
}

void weft_disposition_renew(void)
{
	uint64_t old = disposition_lock();

	for (struct kept *k = kept; k < kept + WEFT_KEPT_COUNT; k++)
		if (is_in_place(k))
			install_ours(k, &k->copies[k->version & 1]);
	disposition_unlock(old);
}

void weft_disposition_keep(enum weft_kept which)
{
	struct kept *k = &kept[which];
	struct sigaction theirs;
	uint64_t old = disposition_lock();

	if (k->signo && !weft_real_sigaction(k->signo, NULL, &theirs) &&
	    !disposition_is_ours(&theirs, k)) {
		disposition_publish(k, &theirs);
		install_ours(k, &theirs);
	}
	disposition_unlock(old);
}

/* Takes the program's signals that are pending for the process or this thread; drops ours. */
static int disposition_take_pending(int signo, int (*ours)(const siginfo_t *),
				    siginfo_t held[HELD_BACK_MAX])
{
	uint64_t set = SYS_SIGNAL_BIT(signo);
	struct timespec at_once = {0};
	int count = 0;

	while (count < HELD_BACK_MAX &&
	       sys_call4(SYS_rt_sigtimedwait, &set, &held[count], &at_once, sizeof(set)) == signo)
		if (!ours(&held[count]))
			count++;
	return count;
}

/*
 * Signals of ours may still be pending in any thread (before Linux 6.13 also those of deleted
 * timers), and the default action would kill: ignoring the signal first discards them everywhere.
 * If the program has a handler of its own, they do no harm, and what is pending is kept.
 */
static void disposition_restore(struct kept *k, int (*ours)(const siginfo_t *))
{
	struct sigaction theirs = k->copies[k->version & 1], ignore = {.sa_handler = SIG_IGN};
	siginfo_t held[HELD_BACK_MAX];
	int count = 0;

	if (!is_handler(&theirs)) {
		count = disposition_take_pending(k->signo, ours, held);
		weft_real_sigaction(k->signo, &ignore, NULL);
	}
	weft_real_sigaction(k->signo, &theirs, NULL);
	for (int i = 0; i < count; i++)
		sys_call3(SYS_rt_sigqueueinfo, sys_getpid(), k->signo, &held[i]);
}

void weft_disposition_uninstall(enum weft_kept which, int (*ours)(const siginfo_t *))
{
	struct kept *k = &kept[which];
	uint64_t old;

	weft_altstack_end((int)which);
	old = disposition_lock();
	/* If somebody has replaced our action without our hooks, theirs stays. */
	if (is_in_place(k))
		disposition_restore(k, ours);
	store_release(&k->signo, 0);
	disposition_unlock(old);
}

/* As without weft: the process dies of the signal, for which our own handler must be gone. */
static void die_of_signal(int signo)
{
	struct sigaction action = {.sa_handler = SIG_DFL};
	uint64_t mask = 0;

	weft_real_sigaction(signo, &action, NULL);
	/* It dies in any case, of the signal rather than of a filter: but it, not its parent. */
	sys_call_anyway(SYS_tgkill, sys_call_anyway(SYS_getpid, 0, 0, 0, 0, 0, 0),
			sys_call_anyway(SYS_gettid, 0, 0, 0, 0, 0, 0), signo, 0, 0, 0);
	sys_call_anyway(SYS_rt_sigprocmask, SIG_SETMASK, SYS_ARG(&mask), 0, sizeof(mask), 0, 0);
}

/* The mask that the kernel would have set: the interrupted one, the action's, the signal. */
static uint64_t handler_mask(int signo, const struct sigaction *action, const ucontext_t *uc)
{
	uint64_t own;

	memcpy(&own, &action->sa_mask, sizeof(own));
	if (!(action->sa_flags & SA_NODEFER))
		own |= SYS_SIGNAL_BIT(signo);
	return sys_mask_of(uc) | own;
}

static void disposition_call(const struct sigaction *action, int signo, siginfo_t *info,
			     void *ucontext)
{
	uint64_t mask = handler_mask(signo, action, ucontext), ours = 0;
	long failed = sys_call4(SYS_rt_sigprocmask, SIG_SETMASK, &mask, &ours, sizeof(mask));

	if (action->sa_flags & SA_SIGINFO)
		action->sa_sigaction(signo, info, ucontext);
	else
		action->sa_handler(signo);
	if (!failed)
		sys_call4(SYS_rt_sigprocmask, SIG_SETMASK, &ours, NULL, sizeof(ours));
}

void weft_disposition_deliver(enum weft_kept which, int signo, siginfo_t *info, void *ucontext)
{
	struct sigaction action, once;

	weft_disposition_get(which, &action);
	if (action.sa_handler == SIG_IGN)
		return;
	if (action.sa_handler == SIG_DFL) {
		if (!is_harmless(signo))
			die_of_signal(signo);
		return;
	}
	if (action.sa_flags & (int)SA_RESETHAND) {
		once = action;
		once.sa_handler = SIG_DFL;
		weft_disposition_change(signo, &once, NULL);
	}
	disposition_call(&action, signo, info, ucontext);
}
