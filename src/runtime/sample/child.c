/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The session of a forked child. It begins in the child's first SIGPROF (of a timer on the
 * process's CPU time, armed at the fork), or when a second thread of the child wants a slot; if
 * that timer could not be made, when a second thread starts. Runs in a handler: all of it
 * async-signal-safe, once per child (counter child_sessions).
 */
#include <string.h>

#include <weft/abi/rendezvous.h>

#include "runtime/context/context.h"
#include "runtime/context/labels.h"
#include "runtime/core/customlabels_meet.h"
#include "runtime/core/sys.h"
#include "runtime/coro/coro.h"
#include "runtime/event/event.h"
#include "runtime/sample/clock.h"
#include "runtime/sample/sample.h"
#include "runtime/stack/module_map.h"

#define PATIENCE_NS UINT64_C(2000000000)

static int has_no_timer; /* none could be made: no tick will begin the session */

enum beginning { BEGINNING_NOT = 0, BEGINNING, BEGUN }; /* BEGUN: or failed for good */

/* If it is not recorded, a collector can attach, and the child has its own SIGPROF again. */
static void child_begin_engine(void)
{
	if (weft_rt.has_collector) {
		weft_engine_start();
		return;
	}
	weft_prime_install_default();
	weft_engine_stop();
}

static int child_begin(void)
{
	int failed;

	weft_timer_disarm_process();
	weft_session_forget();
	weft_engine_forget();
	failed = weft_rt.has_collector ? weft_join(WEFT_HELLO_FORKED) : -ENOTCONN;
	if (failed) {
		weft_tables_forget();
		failed = weft_session_make(failed != -ECANCELED);
	}
	if (failed)
		return failed;
	weft_event_types_replay();
	weft_log_replay();
	weft_meet_publish_header();
	weft_modules_epoch_replay();
	weft_rt_count(WEFT_COUNTER_CHILD_SESSIONS, 1);
	weft_hooks_publish();
	child_begin_engine();
	store_release(&weft_rt.header->target_state, WEFT_TARGET_LIVE);
	return 0;
}

/* Signals are blocked meanwhile, so that no handler waits for the thread that it interrupted. */
static int begin_alone(void)
{
	uint64_t before;
	uint32_t nobody = BEGINNING_NOT;
	int result = -EBUSY;

	if (weft_rt_is_careful())
		return -EPERM;
	before = sys_signals_block(SYS_SIGNALS_ALL);
	if (cas_acquire(&weft_rt.beginning, &nobody, BEGINNING)) {
		result = child_begin();
		store_release(&weft_rt.beginning, BEGUN);
	}
	sys_signals_restore(before);
	return result;
}

int weft_child_begin(void)
{
	uint64_t began_ns = clock_own_ns();
	int result = begin_alone();

	while (result == -EBUSY && load_acquire(&weft_rt.beginning) == BEGINNING &&
	       clock_own_ns() - began_ns < PATIENCE_NS)
		sys_call0(SYS_sched_yield);
	return weft_rt_is_ready() ? 0 : result;
}

/* In a handler: the thread does not run, and is not in the middle of a write. */
static void child_take_along(struct weft_slot *to, struct weft_slot *from)
{
	weft_context_copy(to, from);
	weft_labels_copy(to, from);
	weft_coro_copy(to, from);
	from->events.coroutine_at = 0;
	if (*weft_fork_guard & WEFT_GUARD_PUBLISHES)
		weft_publish(to, WEFT_CHANGED_ALL);
}

struct weft_slot *weft_child_move_out(void)
{
	struct weft_slot *mine = weft_slot_private(), *slot;
	struct weft_birth birth = {.how = WEFT_COUNTER_PRIMED_HANDLER,
				   .has_timer = 1,
				   .stack_low = mine->thread.stack_low,
				   .stack_high = mine->thread.stack_high};

	if (weft_slot_mine() == mine && weft_context_is_busy(mine))
		return NULL;
	weft_copies_store(NULL);
	slot = weft_slot_claim(&birth);
	if (slot)
		child_take_along(slot, mine);
	else
		weft_copies_store(mine);
	return slot;
}

struct weft_slot *weft_child_first_tick(void)
{
	struct weft_birth birth = {.how = WEFT_COUNTER_PRIMED_HANDLER, .has_timer = 1};
	struct weft_slot *slot = weft_slot_mine();

	if (!weft_rt_is_unbegun_child() || !weft_guard_holds() || weft_child_begin())
		return NULL;
	return slot ? weft_child_move_out() : weft_slot_claim(&birth);
}

void weft_child_before_thread(void)
{
	if (UNLIKELY(has_no_timer) && weft_rt_is_unbegun_child())
		weft_child_begin();
	weft_attach_before_children();
}

/*
 * The kernel is asked whether our handler is installed: a recording that attaches or ends at this
 * moment may have done half of it, and a timer's SIGPROF would kill.
 */
void weft_child_after_fork(void)
{
	int is_wanted = weft_rt.base && !weft_rt_is_careful() && weft_rt.has_collector &&
			weft_rt_run_state() == WEFT_RUN_RECORDING &&
			weft_disposition_is_installed(WEFT_KEPT_PROF);

	has_no_timer = is_wanted && weft_timer_arm_process() != 0;
	weft_clock_after_fork(is_wanted);
}
