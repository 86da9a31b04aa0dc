/* SPDX-License-Identifier: Apache-2.0 */
/* The priming signal: which it is, its handler's coming and going, and sending it. See prime.c. */
#ifndef WEFT_RUNTIME_PRIME_H
#define WEFT_RUNTIME_PRIME_H

#include <signal.h>
#include <stdint.h>

#include <weft/abi/session.h>

/* Installs the wanted number (header.prime_signal, SIGURG
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

/* For its handler (orders.c). Is it queued with the session's cookie, and nobody's order before? */
int weft_prime_is_ours(const siginfo_t *info);
void weft_prime_taken(void); /* one that this process had sent */
/* A signal of somebody else's: whether ours stands aside for good. */
void weft_prime_stand_aside(void);

#endif
