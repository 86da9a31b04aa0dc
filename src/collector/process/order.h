/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Orders to a process (abi/session.h, enum weft_order): the priming signal, queued with a value to
 * one of its threads. A signal must not change what the program does, and a system call that sleeps
 * may return early because of one. So only these threads get one:
 *
 *   - a thread that sleeps in a call which the kernel goes on with afterwards (order_may_wake());
 *   - a thread that computes, and has for a while. One that is merely seen to run may go to sleep
 *     before the signal arrives, and most do so within microseconds; one that waits for a CPU may
 *     be in a call from which it was just woken. So it must have used a CPU for some time without
 *     a wait (thread_ran_on()).
 *
 * None goes to a process that has a system call filter which it had not before (filters.h): what
 * its handler would do might kill it. Threads whose mask or sigwait() would swallow the signal are
 * passed over. The session may name any signal: none is sent but SIGURG and real-time ones, and
 * only where a handler is installed.
 */
#ifndef WEFT_COLLECTOR_ORDER_H
#define WEFT_COLLECTOR_ORDER_H

#include "collector/process/process.h"
#include "proc/thread_stat.h"

/* May this signal be sent to a stranger? SIGURG, or a real-time one that libc leaves free. */
int order_signal_is_allowed(uint32_t signo);

/* Queues @order, if @signo is in use still: -ECANCELED when the process has let go of it. */
int order_queue(const struct process *p, int32_t tid, uint32_t signo, enum weft_order order);

/* Waits @steady_ns. Has the thread computed since @before, and would the signal reach it? */
int order_runs_on(const struct process *p, int32_t tid, uint32_t signo,
		  const struct thread_run *before, uint64_t steady_ns);

/* Does it sleep in a call that goes on after a signal as if there had been none, and would one
 * reach it? */
int order_may_wake(const struct process *p, int32_t tid, uint32_t signo);

struct order_search {
	unsigned int skip;   /* threads that were looked at already */
	unsigned int failed; /* threads that ran, but not for so long */
};

/*
 * order_try() - queue @order to one thread of the process that may get one. Looks at 64 threads at
 * most, and waits @steady_ns for one of them; the next call goes on from there.
 *
 * 1: queued; 0: there is no such thread just now, or that which runs has not run on; -errno: -ESRCH
 * gone, -EPERM, -EINVAL: no signal that may be sent.
 */
int order_try(const struct process *p, enum weft_order order, uint64_t steady_ns,
	      struct order_search *search);

#endif
