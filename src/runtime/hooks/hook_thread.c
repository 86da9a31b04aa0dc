/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The start hook: pthread_create and thrd_create, interposed. A thread gets its slot and its
 * timer before its first own instruction and gives them back after its last one, on return,
 * pthread_exit and cancellation alike (a plain C cleanup handler, which forced unwinding runs
 * as it is, and then key.c).
 *
 * Stack bounds cost nothing here: on glibc and musl the thread's control block lies above
 * its stack in the same mapping, and the creator knows how large the stack is.
 */
#include <stdlib.h>

#include "runtime/core/real.h"
#include "runtime/hooks/hooks.h"
#include "runtime/hooks/patch.h"
#include "runtime/sample/mask.h"
#include "runtime/sample/sample.h"

/* In libpthread on an older glibc, which whoever creates a thread has loaded. */
#pragma weak pthread_attr_getstack
#pragma weak pthread_attr_getstacksize

/* For guard pages and the control block: the deepest part of a stack counts as unknown. */
#define STACK_MARGIN (UINT64_C(16) << 10)

struct start {
	void *(*run)(void *);
	int (*run_c11)(void *);
	void *arg;
	struct weft_thread_stack stack;
	int is_blocked; /* SIGPROF, as its creator believes */
};

void weft_thread_leave(void)
{
	weft_mask_forget();
	if (!weft_thread_slot || !weft_key_arm())
		weft_slot_release();
}

static void hook_thread_leave(void *arg)
{
	(void)arg;
	weft_thread_leave();
}

void weft_thread_prime(const struct weft_thread_stack *stack)
{
	struct weft_birth birth = {.how = WEFT_COUNTER_PRIMED_HOOK};
	uint64_t block = (uint64_t)(uintptr_t)pthread_self();

	if (!weft_guard_holds())
		return;
	weft_child_before_thread();
	if (!weft_rt_is_ready())
		return;
	__atomic_fetch_add(&weft_rt.header->hook_calls, 1, __ATOMIC_RELAXED);
	birth.stack_high = block;
	birth.stack_low = stack->low ? stack->low : block - stack->bytes + STACK_MARGIN;
	weft_slot_claim(&birth);
}

static void *hook_thread_run(void *arg)
{
	struct start start = *(struct start *)arg;
	struct weft_cleanup at_exit;
	void *result = NULL;

	free(arg);
	weft_mask_inherit(start.is_blocked);
	weft_thread_prime(&start.stack);
	weft_cleanup_push(&at_exit, hook_thread_leave, NULL);
	if (start.run)
		result = start.run(start.arg);
	else
		result = (void *)(intptr_t)start.run_c11(start.arg);
	weft_cleanup_pop(&at_exit, 1);
	return result;
}

static int run_c11(void *arg)
{
	return (int)(intptr_t)hook_thread_run(arg);
}

struct weft_thread_stack weft_thread_stack(const pthread_attr_t *attr)
{
	struct weft_thread_stack stack = {.bytes = STACK_MARGIN};
	pthread_attr_t fresh;
	void *low = NULL;
	size_t bytes = 0;

	if (!attr && !pthread_attr_init(&fresh)) {
		if (!pthread_attr_getstacksize(&fresh, &bytes))
			stack.bytes = bytes;
		pthread_attr_destroy(&fresh);
		return stack;
	}
	if (attr && !pthread_attr_getstacksize(attr, &bytes))
		stack.bytes = bytes;
	/* For a stack that the program did not allocate, glibc returns 0 - size. */
	if (attr && !pthread_attr_getstack(attr, &low, &bytes) && low &&
	    (uintptr_t)low + bytes != 0 && (uintptr_t)low < (UINT64_C(1) << 63))
		stack.low = (uint64_t)(uintptr_t)low;
	return stack;
}

/* Then nothing is inherited. (Not every libc has this function.) */
static int has_own_mask(const pthread_attr_t *attr)
{
	sigset_t set;

	return attr && weft_real(pthread_create) && weft_real_table.pthread_attr_getsigmask_np &&
	       weft_real_table.pthread_attr_getsigmask_np(attr, &set) == 0;
}

static struct start *new_start(const pthread_attr_t *attr, void *arg)
{
	struct start *start = malloc(sizeof(*start));

	if (!start)
		return NULL;
	*start = (struct start){.arg = arg, .stack = weft_thread_stack(attr)};
	if (!has_own_mask(attr))
		start->is_blocked = weft_mask_is_blocked();
	return start;
}

WEFT_API int pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*routine)(void *),
			    void *arg)
{
	struct start *start;
	int result;

	weft_patch_catch_up();
	if (!weft_hook_is_on(WEFT_HOOK_THREADS) || !(start = new_start(attr, arg)))
		return weft_real(pthread_create)(thread, attr, routine, arg);
	start->run = routine;
	result = weft_real(pthread_create)(thread, attr, hook_thread_run, start);
	if (result)
		free(start);
	return result;
}

WEFT_API int thrd_create(thrd_t *thread, thrd_start_t routine, void *arg)
{
	struct start *start;
	int result;

	if (!weft_hook_is_on(WEFT_HOOK_THREADS) || !(start = new_start(NULL, arg)))
		return weft_real(thrd_create)(thread, routine, arg);
	start->run_c11 = routine;
	result = weft_real(thrd_create)(thread, run_c11, start);
	if (result != thrd_success)
		free(start);
	return result;
}
