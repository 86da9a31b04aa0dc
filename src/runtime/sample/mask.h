/* SPDX-License-Identifier: Apache-2.0 */
/* What the program believes of its signal masks, where SIGPROF (or what else ticks send) is
 * concerned: see mask.c. */
#ifndef WEFT_RUNTIME_MASK_H
#define WEFT_RUNTIME_MASK_H

#include <signal.h>
#include <stdint.h>
#include <ucontext.h>

#include "runtime/core/own.h"

typedef int weft_mask_fn(int how, const sigset_t *set, sigset_t *old);

int weft_mask_is_active(void);
int weft_mask_is_blocked(void);                 /* does the program believe SIGPROF blocked? */
int weft_mask_has(int signo);                   /* .. or any other signal */
int weft_mask_has_sigprof(const sigset_t *set); /* NULL: 0 */
int weft_mask_is_lent(void);                    /* does any thread believe so? */
int weft_mask_is_closed(void);      /* is SIGPROF really blocked, and the timer stopped? */
void weft_mask_forget_others(void); /* in a forked child */
void weft_mask_forget(void);        /* the calling thread ends */
void weft_mask_open(void);          /* at start: what exec has handed down */
int weft_mask_open_here(void);      /* of a thread that libc has begun; 1 = it was opened, */
void weft_mask_close_here(void);    /* and is as libc made it again */
int weft_mask_set_real(int how);    /* the kernel's; 1 = SIGPROF was blocked */
int weft_mask_change(weft_mask_fn *real, int how, const sigset_t *set, sigset_t *old);

/* In a new thread. @is_blocked: what its creator believed when it created it. */
void weft_mask_inherit(int is_blocked);

/* A SIGPROF of the program's that interrupted @uc: 1 = queued again, for later. */
int weft_mask_hold_back(const siginfo_t *info, ucontext_t *uc);

/* For the duration of a call that has a mask of its own. */
struct weft_belief weft_mask_borrow(const sigset_t *mask);
void weft_mask_give_back(struct weft_belief before);

/* Around a wait for SIGPROF: really blocks it, and forwards those of other threads to this one. */
int weft_mask_begin_wait(void);
void weft_mask_end_wait(int was_blocked);

void weft_mask_read_by_fd(void);                    /* the program has a signalfd for SIGPROF */
void weft_mask_jump(int is_blocked, uint64_t mask); /* a jmp_buf restores a mask */
void weft_mask_timer_made(void);                    /* a closed thread's stops, another's runs */
void weft_mask_look(uint64_t mask); /* starts it again if @mask, the kernel's, is open */

#endif
