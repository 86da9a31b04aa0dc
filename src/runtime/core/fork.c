/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fork: the child shares the session's memory with its parent and must never write there.
 *
 * fork() runs our handlers: the child gets its private slot with the context of the thread that
 * forked. _Fork and raw clone run none: the wiped guard word sends the child's first write here
 * (weft_fork_noticed). In neither case does a session begin yet: a child that only execs pays for
 * one CPU timer of the process and one event of the clock. At their first signal, or when a second
 * thread wants a slot, the child connects to the collector. vfork children own nothing and are told
 * nothing.
 */

#include "runtime/core/runtime.h"

#include <dlfcn.h>
#include <string.h>

#include "runtime/core/sys.h"

static void fork_prepare(void)
{
	struct weft_slot *slot;

	if (weft_rt.before_fork)
		weft_rt.before_fork();
	slot = weft_slot_mine();
	weft_log_lock();
	if (!slot || slot == weft_slot_private() || !weft_guard_holds())
		return;
	WEFT_CALL_PARTS(copy, weft_slot_private(), slot);
	weft_slot_private()->thread.stack_low = slot->thread.stack_low;
	weft_slot_private()->thread.stack_high = slot->thread.stack_high;
}

/* From here on the session in memory is the parent's. */
static void fork_in_child(void)
{
	int had_slot = weft_slot_mine() != NULL;

	weft_log_unlock();
	store_release(&weft_rt.state, WEFT_RT_CHILD);
	weft_rt.beginning = 0;
	weft_copies_store(had_slot ? weft_slot_private() : NULL);
	weft_guard_renew();
	weft_event_rows_forget();
	WEFT_CALL_PARTS(after_fork);
	if (weft_rt.on_fork)
		weft_rt.on_fork();
}

/*
 * In a child whose fork ran no handlers: the private slot may hold another thread's state, and the
 * parent may have gone on since. The child begins without a context.
 */
struct weft_slot *weft_fork_noticed(void)
{
	struct weft_slot *mine = weft_slot_private();

	memset(&mine->context, 0, sizeof(mine->context));
	memset(&mine->ext, 0, sizeof(mine->ext));
	memset(&mine->thread, 0, sizeof(mine->thread));
	memset(&mine->events, 0, sizeof(mine->events));
	WEFT_CALL_PARTS(forget, mine);
	weft_copies_store(mine);
	fork_in_child();
	return weft_slot_mine();
}

/* glibc exports __register_atfork, but no pthread_atfork; musl exports the latter. */
int weft_fork_open(void)
{
	int (*glibc)(void (*)(void), void (*)(void), void (*)(void), void *);
	int (*posix)(void (*)(void), void (*)(void), void (*)(void));

	*(void **)(void *)&glibc = dlsym(RTLD_DEFAULT, "__register_atfork");
	if (glibc)
		return glibc(fork_prepare, weft_log_unlock, fork_in_child, NULL);
	*(void **)(void *)&posix = dlsym(RTLD_DEFAULT, "pthread_atfork");
	return posix ? posix(fork_prepare, weft_log_unlock, fork_in_child) : -1;
}

/*
 * A vfork child runs in its parent's memory, where the program's view of signal actions is the
 * parent's, while the kernel's is its own. (The pid does not tell a forked child without a session
 * from its parent, thus the guard.)
 */
int weft_is_vfork_child(void)
{
	return weft_rt_has_session() && sys_getpid() != weft_rt.pid;
}
