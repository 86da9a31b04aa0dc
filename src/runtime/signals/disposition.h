/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The signals that weft handles, and what the program believes about them: disposition.c.
 * Async-signal-safe. While such a signal is kept, our action for it is installed in the kernel, and
 * the program is shown its own.
 */
#ifndef WEFT_RUNTIME_DISPOSITION_H
#define WEFT_RUNTIME_DISPOSITION_H

#include <signal.h>

enum weft_kept {
	WEFT_KEPT_PROF,  /* SIGPROF: the cpu engine's */
	WEFT_KEPT_PRIME, /* the priming signal, whichever it is */
	WEFT_KEPT_COUNT,
};

typedef void weft_handler_fn(int signo, siginfo_t *info, void *ucontext);

/* 0, also if it is installed already; -EBUSY: another signal is kept under @which; -EINVAL. */
void weft_disposition_renew(void); /* installs it again, with up-to-date flags */
int weft_disposition_install(enum weft_kept which, int signo, weft_handler_fn *handler);

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

/* real.c: libc's own function behind our hook */
int weft_real_sigaction(int signo, const struct sigaction *action, struct sigaction *old);

#endif
