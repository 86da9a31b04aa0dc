/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cpu engine: timers (timer.c), the SIGPROF handler (sampler.c), what the program
 * believes about SIGPROF (disposition.c).
 */
#ifndef WEFT_RUNTIME_SAMPLER_H
#define WEFT_RUNTIME_SAMPLER_H

#include <signal.h>
#include <stdint.h>

#include "runtime/runtime.h"

/* timer.c; all async-signal-safe */
void weft_timer_arm(struct weft_slot *slot);    /* the calling thread's own */
void weft_timer_disarm(struct weft_slot *slot); /* likewise */
void weft_timer_delete(int32_t timer_id);
void weft_timer_adopt_threads(void); /* of every other thread that runs already */
int weft_timer_arm_process(void);    /* a forked child's: first CPU time of any thread */
void weft_timer_disarm_process(void);

/* sampler.c */
int weft_sampler_install(void); /* the handler; the program's own action is kept */
int weft_sampler_is_installed(void);
void weft_sampler_keep(void); /* libc may have replaced it: takes that over, comes back */
int weft_sampler_is_ours(const siginfo_t *info);
void weft_sampler_handler(int signo, siginfo_t *info, void *ucontext);

/* disposition.c: the program's own SIGPROF life */
void weft_disposition_swap(const struct sigaction *action, struct sigaction *was);
void weft_disposition_get(struct sigaction *action);
int weft_disposition_has_handler(void);
int weft_disposition_is_ignored(void);
void weft_disposition_deliver(int signo, siginfo_t *info, void *ucontext);

/* real.c: libc's own functions behind our hooks */
int weft_real_sigaction(int signo, const struct sigaction *action, struct sigaction *old);

/* child.c */
int weft_child_begin(void);       /* a forked child's session; 0 or -errno */
void weft_child_first_tick(void); /* in its first SIGPROF */
void weft_child_after_fork(void); /* arms the timer that brings it */
/*
 * The thread that forked leaves its private slot for one of the child's session; NULL: it
 * was interrupted in the middle of a context write (or no slot): it stays for now.
 */
struct weft_slot *weft_child_move_out(void);

#endif
