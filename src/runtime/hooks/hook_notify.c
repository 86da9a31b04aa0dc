/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads of notifications (SIGEV_THREAD): timer_create and mq_notify, interposed. libc starts
 * those threads by a pthread_create of its own, those of timers with nearly all signals blocked, or
 * it calls the program's function again and again in one thread. So libc is given a function of
 * ours, which does what the start hook does, opens SIGPROF (mask.c: the program sees it blocked),
 * and calls the program's function with the same value.
 *
 * There is one function of ours for each different function (and stack size), for ever: nobody
 * knows when the last thread of a deleted timer has started. Values are passed through, so that a
 * million timers take no more room than one. When all are in use, libc gets the program's own
 * function, which is counted.
 *
 * Writers: any thread, each row once. A row that is being filled is skipped: two rows of one
 * function do no harm.
 */
#include <dlfcn.h>
#include <errno.h>
#include <mqueue.h>

#include "runtime/core/real.h"
#include "runtime/hooks/hooks.h"
#include "runtime/hooks/patch.h"
#include "runtime/sample/mask.h"
#include "runtime/sample/sample.h"

enum { FREE, FILLING, FILLED };

typedef void notify_fn(union sigval value);

struct notified {
	uint32_t state; /* stored last, with release */
	notify_fn *function;
	uint64_t stack_bytes;
};

#define EIGHT(X, n) X(n##0) X(n##1) X(n##2) X(n##3) X(n##4) X(n##5) X(n##6) X(n##7)
#define ALL(X)                                                                                     \
	EIGHT(X, 0)                                                                                \
	EIGHT(X, 1) EIGHT(X, 2) EIGHT(X, 3) EIGHT(X, 4) EIGHT(X, 5) EIGHT(X, 6) EIGHT(X, 7)
#define COUNT 64 /* 0 to 077 */

static struct notified table[COUNT];

/* ---- in the thread */

static void hook_notify_leave(void *was_opened)
{
	if (*(int *)was_opened)
		weft_mask_close_here();
	weft_thread_leave();
}

static void hook_notify_begin(const struct notified *n)
{
	const struct weft_thread_stack stack = {.bytes = n->stack_bytes};

	weft_key_begin_anew();
	if (!weft_slot_mine())
		weft_thread_prime(&stack);
}

static void hook_notify_call(const struct notified *n, union sigval value)
{
	struct weft_cleanup at_exit;
	int was_opened = weft_mask_open_here();

	hook_notify_begin(n);
	weft_cleanup_push(&at_exit, hook_notify_leave, &was_opened);
	n->function(value);
	weft_cleanup_pop(&at_exit, 1);
}

#define DEFINE(n)                                                                                  \
	static void notify_##n(union sigval value)                                                 \
	{                                                                                          \
		hook_notify_call(&table[0##n], value);                                             \
	}
ALL(DEFINE)
#undef DEFINE

#define NAME(n) notify_##n,
static notify_fn *const ours[COUNT] = {ALL(NAME)};
#undef NAME

/* ---- in its creator */

static int hook_notify_is_of(const struct notified *n, notify_fn *function, uint64_t stack_bytes)
{
	return load_acquire(&n->state) == FILLED && n->function == function &&
	       n->stack_bytes == stack_bytes;
}

static int hook_notify_takes(struct notified *n, notify_fn *function, uint64_t stack_bytes)
{
	uint32_t nobody = FREE;

	if (!cas_acquire(&n->state, &nobody, FILLING))
		return 0;
	n->function = function;
	n->stack_bytes = stack_bytes;
	store_release(&n->state, FILLED);
	return 1;
}

static notify_fn *ours_for(notify_fn *function, uint64_t stack_bytes)
{
	for (int i = 0; i < COUNT; i++)
		if (hook_notify_is_of(&table[i], function, stack_bytes) ||
		    hook_notify_takes(&table[i], function, stack_bytes))
			return ours[i];
	if (weft_rt_has_session())
		weft_rt_count(WEFT_COUNTER_NOTIFY_FULL, 1);
	return function;
}

/* @copy: room for the changed event. One without a function faults as it would without us. */
static const struct sigevent *with_ours(const struct sigevent *event, struct sigevent *copy)
{
	if (!event || event->sigev_notify != SIGEV_THREAD || !event->sigev_notify_function ||
	    !weft_hook_is_on(WEFT_HOOK_THREADS))
		return event;
	*copy = *event;
	copy->sigev_notify_function =
		ours_for(event->sigev_notify_function,
			 weft_thread_stack(event->sigev_notify_attributes).bytes);
	return copy;
}

/* In librt on an older glibc, which may have been loaded for one module only. */
static void *in_librt(const char *name)
{
	void *librt = weft_real(dlopen)("librt.so.1", RTLD_LAZY | RTLD_NOLOAD);
	void *found = librt ? dlsym(librt, name) : NULL;

	dlerror();
	return found;
}

static int hook_notify_refuse(void)
{
	errno = ENOSYS;
	return -1;
}

WEFT_API int timer_create(clockid_t clock, struct sigevent *event, timer_t *timer)
{
	weft_timer_create_fn *real = weft_patch_old_timer_create(__builtin_return_address(0));
	struct sigevent copy;

	if (!real)
		real = weft_real(timer_create);
	if (!real)
		*(void **)(void *)&real = in_librt("timer_create");
	return real ? real(clock, (struct sigevent *)with_ours(event, &copy), timer)
		    : hook_notify_refuse();
}

WEFT_API int mq_notify(mqd_t queue, const struct sigevent *event)
{
	int (*real)(int, const struct sigevent *) = weft_real(mq_notify);
	struct sigevent copy;

	if (!real)
		*(void **)(void *)&real = in_librt("mq_notify");
	return real ? real(queue, with_ours(event, &copy)) : hook_notify_refuse();
}
