/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Signal masks: a thread that blocks all signals would give no samples, so SIGPROF stays open in
 * the kernel's mask, and one word per thread remembers that the program believes it blocked. The
 * program is shown the mask that it set.
 *
 * A thread is closed (SIGPROF is really blocked, its timer stands still, it gives no samples) where
 * the program has a use for a SIGPROF of its own: it has a handler for it when it blocks it, reads
 * it by signalfd, or one has been delivered to a thread that believes it blocked. That one is
 * queued again; what is pending then, and for whom, is left to the kernel. The timer is stopped
 * first: with a tick of ours pending, the kernel would drop a SIGPROF of the program's.
 *
 * The kernel's mask is also changed without our hooks (setcontext, sigsetmask, raw calls), so the
 * word is valid only as long as all signals are blocked that were blocked together with SIGPROF: of
 * a closed thread these include SIGPROF itself, of another they do not. A closed thread that is
 * opened so gives no samples until the collector, which reads masks in /proc, has it look
 * (WEFT_ORDER_PRIME).
 *
 * SIGPROF stands for the signal of ticks here, which may be another by choice (timer.c).
 *
 * A vfork child has its parent's words but a mask of its own: from its first change on the kernel's
 * mask is what counts there.
 */
#include "runtime/sample/mask.h"

#include <string.h>

#include "runtime/core/sys.h"
#include "runtime/sample/clock.h"
#include "runtime/sample/sample.h"

#define SIGPROF_BIT SYS_SIGNAL_BIT(weft_tick_signal())
#define PENDING_MAX 8

#ifndef WEFT_LATE
__thread struct weft_belief weft_thread_belief WEFT_TLS_MODEL;
#endif
static uint32_t believers; /* threads */
static uint32_t read_by_fd;
static int32_t waiter; /* a thread that waits for SIGPROF by sigwait or its like; 0 = none */

/* Asked for where the program calls what asks the kernel for its mask, or sets it, itself. */
static uint64_t real_mask(void)
{
	uint64_t mask = 0;

	sys_call_anyway(SYS_rt_sigprocmask, SIG_BLOCK, 0, SYS_ARG(&mask), sizeof(mask), 0, 0);
	return mask;
}

int weft_mask_set_real(int how)
{
	const uint64_t bit = SIGPROF_BIT;
	uint64_t old = 0;

	sys_call4(SYS_rt_sigprocmask, how, &bit, &old, sizeof(old));
	return (old & bit) != 0;
}

/* ---- what a thread believes */

static struct weft_belief belief(void)
{
	const struct weft_belief *mine = weft_belief_mine(0);

	return mine ? *mine : (struct weft_belief){0};
}

/* A thread whose end no hook sees stays counted: a count that is too high is safe. */
static void set_belief(struct weft_belief new)
{
	struct weft_belief *mine = weft_belief_mine(new.is_blocked != 0);

	if (!mine)
		return;
	if ((mine->is_blocked != 0) != (new.is_blocked != 0))
		__atomic_fetch_add(&believers, new.is_blocked ? 1u : -1u, __ATOMIC_RELAXED);
	*mine = new;
}

static void believe(int is_blocked, uint64_t with)
{
	struct weft_belief new = belief();

	if (!new.is_closed)
		with &= ~SIGPROF_BIT;
	new.is_blocked = is_blocked != 0;
	new.with = is_blocked ? with : 0;
	set_belief(new);
}

int weft_mask_is_lent(void)
{
	return load_relaxed(&believers) != 0;
}

void weft_mask_forget(void)
{
	set_belief((struct weft_belief){0});
}

void weft_mask_forget_others(void)
{
	store_relaxed(&believers, belief().is_blocked != 0);
	store_relaxed(&waiter, 0);
}

/* @mask: the thread's mask in the kernel now; in a handler it has more signals. */
static int belief_stands(uint64_t mask)
{
	struct weft_belief b = belief();

	if (!b.is_closed)
		mask |= SIGPROF_BIT;
	return b.is_blocked && (b.with & ~mask) == 0;
}

int weft_mask_is_blocked(void)
{
	struct weft_belief b = belief();

	if (b.own_view && b.own_view == sys_getpid())
		return (real_mask() & SIGPROF_BIT) != 0;
	return b.is_blocked && belief_stands(real_mask());
}

int weft_mask_has(int signo)
{
	uint64_t mask = real_mask();

	if (signo < 1 || signo > 64)
		return 0;
	return (mask >> (signo - 1) & 1) || (signo == weft_tick_signal() && weft_mask_is_blocked());
}

/* ---- threads that are closed */

/* Must a thread that believes SIGPROF blocked be closed? */
static int must_be_closed(void)
{
	return load_acquire(&read_by_fd) || weft_disposition_has_handler(WEFT_KEPT_PROF);
}

/* Called before SIGPROF is really blocked. */
static void be_closed(void)
{
	struct weft_belief *mine = weft_belief_mine(1);

	if (!mine || mine->is_closed)
		return;
	mine->is_closed = 1;
	weft_timer_pause();
}

/* Called after SIGPROF is really open. */
static void be_open(void)
{
	struct weft_belief *mine = weft_belief_mine(0);

	if (!mine || !mine->is_closed)
		return;
	mine->is_closed = 0;
	weft_timer_resume();
}

int weft_mask_is_closed(void)
{
	return belief().is_closed != 0;
}

/*
 * In a handler that interrupted the thread with @mask: has it been opened behind the hooks? So does
 * a thread look, too, while a hook of ours has stopped its timer and not blocked SIGPROF yet: once
 * that is blocked, the hook says again what it had said (stay_closed). One that opens SIGPROF takes
 * the belief away first.
 */
void weft_mask_look(uint64_t mask)
{
	struct weft_belief b = belief();

	if (!b.is_closed || !b.is_blocked || (mask & SIGPROF_BIT) || weft_is_vfork_child())
		return;
	believe(0, 0);
	be_open();
}

void weft_mask_timer_made(void)
{
	if (weft_mask_is_closed())
		weft_timer_pause();
	else
		weft_timer_tell_running();
}

/*
 * In the new thread, before it has a timer. One whose creator was closed is open: it may be a
 * runtime's (Go's), which has all blocked by libc while it creates a thread, and there opens the
 * mask by a raw call. A SIGPROF of the program's that comes before that is held back, and closes
 * it.
 */
void weft_mask_inherit(int is_blocked)
{
	struct weft_belief new = {.is_blocked = 1};
	uint64_t mask, closed;

	if (!is_blocked)
		return;
	mask = real_mask();
	closed = mask & SIGPROF_BIT;
	if (closed)
		new.is_closed = load_acquire(&read_by_fd) != 0;
	new.with = new.is_closed ? mask : mask & ~SIGPROF_BIT;
	set_belief(new);
	if (closed && !new.is_closed)
		weft_mask_set_real(SIG_UNBLOCK);
}

/* exec may have handed down a blocked SIGPROF that is pending: our handler is installed already. */
void weft_mask_open(void)
{
	uint64_t mask;

	if (!weft_hook_is_on(WEFT_HOOK_SIGNALS))
		return;
	mask = real_mask();
	if (!(mask & SIGPROF_BIT))
		return;
	believe(1, mask);
	weft_mask_set_real(SIG_UNBLOCK);
}

/*
 * The mask is not the program's: libc blocks nearly all signals in threads that it starts itself,
 * until the program's function begins. Not done in a process that filters its system calls.
 */
int weft_mask_open_here(void)
{
	uint64_t mask;

	if (!weft_mask_is_active() || weft_rt_is_careful() || weft_is_vfork_child())
		return 0;
	mask = real_mask();
	if (!(mask & SIGPROF_BIT))
		return 0;
	if (must_be_closed())
		be_closed();
	believe(1, mask);
	if (belief().is_blocked && !weft_mask_is_closed())
		weft_mask_set_real(SIG_UNBLOCK);
	return 1;
}

/* The thread may go back to libc, which waits in it for more work. */
void weft_mask_close_here(void)
{
	if (weft_mask_is_blocked())
		weft_mask_set_real(SIG_BLOCK);
}

/* To this thread or to the process, as it came. */
static void queue_again(const siginfo_t *info)
{
	if (info->si_code == SI_TKILL)
		sys_call4(SYS_rt_tgsigqueueinfo, sys_getpid(), sys_gettid(), weft_tick_signal(),
			  info);
	else
		sys_call3(SYS_rt_sigqueueinfo, sys_getpid(), weft_tick_signal(), info);
}

/* SIGPROF is blocked and the timer stopped: an earlier tick of ours must not stay pending. */
static void drop_own_pending(void)
{
	struct timespec at_once = {0};
	const uint64_t bit = SIGPROF_BIT;
	siginfo_t info = {.si_code = 0};

	for (int i = 0; i < PENDING_MAX; i++) {
		if (sys_call4(SYS_rt_sigtimedwait, &bit, &info, &at_once, sizeof(bit)) !=
		    weft_tick_signal())
			return;
		if (!weft_sampler_is_ours(&info)) {
			queue_again(&info);
			return;
		}
	}
}

/* SIGPROF is really blocked. A signal that came before it was may have opened the thread again
 * (weft_mask_look), and its timer have fired. */
static void stay_closed(void)
{
	if (weft_mask_is_closed())
		return;
	be_closed();
	drop_own_pending();
}

static int hand_to_waiter(const siginfo_t *info)
{
	int32_t tid = load_acquire(&waiter);

	return tid && info->si_code != SI_TKILL &&
	       !sys_call4(SYS_rt_tgsigqueueinfo, sys_getpid(), tid, weft_tick_signal(), info);
}

/* In the handler, where all signals are blocked. In a process that filters its system calls the
 * signal is lost, for it cannot be queued again: the program, which blocks it, would die of it. */
int weft_mask_hold_back(const siginfo_t *info, ucontext_t *uc)
{
	uint64_t interrupted = sys_mask_of(uc);

	if (!belief_stands(interrupted)) {
		weft_mask_look(interrupted);
		return 0;
	}
	if (hand_to_waiter(info))
		return 1;
	if (!weft_is_vfork_child()) {
		be_closed();
		drop_own_pending();
		believe(1, belief().with | SIGPROF_BIT);
	}
	interrupted |= SIGPROF_BIT;
	memcpy(&uc->uc_sigmask, &interrupted, sizeof(interrupted));
	queue_again(info);
	return 1;
}

/* ---- changes */

int weft_mask_is_active(void)
{
	return weft_hook_is_on(WEFT_HOOK_SIGNALS) && weft_sampler_is_installed();
}

int weft_mask_has_sigprof(const sigset_t *set)
{
	return set && sys_set_has(set, weft_tick_signal());
}

static int belief_after(int how, int named, int before)
{
	if (how == SIG_SETMASK)
		return named;
	if (named)
		return how == SIG_BLOCK;
	return before;
}

/* In a vfork child: from here on the kernel's mask is what the program believes. */
static int change_alone(weft_mask_fn *real, int how, const sigset_t *set, sigset_t *old)
{
	struct weft_belief *mine = weft_belief_mine(1);
	int32_t self = sys_getpid();

	if (mine && mine->own_view != self) {
		if (weft_mask_is_blocked())
			weft_mask_set_real(SIG_BLOCK);
		mine->own_view = self;
	}
	return real(how, set, old);
}

static int change_to_blocked(weft_mask_fn *real, int how, const sigset_t *set, sigset_t *old)
{
	int was_closed = weft_mask_is_closed(), closes = was_closed, result;
	sigset_t open;

	if (weft_mask_has_sigprof(set) && how != SIG_UNBLOCK) {
		closes = was_closed || must_be_closed();
		if (closes && !was_closed) {
			be_closed();
		} else if (!closes) {
			memcpy(&open, set, sizeof(open));
			sys_set_put(&open, weft_tick_signal(), 0);
			set = &open;
		}
	}
	result = real(how, set, old);
	if (!result) {
		if (closes)
			stay_closed();
		believe(1, real_mask());
	} else if (closes && !was_closed) {
		be_open();
	}
	return result;
}

/* Pending signals are delivered before the call returns, when the thread must be open already. */
static int change_to_open(weft_mask_fn *real, int how, const sigset_t *set, sigset_t *old)
{
	struct weft_belief before = belief();
	int result;

	believe(0, 0);
	result = real(how, set, old);
	if (!result)
		be_open();
	else
		set_belief(before);
	return result;
}

static int mask_change(weft_mask_fn *real, int how, const sigset_t *set, sigset_t *old)
{
	int named = weft_mask_has_sigprof(set), is_change = set != NULL, before, result;

	if (!named && !belief().is_blocked)
		return real(how, set, old);
	if (weft_is_vfork_child())
		return change_alone(real, how, set, old);
	before = weft_mask_is_blocked();
	if (is_change && belief_after(how, named, before))
		result = change_to_blocked(real, how, set, old);
	else if (is_change)
		result = change_to_open(real, how, set, old);
	else
		result = real(how, set, old);
	if (!result && old && before)
		sys_set_put(old, weft_tick_signal(), 1);
	return result;
}

int weft_mask_change(weft_mask_fn *real, int how, const sigset_t *set, sigset_t *old)
{
	int is_change = set != NULL, result, blocks_clock;

	if (!weft_mask_is_active())
		return real(how, set, old);
	blocks_clock =
		set && how != SIG_UNBLOCK && sys_set_has(set, SIGURG) && !weft_is_vfork_child();
	if (blocks_clock)
		weft_clock_before_mask();
	result = mask_change(real, how, set, old);
	if (blocks_clock)
		weft_clock_after_mask();
	if (!result && is_change)
		weft_altstack_keep_closed();
	return result;
}

/* ---- for the calls that wait (hook_wait.c) and jump (hook_jump.c) */

struct weft_belief weft_mask_borrow(const sigset_t *mask)
{
	struct weft_belief before = belief(), during = before;

	during.is_blocked = (uint16_t)weft_mask_has_sigprof(mask);
	during.with = 0;
	if (during.is_blocked)
		memcpy(&during.with, mask, sizeof(during.with));
	during.with &= ~(SYS_SIGNAL_BIT(SIGKILL) | SYS_SIGNAL_BIT(SIGSTOP));
	set_belief(during);
	return before;
}

void weft_mask_give_back(struct weft_belief before)
{
	struct weft_belief now = belief();

	/* a handler in between may have closed or opened the thread */
	before.is_closed = now.is_closed;
	set_belief(before);
}

int weft_mask_begin_wait(void)
{
	store_release(&waiter, sys_gettid());
	return weft_mask_set_real(SIG_BLOCK);
}

/* Lends the mask of a closed thread again. A SIGPROF of the program's that pends still comes at
 * once, and closes the thread anew (hold_back). */
static void lend_again(void)
{
	struct weft_belief *mine = weft_belief_mine(0);

	if (!mine)
		return;
	mine->is_closed = 0;
	mine->with &= ~SIGPROF_BIT;
	weft_mask_set_real(SIG_UNBLOCK);
	if (!weft_mask_is_closed())
		weft_timer_resume();
}

void weft_mask_end_wait(int was_blocked)
{
	int32_t self = sys_gettid();

	cas_release(&waiter, &self, 0);
	if (weft_mask_is_closed() && !must_be_closed())
		lend_again();
	else if (!was_blocked)
		weft_mask_set_real(SIG_UNBLOCK);
}

static void close_believing(uint64_t with)
{
	be_closed();
	weft_mask_set_real(SIG_BLOCK);
	stay_closed();
	believe(1, with | SIGPROF_BIT);
}

void weft_mask_read_by_fd(void)
{
	store_release(&read_by_fd, 1);
	if (weft_mask_is_blocked() && !weft_mask_is_closed())
		close_believing(belief().with);
}

/* Before a jump to where SIGPROF was believed blocked or not; @mask: the kernel's mask after it. */
void weft_mask_jump(int is_blocked, uint64_t mask)
{
	struct weft_belief now = belief();

	if ((!is_blocked && !now.is_blocked) || weft_is_vfork_child())
		return;
	if (mask & SIGPROF_BIT) {
		close_believing(mask);
		return;
	}
	believe(is_blocked, mask);
	be_open(); /* a tick that comes now stays pending until the jump */
}
