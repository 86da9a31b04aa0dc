/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libweft.so's beginning and end in a process. The order matters: libc's own functions, the fork
 * guard, the session, the main thread's slot, the loaded modules; and the engine (engine.c) only
 * after these, if a collector records. Whatever fails is left out; the program never notices.
 * Under a filter of system calls that may kill (core/filters.c) nothing is begun.
 */
#include <stdlib.h>

#include <weft/abi/rendezvous.h>

#include "runtime/context/context.h"
#include "runtime/core/customlabels_meet.h"
#include "runtime/core/real.h"
#include "runtime/core/sys.h"
#include "runtime/event/event.h"
#include "runtime/hooks/hooks.h"
#include "runtime/hooks/patch.h"
#include "runtime/sample/mask.h"
#include "runtime/sample/sample.h"
#include "runtime/stack/module_map.h"
#include "runtime/start/start.h"

/* The collector is gone, or has ended while it began: programs that are begun from here find no
 * address, and begin no other recording, which would replace the first one's file or fail like
 * that. */
static void forget_collector(int is_gone)
{
	if (is_gone)
		unsetenv("WEFT_RECORD");
	weft_environment_keep_room(is_gone);
}

static void begin_session(void)
{
	const char *path = secure_getenv("WEFT_SOCKET");
	const char *file = secure_getenv("WEFT_RECORD");
	int failed = -ENOTCONN, is_first = 0;

	if (path && *path)
		failed = weft_join_set_path(path) ? -EINVAL : weft_join(0);
	else if (file && *file)
		is_first = 1;
	if (is_first)
		failed = weft_launch(file) ? -EINVAL : weft_join(WEFT_HELLO_ROOT);
	if (failed)
		weft_session_make(failed != -ECANCELED); /* the collector refused: leave no trace */
	if (failed && failed != -ECANCELED)
		forget_collector(failed == -ENOENT || failed == -ECONNREFUSED ||
				 (is_first && failed != -EAGAIN));
}

static void claim_main(void)
{
	struct weft_birth birth = {.how = WEFT_COUNTER_PRIMED_MAIN};

	if (sys_gettid() == weft_rt.pid)
		weft_thread_stack_main(&birth);
	weft_slot_claim(&birth);
}

/* Without a collector, one can attach later by the priming signal. */
static void init_begin_engine(void)
{
	if (weft_rt.has_collector) {
		weft_engine_start();
		if (weft_sampler_is_installed()) /* pending signals are delivered at once */
			weft_mask_open();
		return;
	}
	weft_prime_install_default();
}

const char weft_rt_begins = 1;

__attribute__((constructor(101))) static void init_weft_begin(void)
{
	weft_real_resolve();
	weft_syscall_open();
	if (weft_filters_are_strange()) { /* as if there were no weft */
		store_release(&weft_rt.careful, 1);
		weft_hooks_on = 0;
		return;
	}
	weft_own_begin();
	weft_time_open();
	weft_parts_begin();
	if (weft_copies_find_master()) { /* another copy has begun already, and does everything */
		weft_hooks_on = 0;
		return;
	}
	weft_hooks_parse(secure_getenv("WEFT_HOOKS"));
	weft_prime_parse(secure_getenv("WEFT_PRIME_SIGNAL"));
	weft_environment_open();
	weft_guard_open();
	weft_map_begin();
	weft_sampler_begin();
	weft_rt.begin_child = weft_child_begin;
	weft_rt.before_fork = weft_attach_before_children;
	weft_rt.on_fork = weft_child_after_fork;
	weft_rt.last_words = weft_launch_last_words;
	weft_rt.take_event_stack = weft_event_stack_write;
	begin_session();
	if (!weft_rt_is_ready())
		return;
	weft_fork_open();
	weft_key_open();
	weft_copies_meet_labels();
	weft_publish_open();
	claim_main();
	weft_patch_open();
	weft_hooks_publish();
	weft_modules_log();
	init_begin_engine();
	if (weft_waits_v1)
		weft_waits_v1();
	store_release(&weft_rt.header->target_state, WEFT_TARGET_LIVE);
}

__attribute__((destructor(101))) static void weft_end(void)
{
	weft_account_process();
	if (weft_rt_has_session())
		weft_launch_wait_for_file();
}
