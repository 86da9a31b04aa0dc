/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fork: the child shares the session's memory with its parent and must never write there.
 *
 * fork() runs our handlers: the child gets its private slot with the context of the thread
 * that forked. _Fork and raw clone run none: the wiped guard word sends the child's first
 * write here (weft_fork_noticed). Either way nothing is begun yet: a child that only execs
 * pays for one process CPU timer and one event of the clock; at their first signal, or when
 * a second thread wants a slot, the child meets the collector. vfork children own nothing and
 * are told nothing.
 */

#include "runtime/core/part.h"

#include <dlfcn.h>
#include <string.h>

#include "runtime/core/event_rows.h"
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
	WEFT_TELL_PARTS(copy, weft_slot_private(), slot);
	weft_slot_private()->thread.stack_low = slot->thread.stack_low;
	weft_slot_private()->thread.stack_high = slot->thread.stack_high;
}

static void parent(void)
{
	weft_log_unlock();
}

/* The session is the parent's from now on. */
static struct weft_slot *become_child(void)
{
	int had_slot = weft_slot_mine() != NULL;

	weft_log_reset_lock();
	__atomic_store_n(&weft_rt.state, WEFT_RT_CHILD, __ATOMIC_RELEASE);
	weft_rt.beginning = 0;
	weft_copies_store(had_slot ? weft_slot_private() : NULL);
	weft_guard_renew();
	weft_event_rows_forget();
	WEFT_TELL_PARTS(after_fork);
	if (weft_rt.on_fork)
		weft_rt.on_fork();
	return weft_slot_mine();
}

static void child(void)
{
	become_child();
}

/*
 * Nobody prepared: what the private slot holds could be another thread's, and the parent
 * may have moved on since. The child begins with no context.
 */
struct weft_slot *weft_fork_noticed(void)
{
	struct weft_slot *mine = weft_slot_private();

	memset(&mine->context, 0, sizeof(mine->context));
	memset(&mine->ext, 0, sizeof(mine->ext));
	memset(&mine->thread, 0, sizeof(mine->thread));
	memset(&mine->events, 0, sizeof(mine->events));
	WEFT_TELL_PARTS(forget, mine);
	weft_copies_store(mine);
	return become_child();
}

/* glibc has __register_atfork in its library and pthread_atfork in none; musl the latter. */
int weft_fork_open(void)
{
	int (*glibc)(void (*)(void), void (*)(void), void (*)(void), void *);
	int (*posix)(void (*)(void), void (*)(void), void (*)(void));

	*(void **)(void *)&glibc = dlsym(RTLD_DEFAULT, "__register_atfork");
	if (glibc)
		return glibc(fork_prepare, parent, child, NULL);
	*(void **)(void *)&posix = dlsym(RTLD_DEFAULT, "pthread_atfork");
	return posix ? posix(fork_prepare, parent, child) : -1;
}

/*
 * What the program believes is its parent's in a vfork child, which runs in that one's memory,
 * and the action in the kernel its own. (A forked child without a session yet is not known
 * by its pid.)
 */
int weft_is_vfork_child(void)
{
	return weft_rt_is_ready() && weft_guard_holds() && sys_getpid() != weft_rt.pid;
}
