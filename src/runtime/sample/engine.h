/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How sampling begins and ends in the target, any number of times in the life of a process.
 *
 *   start  handlers, then hooks, then the scan of threads that run already, then timers: so that
 *          no sample comes before its thread could be primed
 *   stop   timers deleted, running handlers waited for (bounded), handlers uninstalled: the
 *          program's own action is installed again. Slots stay mapped
 *
 * All of it is async-signal-safe: attach.c starts and stops from the priming signal's handler.
 * Starts and stops exclude each other by one word; a caller that finds it taken returns.
 */
#ifndef WEFT_RUNTIME_ENGINE_H
#define WEFT_RUNTIME_ENGINE_H

/* 0; -EALREADY if the engine runs, or another thread is starting or stopping it; -errno if no
 * handler could be installed. What fails after that is left out and counted. */
int weft_engine_start(void);

/*
 * 0; -EALREADY likewise. -ETIMEDOUT (handlers_undrained): handlers were still running, so that what
 * they read must stay mapped; all is undone even so, except for the SIGPROF handler if a thread was
 * just about to arm a timer. That handler also stays while a thread believes SIGPROF blocked that
 * is really open (mask.c): the program's next SIGPROF would kill it. The priming signal's handler
 * stays if a collector can attach to the process (a session of its own).
 */
int weft_engine_stop(void);

void weft_engine_forget(void); /* in a forked child, which does not own its parent's */

#endif
