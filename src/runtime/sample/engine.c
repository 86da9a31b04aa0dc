/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How sampling begins and ends in the target, any number of times in the life of a process.
 *
 *   start  handlers, then hooks, then the scan of threads that run already, then timers: so that
 *          no sample comes before its thread could be primed
 *   stop   timers deleted, running handlers waited for (bounded), handlers uninstalled: the
 *          program's own action is installed again. Slots stay mapped
 *
 * All of it is async-signal-safe: attach.c starts and stops from the priming signal's handler.
 * Starts and stops exclude each other by one word; a caller that finds it taken returns. Whoever
 * makes a timer passes the gate (gate.c).
 *
 * A stop waits for running handlers, but not for ever: what a late one may still store in a slot,
 * the number of a deleted timer, is cleared afterwards, or before the next start.
 */

#include "runtime/core/sys.h"
#include "runtime/sample/clock.h"
#include "runtime/sample/mask.h"
#include "runtime/sample/sample.h"

#define PATIENCE_NS UINT64_C(20000000)
#define NAP_NS 100000

static int engine_begin(uint64_t mask)
{
	struct weft_slot *slot = weft_slot_mine();
	int failed = weft_sampler_install();

	if (failed)
		return failed;
	weft_tick_read();
	weft_prime_install((int)load_relaxed(&weft_rt.header->prime_signal));
	store_release(&weft_rt.on_release, weft_timer_disarm);
	store_release(&weft_rt.on_claim, weft_timer_arm);
	weft_timer_disarm_all();
	/* First, because adopting would see that signals are blocked. */
	if (slot && slot != weft_slot_private())
		weft_timer_arm(slot, mask);
	weft_adopt_threads();
	return 0;
}

static int may_not_move(void)
{
	if (!weft_rt_is_ready())
		return -ENOTCONN;
	return weft_rt_is_careful() ? -EPERM : 0;
}

int weft_engine_start(void)
{
	int failed = may_not_move();
	uint64_t mask;

	if (failed)
		return failed;
	if (!weft_gate_moves(WEFT_GATE_OFF, WEFT_GATE_STARTING))
		return -EALREADY;
	mask = sys_signals_block(SYS_SIGNALS_ALL);
	failed = engine_begin(mask);
	weft_gate_set(failed ? WEFT_GATE_OFF : WEFT_GATE_ON);
	sys_signals_restore(mask);
	return failed;
}

/* 1: no thread but the calling one is in a handler. */
static int nobody_handles(void)
{
	if (load_acquire(&weft_rt.header->handling))
		return 0;
	for (uint32_t i = 0; i < weft_rt_slots_high(); i++) {
		const struct weft_slot *slot = weft_rt_live_slot(i);

		if (slot && slot != weft_slot_mine() && load_acquire(&slot->thread.handling))
			return 0;
	}
	return 1;
}

static int wait_until(int (*holds)(void))
{
	const struct timespec nap = {.tv_nsec = NAP_NS};
	uint64_t began_ns = clock_own_ns();

	while (!holds()) {
		if (clock_own_ns() - began_ns > PATIENCE_NS)
			return 0;
		sys_call2(SYS_nanosleep, &nap, NULL);
	}
	return 1;
}

void weft_engine_await_handlers(void)
{
	wait_until(nobody_handles);
}

/* Handlers are uninstalled last, when all timers are deleted and nobody can make one. */
static int engine_finish(void)
{
	int all_armed = wait_until(weft_gate_is_clear), all_drained;

	weft_timer_disarm_all();
	all_drained = wait_until(nobody_handles);
	weft_timer_disarm_all();
	if (all_armed && !weft_mask_is_lent())
		weft_sampler_uninstall();
	if (weft_rt.own_fd < 0)
		weft_prime_end();
	if (all_armed && all_drained)
		return 0;
	weft_rt_count(WEFT_COUNTER_HANDLERS_UNDRAINED, 1);
	return -ETIMEDOUT;
}

int weft_engine_stop(void)
{
	int failed = may_not_move();
	uint64_t mask;

	if (failed)
		return failed;
	if (!weft_gate_moves(WEFT_GATE_ON, WEFT_GATE_STOPPING) &&
	    !(weft_sampler_is_installed() && weft_gate_moves(WEFT_GATE_OFF, WEFT_GATE_STOPPING)))
		return -EALREADY;
	mask = sys_signals_block(SYS_SIGNALS_ALL);
	failed = engine_finish();
	weft_gate_set(WEFT_GATE_OFF);
	sys_signals_restore(mask);
	return failed;
}

void weft_engine_forget(void)
{
	weft_gate_forget();
	weft_adopt_forget();
	weft_mask_forget_others();
	weft_prime_forget();
}
