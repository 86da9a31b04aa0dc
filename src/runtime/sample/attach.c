/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A recording of a process that is already running (WEFT_ORDER_ATTACH, WEFT_ORDER_STOP). The
 * collector has entered itself into the header of this process's own session; the order is a
 * priming signal to a thread that runs, whose handler calls this file.
 *
 *   begin  stops what an earlier recording left; asks the collector for the unwind tables
 *          (counted in `attached`: a handful of system calls); starts the engines; stores the
 *          result in attach_error, and then attach_taken (release)
 *   end    stops the engines, unmaps the tables. Slots, context and the session stay for the
 *          next recording
 *
 * A process whose threads all sleep, or run only for moments, gets no signal, which could cut a
 * call short. If it starts threads, children or programs, as a shell does, it carries the order out
 * itself before each of these.
 *
 * The second order may never come: the collector was killed, or nothing ran when it left. So ticks
 * of timers check, too, whether the recording is over, or its collector has not drained for
 * seconds. Then the thread of that tick ends it for all.
 *
 * Async-signal-safe; one thread at a time, and one that finds another at it returns.
 */
#include <string.h>

#include <weft/abi/rendezvous.h>

#include "runtime/core/sys.h"
#include "runtime/sample/sample.h"
#include "runtime/stack/module_map.h"

static uint32_t at_work;

static int is_own_session(void)
{
	return (weft_rt.header->features & WEFT_FEATURE_RUNTIME_MADE) != 0;
}

static int attach_enter(void)
{
	return weft_rt_has_session() && !__atomic_exchange_n(&at_work, 1, __ATOMIC_ACQUIRE);
}

static void set_running(uint32_t running)
{
	store_release(&weft_rt.header->engines_run, running);
}

/* Copies the collector's field, which may change meanwhile. */
static int attach_set_path(void)
{
	char path[sizeof(weft_rt.header->socket_path)];

	memcpy(path, weft_rt.header->socket_path, sizeof(path));
	path[sizeof(path) - 1] = 0;
	return weft_join_set_path(path);
}

/* No handler may still walk by the old tables. If one does, these stay, and the order is not
 * carried out; the collector sends it again. */
static int stop_earlier(void)
{
	int failed = weft_engine_stop();

	if (failed && failed != -EALREADY)
		return failed;
	set_running(0);
	if (is_own_session())
		weft_tables_forget();
	return 0;
}

/* Without tables stacks are copied; that is no reason not to sample. */
static int attach_begin(void)
{
	int failed;

	if (!attach_set_path())
		weft_join_tables();
	weft_time_follow(weft_rt.header);
	weft_rt.has_collector = 1;
	weft_rt_count(WEFT_COUNTER_ATTACHED, 1);
	failed = weft_engine_start();
	if (!failed)
		set_running(1);
	return failed == -EALREADY ? 0 : failed;
}

void weft_attach_run(void)
{
	struct weft_session_header *h = weft_rt.header;
	uint32_t number;
	int error = 0;

	if (!is_own_session() || !attach_enter())
		return;
	/* Pairs: the release store in take_over() (src/collector/session/session_attach.c). */
	number = load_acquire(&h->attach_number);
	if (number != load_relaxed(&h->attach_taken) && weft_rt_run_state() == WEFT_RUN_RECORDING &&
	    (weft_rt_is_careful() || !stop_earlier())) {
		error = weft_rt_is_careful() ? -EPERM : attach_begin();
		store_relaxed(&h->attach_error, error);
		store_release(&h->attach_taken, number);
	}
	store_release(&at_work, 0);
}

void weft_attach_run_pending(void)
{
	uint64_t before;

	/* a vfork child, or a forked child that has not noticed the fork */
	if (sys_getpid() != weft_rt.pid)
		return;
	before = sys_signals_block(SYS_SIGNALS_ALL);
	weft_attach_run();
	sys_signals_restore(before);
}

void weft_attach_end(void)
{
	if (!attach_enter())
		return;
	if (weft_rt_run_state() != WEFT_RUN_RECORDING)
		stop_earlier();
	store_release(&at_work, 0);
}

/* ---- ends without an order */

static int attach_collector_is_gone(uint64_t now_ns)
{
	const struct weft_session_header *h = weft_rt.header;
	uint64_t drained_ns = load_relaxed(&h->drained_ns);
	int32_t pid = load_relaxed(&h->collector_pid);

	return !weft_rt_is_careful() && (int64_t)(now_ns - drained_ns) > COLLECTOR_PATIENCE_NS &&
	       sys_call2(SYS_kill, pid, 0) == -ESRCH;
}

/* Closes the recording in the collector's place; another one may attach at this very moment. */
static void close_for_it(void)
{
	uint32_t recording = WEFT_RUN_RECORDING;

	cas_acq_rel(&weft_rt.header->run_state, &recording, WEFT_RUN_CLOSED);
}

void weft_attach_check(uint64_t now_ns)
{
	if (weft_rt_run_state() == WEFT_RUN_RECORDING) {
		if (!is_own_session() || !attach_collector_is_gone(now_ns))
			return;
		close_for_it();
	}
	weft_attach_end();
}
