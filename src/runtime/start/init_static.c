/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libweft.a's beginning: context only. It joins the libweft.so of the process, if there is one
 * (preloaded by `weft record`); else it makes a session that any reader outside can find.
 */
#include "runtime/context/context.h"
#include "runtime/core/customlabels_meet.h"
#include "runtime/core/sys.h"
#include "runtime/event/event.h"
#include "runtime/start/start.h"

static int init_static_begin_child(void)
{
	uint64_t before;
	uint32_t nobody = 0;

	/* A collector's mark, which lies in the parent's session: without that it would be lost. */
	if (weft_rt_is_careful())
		return -1;
	/* A handler on this thread must not wait for the code that it interrupted. */
	before = sys_signals_block(SYS_SIGNALS_ALL);
	if (cas_acquire(&weft_rt.beginning, &nobody, 1)) {
		weft_session_forget();
		if (!weft_session_make(1)) {
			weft_event_types_replay();
			weft_log_replay();
			weft_meet_publish_header();
		}
		store_release(&weft_rt.beginning, 2);
	}
	/* Another thread is at it, and done after a few system calls. */
	while (load_acquire(&weft_rt.beginning) == 1)
		sys_call0(SYS_sched_yield);
	sys_signals_restore(before);
	return weft_rt_is_ready() ? 0 : -1;
}

const char weft_rt_begins = 1;

__attribute__((constructor(101))) static void init_static_weft_begin(void)
{
	weft_time_open();
	weft_parts_begin();
	if (weft_filters_are_strange()) {
		store_release(&weft_rt.careful, 1);
		return;
	}
	if (weft_copies_find_master())
		return;
	weft_guard_open();
	weft_rt.begin_child = init_static_begin_child;
	if (weft_session_make(1))
		return;
	weft_fork_open();
	weft_key_open();
	weft_copies_meet_labels();
	weft_publish_open();
	weft_modules_log();
	store_release(&weft_rt.header->target_state, WEFT_TARGET_LIVE);
}
