/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The handler of the priming signal (prime.c): an order to this thread, a sample of the thread's
 * hrtimer, which sends the same signal, or another sender's signal, which is passed on.
 */
#include "runtime/sample/sample.h"

#include "runtime/core/handling.h"
#include "runtime/core/sys.h"
#include "runtime/sample/clock.h"
#include "runtime/sample/mask.h"

static void prime_here(uint64_t mask)
{
	struct weft_birth birth = {.how = WEFT_COUNTER_PRIMED_SIGNAL};
	struct weft_handling marked = weft_handling_begin();
	struct weft_slot *slot = weft_slot_mine();

	if (slot && slot == weft_slot_private())
		slot = weft_child_move_out();
	else if (!slot)
		slot = weft_slot_claim(&birth);
	if (slot)
		weft_timer_arm(slot, mask);
	weft_mask_look(mask);
	weft_mask_timer_made(); /* by another thread, which does not know whether it is closed */
	weft_handling_end(marked);
}

static void obey(enum weft_order order, uint64_t mask)
{
	switch (order) {
	case WEFT_ORDER_PRIME:
		prime_here(mask);
		break;
	case WEFT_ORDER_ATTACH:
		prime_here(mask);
		weft_attach_run();
		break;
	case WEFT_ORDER_STOP:
		weft_attach_end();
		break;
	case WEFT_ORDER_ADOPT:
		weft_adopt_more();
		break;
	}
}

/* If nothing more can be queued (RLIMIT_SIGPENDING) the value is lost: it may be ours. */
static int has_lost_its_value(const siginfo_t *info)
{
	return info->si_code == SI_USER && info->si_pid == 0;
}

static void orders_pass_on(int signo, siginfo_t *info, void *ucontext)
{
	if (weft_rt_has_session())
		weft_rt_count(WEFT_COUNTER_FOREIGN_SIGNALS, 1);
	if (signo == SIGURG && info->si_code != SI_QUEUE && !has_lost_its_value(info) &&
	    !weft_disposition_has_handler(WEFT_KEPT_PRIME)) {
		weft_prime_stand_aside();
		return;
	}
	weft_disposition_deliver(WEFT_KEPT_PRIME, signo, info, ucontext);
}

static void order_handler(int signo, siginfo_t *info, void *ucontext)
{
	const ucontext_t *uc = ucontext;
	int saved_errno = errno;

	if (weft_clock_sent(info))
		weft_sampler_clock(uc);
	else if (!weft_prime_is_ours(info))
		orders_pass_on(signo, info, ucontext);
	else if (weft_rt_has_session()) {
		if (info->si_pid == weft_rt.pid)
			weft_prime_received();
		obey((enum weft_order)WEFT_SIGVAL_INDEX((uintptr_t)info->si_value.sival_ptr),
		     sys_mask_of(uc));
	}
	errno = saved_errno;
}

void weft_sampler_begin(void)
{
	weft_rt.on_tick = weft_sampler_handler;
	weft_rt.on_order = order_handler;
}
