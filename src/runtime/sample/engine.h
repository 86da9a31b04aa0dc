/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The engines inside the target: how sampling begins and ends, any number of times in the life
 * of a process.
 *
 *   start  handlers, then hooks, then the scan of threads that run already, then timers: so
 *          that no sample comes before its thread could be primed
 *   stop   timers away, handlers in flight drained (bounded), handlers uninstalled: the
 *          program's own action stands in the kernel again. Slots stay mapped
 *
 * Async-signal-safe all of it: attaching (attach.c) starts and stops from the priming signal's
 * handler. Starts and stops exclude each other by one word; whoever finds it taken leaves.
 */
#ifndef WEFT_RUNTIME_ENGINE_H
#define WEFT_RUNTIME_ENGINE_H

#include <signal.h>
#include <stdint.h>

#include <weft/abi/session.h>

/* 0; -EALREADY when it runs or somebody else is at it; -errno when no handler could be
 * installed. What fails after that is left out and counted. */
int weft_engine_start(void);

/*
 * 0; -EALREADY likewise. -ETIMEDOUT (handlers_undrained): handlers were at work still, so what
 * they read must stay mapped; all is undone even so, but for the SIGPROF handler when a thread
 * was just about to arm a timer. That handler stays, too, while a thread believes SIGPROF
 * blocked which in truth is open (mask.c): the program's next SIGPROF would kill it. The
 * priming signal's handler stays where the process can be attached to (a session of its own).
 */
int weft_engine_stop(void);

void weft_engine_forget(void); /* in a forked child: its parent's is not its own */

#endif
