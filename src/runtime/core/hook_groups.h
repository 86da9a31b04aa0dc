/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Groups of interposed functions. WEFT_HOOKS=-signals,-threads,-exec,-modules switches groups off;
 * the bits that are on stand in the session's header.
 */
#ifndef WEFT_RUNTIME_HOOKS_H
#define WEFT_RUNTIME_HOOKS_H

#include <signal.h>
#include <stdint.h>
#include <ucontext.h>

#include <weft/abi/session.h>

#include "runtime/core/own.h"

extern uint32_t weft_hooks_on;

static inline int weft_hook_is_on(enum weft_hook hook)
{
	return (weft_hooks_on & (uint32_t)hook) != 0;
}

void weft_hooks_parse(const char *setting); /* NULL: all on */

/* hook_signal.c: one runs in its parent's memory, but with a mask and actions of its own. */
int weft_is_vfork_child(void);

/* hook_mask.c: what the program believes of its mask, where SIGPROF is concerned. */
typedef int weft_mask_fn(int how, const sigset_t *set, sigset_t *old);

int weft_mask_is_active(void);
int weft_mask_is_blocked(void);     /* does it believe so? */
int weft_mask_has(int signo);       /* ... any signal */
int weft_mask_is_lent(void);        /* does any thread believe so? */
int weft_mask_is_closed(void);      /* is it really, so that the thread's timer stands still? */
void weft_mask_forget_others(void); /* in a forked child */
void weft_mask_forget(void);        /* the calling thread ends */
void weft_mask_open(void);          /* at start: what exec has handed down */
int weft_mask_open_here(void);      /* of a thread that libc has begun; 1 = it was opened, */
void weft_mask_close_here(void);    /* and is as libc made it again */
int weft_mask_set_real(int how);    /* the kernel's; 1 = SIGPROF was blocked */
int weft_mask_change(weft_mask_fn *real, int how, const sigset_t *set, sigset_t *old);
int weft_mask_change_one(int how, int signo); /* the program's, as sighold does */

/* A new thread's, from its creator. */
struct weft_mask_legacy {
	int is_blocked, is_closed;
};
struct weft_mask_legacy weft_mask_bequeath(void);
void weft_mask_inherit(struct weft_mask_legacy legacy);

/* A SIGPROF of the program's that interrupted @uc: 1 = pending again, for later. */
int weft_mask_hold_back(const siginfo_t *info, ucontext_t *uc);

/* For the time of a call that has a mask of its own. */
struct weft_belief weft_mask_borrow(const sigset_t *mask);
void weft_mask_give_back(struct weft_belief before);

/* Around a wait for SIGPROF: it is really blocked, and those of other threads come here. */
int weft_mask_begin_wait(void);
void weft_mask_end_wait(int was_blocked);

void weft_mask_read_by_fd(void);                    /* the program has a signalfd for it */
void weft_mask_jump(int is_blocked, uint64_t mask); /* a mask comes back from a jmp_buf */
void weft_mask_timer_made(void);                    /* in a closed thread it must stand still */

/* hook_name.c: the calling thread was given this name. */
void weft_name_own(const char *name);

/* hook_altstack.c: alternate stacks with no room for our signals */
int weft_altstack_is_small(void);  /* for a second: ours wait for the program's handler */
int weft_altstack_is_tiny(void);   /* not even for one: ours run on the thread's own stack */
void weft_altstack_begin(void);    /* a handler of ours is there */
void weft_altstack_end(int which); /* and goes: enum weft_kept */
void weft_altstack_note(const stack_t *stack);
int weft_altstack_set_action(int signo, const struct sigaction *action, struct sigaction *old);
void weft_altstack_keep_closed(void);

#endif
