/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The program's own signal actions for SIGPROF and the priming signal, kept while our handlers are
 * installed, and what becomes of our signals where the program's stacks are small.
 *
 * Runs on any thread, in handlers too, and before the constructor: async-signal-safe. An action
 * that the program sets at the very moment that ours is installed or removed is not lost.
 *
 *   disposition.c  actions kept, signals passed on to them
 *   altstack.c     stacks too small for signals
 */
#ifndef WEFT_RUNTIME_SIGNALS_ROOM_H
#define WEFT_RUNTIME_SIGNALS_ROOM_H

#include <signal.h>

enum weft_kept {
	WEFT_KEPT_PROF,  /* the cpu engine's: SIGPROF, or by choice SIGWINCH */
	WEFT_KEPT_PRIME, /* the priming signal, whichever it is */
	WEFT_KEPT_COUNT,
};

typedef void weft_handler_fn(int signo, siginfo_t *info, void *ucontext);

/* 0, also if it is installed already; -EBUSY: another signal is kept under @which; -EINVAL. */
int weft_disposition_install(enum weft_kept which, int signo, weft_handler_fn *handler);

void weft_disposition_renew(void); /* installs ours again, with up-to-date flags */

/*
 * Installs the program's own action again. Pending signals of ours, as told by @ours, are discarded
 * if they would kill. An action that somebody has installed by a raw system call stays.
 */
void weft_disposition_uninstall(enum weft_kept which, int (*ours)(const siginfo_t *info));

/* An action that libc has installed without our hooks becomes the program's; ours comes back. */
void weft_disposition_keep(enum weft_kept which);

int weft_disposition_signal(enum weft_kept which);       /* its number; 0 = not kept */
int weft_disposition_is_kept(int signo);                 /* as any of them */
int weft_disposition_is_installed(enum weft_kept which); /* asks the kernel */

/* sigaction() for the program: of a kept signal, the action that it is shown; else the kernel's. */
int weft_disposition_change(int signo, const struct sigaction *action, struct sigaction *was);

void weft_disposition_get(enum weft_kept which, struct sigaction *action);
int weft_disposition_has_handler(enum weft_kept which);
int weft_disposition_is_ignored(enum weft_kept which);
void weft_disposition_deliver(enum weft_kept which, int signo, siginfo_t *info, void *ucontext);

/* altstack.c */
int weft_altstack_is_small(void);  /* no room for two frames: ours wait for the program's handler */
int weft_altstack_is_tiny(void);   /* nor for one: ours run on the thread's own stack */
void weft_altstack_begin(void);    /* a handler of ours has been installed */
void weft_altstack_end(int which); /* and uninstalled: enum weft_kept */
void weft_altstack_register(const stack_t *stack);
int weft_altstack_set_action(int signo, const struct sigaction *action, struct sigaction *old);
void weft_altstack_keep_closed(void);

#endif
