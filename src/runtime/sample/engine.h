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
 * blocked which in truth is open (hook_mask.c): the program's next SIGPROF would kill it. The
 * priming signal's handler stays where the process can be attached to (a session of its own).
 */
int weft_engine_stop(void);

/* Before a timer is made, 1 if it may be; then afterwards: 0 = stopped meanwhile, delete it. */
int weft_engine_enter(void);
int weft_engine_leave(void);

void weft_engine_forget(void); /* in a forked child: its parent's is not its own */

/* prime.c: the priming signal. Installs the wanted number (header.prime_signal, SIGURG
 * without a collector); is it taken or out of range, the next free real-time one when a
 * real-time one was wanted. The number, or -errno: then handlers claim by themselves. Flags and
 * mask are those of the profiling handler; the program's own action for it is chained to. */
int weft_prime_install(int wanted);
void weft_prime_uninstall(void);
void weft_prime_end(void); /* the same, unless what we sent would reach the program's */
int weft_prime_send(int32_t tid, enum weft_order order); /* of this very process; 0 or -errno */
int weft_prime_before_exec(void);      /* nobody sends a real-time one any more: its number, or 0 */
void weft_prime_after_exec(int signo); /* it failed: that one is in use again */
void weft_prime_forget(void);          /* in a forked child: those were its parent's */
int weft_prime_signal(void);           /* the number in use; 0 = none */
void weft_prime_parse(const char *word); /* of WEFT_PRIME_SIGNAL: urg, rt, none or a number */
void weft_prime_install_default(void);   /* without a collector: where one could attach */

#endif
