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

extern uint32_t weft_hooks_on;

static inline int weft_hook_is_on(enum weft_hook hook)
{
	return (weft_hooks_on & (uint32_t)hook) != 0;
}

void weft_hooks_parse(const char *setting); /* NULL: all on */

/* hook_mask.c: does the program believe that SIGPROF is blocked in this thread? */
int weft_mask_is_blocked(void);
void weft_mask_inherit(int is_blocked);       /* a new thread, from its creator */
void weft_mask_open(void);                    /* at start: what exec has handed down */
int weft_mask_set_real(int how);              /* the kernel's; 1 = SIGPROF was blocked */
int weft_mask_change_one(int how, int signo); /* the program's, as sighold does */
/* A foreign SIGPROF that interrupted @uc: 1 = held for later. */
int weft_mask_hold_back(const siginfo_t *info, const ucontext_t *uc);

#endif
