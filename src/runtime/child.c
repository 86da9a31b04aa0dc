/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The session of a forked child: begun in its first SIGPROF (of a timer on the process's
 * CPU time that fork.c has armed), or when a second thread of it wants a slot. Runs in a
 * handler: all of it async-signal-safe, once per child (counter child_sessions).
 */
#include <string.h>

#include <weft/abi/rendezvous.h>

#include "runtime/hooks.h"
#include "runtime/join.h"
#include "runtime/sampler.h"
#include "runtime/sys.h"
#include "runtime/tables.h"

#define PATIENCE_NS UINT64_C(2000000000)

enum beginning { BEGINNING_NOT = 0, BEGINNING, BEGUN }; /* or failed for good */

static int begin(void)
{
	int failed;

	weft_timer_disarm_process();
	weft_session_forget();
	failed = weft_rt.has_collector ? weft_join(WEFT_HELLO_FORKED) : -ENOTCONN;
	if (failed) {
		weft_tables_forget();
		failed = weft_session_make(failed != -ECANCELED);
	}
	if (failed)
		return failed;
	weft_log_replay();
	weft_modules_epoch_replay();
	weft_rt_count(WEFT_COUNTER_CHILD_SESSIONS, 1);
	__atomic_store_n(&weft_rt.header->hooks, weft_hooks_on, __ATOMIC_RELAXED);
	weft_timer_adopt_threads();
	__atomic_store_n(&weft_rt.header->target_state, WEFT_TARGET_LIVE, __ATOMIC_RELEASE);
	return 0;
}

/* Signals are blocked meanwhile, so nobody waits for a beginning on the same thread. */
static int begin_alone(void)
{
	uint64_t all = ~UINT64_C(0), old;
	uint32_t nobody = BEGINNING_NOT;
	int result = -EBUSY;

	sys_call4(SYS_rt_sigprocmask, SIG_SETMASK, &all, &old, sizeof(all));
	if (__atomic_compare_exchange_n(&weft_rt.beginning, &nobody, BEGINNING, 0, __ATOMIC_ACQUIRE,
					__ATOMIC_RELAXED)) {
		result = begin();
		__atomic_store_n(&weft_rt.beginning, BEGUN, __ATOMIC_RELEASE);
	}
	sys_call4(SYS_rt_sigprocmask, SIG_SETMASK, &old, NULL, sizeof(old));
	return result;
}

int weft_child_begin(void)
{
	uint64_t began_ns = clock_monotonic_ns();
	int result = begin_alone();

	while (result == -EBUSY &&
	       __atomic_load_n(&weft_rt.beginning, __ATOMIC_ACQUIRE) == BEGINNING &&
	       clock_monotonic_ns() - began_ns < PATIENCE_NS)
		sys_call0(SYS_sched_yield);
	return weft_rt_is_ready() ? 0 : result;
}

struct weft_slot *weft_child_move_out(void)
{
	struct weft_slot *mine = weft_slot_private(), *slot;
	struct weft_birth birth = {.how = WEFT_COUNTER_PRIMED_HANDLER,
				   .stack_low = mine->thread.stack_low,
				   .stack_high = mine->thread.stack_high};

	if (weft_thread_slot == mine && weft_context_is_busy(mine))
		return NULL;
	weft_copies_store(NULL);
	slot = weft_slot_claim(&birth);
	if (slot)
		weft_context_copy(slot, mine);
	else
		weft_copies_store(mine);
	return slot;
}

void weft_child_first_tick(void)
{
	struct weft_birth birth = {.how = WEFT_COUNTER_PRIMED_HANDLER};
	struct weft_slot *slot = weft_thread_slot;

	if (__atomic_load_n(&weft_rt.state, __ATOMIC_ACQUIRE) != WEFT_RT_CHILD ||
	    !weft_guard_holds() || begin_alone())
		return;
	slot = slot ? weft_child_move_out() : weft_slot_claim(&birth);
	if (slot)
		weft_timer_arm(slot);
}

void weft_child_after_fork(void)
{
	if (weft_rt.base && weft_rt.has_collector && weft_rt_run_state() == WEFT_RUN_RECORDING)
		weft_timer_arm_process();
}
