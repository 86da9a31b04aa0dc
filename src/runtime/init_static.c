/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libweft.a's beginning: context only. It joins the libweft.so of the process where there is
 * one (preloaded by `weft record`); else it makes a session that any outside reader can see.
 */
#include "runtime/runtime.h"

static int begin_child(void)
{
	int failed;

	if (__atomic_exchange_n(&weft_rt.beginning, 1, __ATOMIC_ACQUIRE))
		return -1;
	weft_session_forget();
	failed = weft_session_make();
	if (!failed)
		weft_log_replay();
	return failed;
}

const char weft_rt_begins = 1;

__attribute__((constructor(101))) static void weft_begin(void)
{
	if (weft_copies_find_master())
		return;
	weft_guard_open();
	weft_rt.begin_child = begin_child;
	if (weft_session_make())
		return;
	weft_fork_open();
	weft_key_open();
	weft_modules_log();
	__atomic_store_n(&weft_rt.header->target_state, WEFT_TARGET_LIVE, __ATOMIC_RELEASE);
}
