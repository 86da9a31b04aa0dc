/* SPDX-License-Identifier: Apache-2.0 */
/*
 * _Fork, and clone without CLONE_VM, run no atfork handler in their children. So these hooks do at
 * once what the child's first write of a context would do otherwise (fork.c). A child made by a raw
 * system call is not noticed before that write, or its exec.
 *
 * Async-signal-safe, as _Fork must be.
 */
#include <sched.h>
#include <stdarg.h>
#include <unistd.h>

#include "runtime/core/real.h"
#include "runtime/hooks/hooks.h"

static void hook_fork_notice(void)
{
	if (weft_hook_is_on(WEFT_HOOK_EXEC) && !weft_guard_holds() &&
	    load_relaxed(&weft_rt.state) != WEFT_RT_NONE)
		weft_fork_noticed();
}

pid_t _Fork(void);

/* If libc has none, only programs that look it up by dlsym come here. */
WEFT_API pid_t _Fork(void)
{
	pid_t pid = weft_real(_Fork) ? weft_real(_Fork)() : weft_real(fork)();

	if (pid == 0)
		hook_fork_notice();
	return pid;
}

/* In the frame of the caller, which the child has a copy of. */
struct clone_start {
	int (*run)(void *);
	void *arg;
};

static int run_clone(void *arg)
{
	struct clone_start start = *(struct clone_start *)arg;

	hook_fork_notice();
	return start.run(start.arg);
}

int clone(int (*run)(void *), void *stack, int flags, void *arg, ...);

WEFT_API int clone(int (*run)(void *), void *stack, int flags, void *arg, ...)
{
	struct clone_start start = {run, arg};
	void *parent_tid, *tls, *child_tid;
	va_list more;

	/* Reads as many as there may be; clone does not use those that were not passed. */
	va_start(more, arg);
	parent_tid = va_arg(more, void *);
	tls = va_arg(more, void *);
	child_tid = va_arg(more, void *);
	va_end(more);
	if (!(flags & CLONE_VM) && run) {
		run = run_clone;
		arg = &start;
	}
	return weft_real(clone)(run, stack, flags, arg, parent_tid, tls, child_tid);
}
