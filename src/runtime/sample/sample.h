/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cpu engine inside the program: when a thread is sampled, by which clock, and what happens to
 * the program's own signals meanwhile. From the top: handlers (sampler.c, orders.c), the engine,
 * clocks and timers, and what all of these use (gate, pace, ticks, prime).
 *
 * Handlers run on the thread that they interrupt, with all signals blocked, in less than 1 KiB of
 * stack, and call nothing that may wait. Every signal is either ours, by the session's cookie, or
 * passed on to the program's own action.
 *
 *   sampler.c       the handlers: a sample and its weight
 *   orders.c        handler of the priming signal
 *   sample_labels.c a sample's labels, recorded once
 *   registers.h     registers out of a ucontext
 *   engine.c        start and stop of sampling
 *   adopt.c         threads that were there before
 *   attach.c        a collector that comes later
 *   join.c          connecting to the collector
 *   child.c         a forked child's session
 *   timer.c         CPU timers: the kernel's ticks
 *   clock.c         hrtimers: perf's cpu-clock
 *   clock_gaps.c    random gaps between samples
 *   clock_rest.c    threads that are switched often
 *   kernel_time.c   time in the kernel
 *   mask.c          the program's signal masks
 *   prime.c         the priming signal: which, sent how
 *   ticks.c         SIGPROF's handler, coming and going
 *   gate.c          who may make a timer now
 *   pace.c          period and tick
 */
#ifndef WEFT_RUNTIME_SAMPLE_ROOM_H
#define WEFT_RUNTIME_SAMPLE_ROOM_H

#endif
