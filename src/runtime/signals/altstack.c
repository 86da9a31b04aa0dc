/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Alternate signal stacks that are too small for our signals. The kernel's frame takes about three
 * kilobytes (AT_MINSIGSTKSZ), our handler less than one:
 *
 *   SMALL  no room for a second frame while a handler of the program runs there: our signals are
 *          added to the mask of the program's handlers on alternate stacks (SA_ONSTACK), and are
 *          delivered when these return. The program is shown the masks that it set.
 *   TINY   no room even for one frame and our handler: our handlers run on the thread's own stack
 *          from then on.
 *
 * Both hold from the first such stack to the end of the recording, for the whole process, because
 * actions belong to the process. Actions are exchanged with the kernel's, so that one that the
 * program sets at the same moment is seen in what is returned, and installed again.
 * Async-signal-safe, as sigaltstack is.
 */
#include <string.h>
#include <sys/auxv.h>

#include "runtime/core/real.h"
#include "runtime/core/sys.h"
#include "runtime/signals/signals.h"

#ifndef AT_MINSIGSTKSZ
#define AT_MINSIGSTKSZ 51
#endif
#define FRAME_BYTES_OLD 4096 /* for kernels that do not report it */
#define OUR_BYTES 4096       /* our handler, and some reserve */
#define SIGNALS 64
#define TRIES 8

enum size { SMALL = 1, TINY = 2 };

static uint32_t sizes; /* enum size bits of all stacks that were ever set */
/* For each signal of ours, the signals to whose masks we have added it. */
static uint64_t masked[WEFT_KEPT_COUNT];

int weft_altstack_is_small(void)
{
	return (load_acquire(&sizes) & SMALL) != 0;
}

int weft_altstack_is_tiny(void)
{
	return (load_acquire(&sizes) & TINY) != 0;
}

static uint32_t classify(uint64_t bytes)
{
	uint64_t frame = getauxval(AT_MINSIGSTKSZ);

	frame = frame ? frame : FRAME_BYTES_OLD;
	if (bytes < frame + OUR_BYTES)
		return SMALL | TINY;
	return bytes < 2 * frame + OUR_BYTES ? SMALL : 0;
}

static int has_handler(const struct sigaction *action)
{
	return (action->sa_flags & SA_ONSTACK) && action->sa_handler != SIG_DFL &&
	       action->sa_handler != SIG_IGN;
}

static int altstack_is_same(const struct sigaction *a, const struct sigaction *b)
{
	return a->sa_handler == b->sa_handler && a->sa_flags == b->sa_flags &&
	       !memcmp(&a->sa_mask, &b->sa_mask, sizeof(uint64_t));
}

static int is_masked(int which, int signo)
{
	return (load_relaxed(&masked[which]) & SYS_SIGNAL_BIT(signo)) != 0;
}

static void set_masked(int which, int signo, int is)
{
	if (is)
		__atomic_fetch_or(&masked[which], SYS_SIGNAL_BIT(signo), __ATOMIC_RELAXED);
	else if (is_masked(which, signo))
		__atomic_fetch_and(&masked[which], ~SYS_SIGNAL_BIT(signo), __ATOMIC_RELAXED);
}

/* @change changes the action to the one to be installed, and returns 1; or 0. */
static void altstack_exchange(int signo,
			      int (*change)(int signo, struct sigaction *action, int which),
			      int which)
{
	struct sigaction stands, found, new;

	if (weft_real_sigaction(signo, NULL, &found))
		return;
	stands = found;
	for (int tries = 0; tries < TRIES; tries++) {
		new = found;
		if (!change(signo, &new, which) && !tries)
			return;
		if (weft_real_sigaction(signo, &new, &found) || altstack_is_same(&found, &stands))
			return;
		stands = new; /* what was there instead was set meanwhile, and is handled in turn */
	}
}

static int altstack_add(int signo, struct sigaction *action, int unused)
{
	int changes = 0;

	(void)unused;
	for (int which = 0; which < WEFT_KEPT_COUNT; which++) {
		int ours = weft_disposition_signal((enum weft_kept)which);
		int adds = ours && has_handler(action) && !sys_set_has(&action->sa_mask, ours);

		if (!adds)
			continue;
		sys_set_put(&action->sa_mask, ours, 1);
		set_masked(which, signo, 1);
		changes = 1;
	}
	return changes;
}

static int altstack_take_away(int signo, struct sigaction *action, int which)
{
	int ours = weft_disposition_signal((enum weft_kept)which);
	int has = is_masked(which, signo) && has_handler(action);

	set_masked(which, signo, 0);
	if (has)
		sys_set_put(&action->sa_mask, ours, 0);
	return has;
}

static void change_all(int (*change)(int signo, struct sigaction *action, int which), int which)
{
	for (int signo = 1; signo <= SIGNALS; signo++)
		if (signo != SIGKILL && signo != SIGSTOP && !weft_disposition_is_kept(signo))
			altstack_exchange(signo, change, which);
}

void weft_altstack_begin(void)
{
	if (weft_altstack_is_small())
		change_all(altstack_add, 0);
}

void weft_altstack_end(int which)
{
	if (weft_disposition_signal((enum weft_kept)which) && load_relaxed(&masked[which]))
		change_all(altstack_take_away, which);
}

void weft_altstack_register(const stack_t *stack)
{
	uint32_t size = stack->ss_flags & SS_DISABLE ? 0 : classify(stack->ss_size), before;

	if (!size || (load_relaxed(&sizes) & size) == size)
		return;
	before = __atomic_fetch_or(&sizes, size, __ATOMIC_ACQ_REL);
	if (size & TINY)
		weft_disposition_renew();
	if (!(before & SMALL))
		change_all(altstack_add, 0);
}

/* @was: of each signal of ours, what `masked` had. */
static void altstack_show(struct sigaction *action, const int was[WEFT_KEPT_COUNT])
{
	for (int which = 0; which < WEFT_KEPT_COUNT; which++)
		if (was[which] && weft_disposition_signal((enum weft_kept)which))
			sys_set_put(&action->sa_mask,
				    weft_disposition_signal((enum weft_kept)which), 0);
}

int weft_altstack_set_action(int signo, const struct sigaction *action, struct sigaction *old)
{
	int was[WEFT_KEPT_COUNT], result;
	struct sigaction changed;

	if (signo < 1 || signo > SIGNALS)
		return weft_real(sigaction)(signo, action, old);
	for (int which = 0; which < WEFT_KEPT_COUNT; which++) {
		was[which] = is_masked(which, signo);
		if (action)
			set_masked(which, signo, 0);
	}
	if (action) {
		changed = *action;
		action = &changed;
		altstack_add(signo, &changed, 0);
	}
	result = weft_real(sigaction)(signo, action, old);
	if (!result && old)
		altstack_show(old, was);
	return result;
}

/* In a handler that unblocks all signals, while it is on a stack without room for them. */
void weft_altstack_keep_closed(void)
{
	uint64_t ours = 0;
	stack_t now;

	if (weft_rt_is_careful())
		return;
	for (int which = 0; weft_altstack_is_small() && which < WEFT_KEPT_COUNT; which++)
		if (weft_disposition_signal((enum weft_kept)which))
			ours |= SYS_SIGNAL_BIT(weft_disposition_signal((enum weft_kept)which));
	if (ours && !weft_real(sigaltstack)(NULL, &now) && (now.ss_flags & SS_ONSTACK) &&
	    classify(now.ss_size))
		sys_call4(SYS_rt_sigprocmask, SIG_BLOCK, &ours, NULL, sizeof(ours));
}
