/* SPDX-License-Identifier: Apache-2.0 */
/* The priming signal: its number, installing and removing its handler, sending it. See prime.c. */
#ifndef WEFT_RUNTIME_PRIME_H
#define WEFT_RUNTIME_PRIME_H

#include <signal.h>
#include <stdint.h>

#include <weft/abi/session.h>

/* Installs the handler of the wanted number (header.prime_signal, SIGURG without a collector); if a
 * real-time one was wanted and is in use or out of range, of the next free one. Returns the number,
 * or -errno: then handlers claim slots by themselves. Flags and mask are those of the profiling
 * handler; the program's own action is called for its own signals. */
int weft_prime_install(int wanted);
void weft_prime_uninstall(void);
void weft_prime_end(void); /* uninstalls it, unless signals of ours could reach the program's */
/* to a thread of this process; 0 or -errno */
int weft_prime_send(int32_t tid, enum weft_order order);
int weft_prime_before_exec(void);        /* gives a real-time one up: its number, or 0 */
void weft_prime_after_exec(int signo);   /* exec failed: uses it again */
void weft_prime_forget(void);            /* in a forked child, which has none of its parent's */
int weft_prime_signal(void);             /* the number in use; 0 = none */
void weft_prime_parse(const char *word); /* of WEFT_PRIME_SIGNAL: urg, rt, none or a number */
void weft_prime_install_default(void);   /* without a collector, so that one can attach */

/* For its handler (orders.c). Was it queued with the session's cookie? */
int weft_prime_is_ours(const siginfo_t *info);
void weft_prime_received(void); /* received one that this process had sent */
/* The program ignores SIGURG, and gets one of another sender: removes our handler for good. */
void weft_prime_stand_aside(void);

#endif
