/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libc's own functions behind our hooks: one list, from which the pointers and their lookup come.
 * Looked up by dlsym(RTLD_NEXT) in the constructor, or at an earlier call of a wrapper (which then
 * is outside signal handlers).
 */
#ifndef WEFT_RUNTIME_REAL_H
#define WEFT_RUNTIME_REAL_H

#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <threads.h>
#include <time.h>

typedef void (*weft_signal_fn)(int); /* libcs name it differently */

/* X(name, return type, parameters) */
/* clang-format off */
#define WEFT_REAL(X) \
	X(pthread_create, int, (pthread_t *, const pthread_attr_t *, void *(*)(void *), void *)) \
	X(thrd_create, int, (thrd_t *, int (*)(void *), void *)) \
	X(timer_create, int, (clockid_t, struct sigevent *, timer_t *)) \
	X(mq_notify, int, (int, const struct sigevent *)) \
	X(sigaction, int, (int, const struct sigaction *, struct sigaction *)) \
	X(signal, weft_signal_fn, (int, weft_signal_fn)) \
	X(__sysv_signal, weft_signal_fn, (int, weft_signal_fn)) \
	X(sigset, weft_signal_fn, (int, weft_signal_fn)) \
	X(sigignore, int, (int)) \
	X(siginterrupt, int, (int, int)) \
	X(pthread_sigmask, int, (int, const sigset_t *, sigset_t *)) \
	X(sigprocmask, int, (int, const sigset_t *, sigset_t *)) \
	X(prctl, int, (int, ...)) \
	X(syscall, long, (long, ...)) \
	X(pthread_setname_np, int, (pthread_t, const char *)) \
	X(mlockall, int, (int)) \
	X(munmap, int, (void *, size_t)) \
	X(mprotect, int, (void *, size_t, int)) \
	X(mmap, void *, (void *, size_t, int, int, int, off_t)) \
	X(sigaltstack, int, (const stack_t *, stack_t *)) \
	X(sigsuspend, int, (const sigset_t *)) \
	X(sigtimedwait, int, (const sigset_t *, siginfo_t *, const struct timespec *)) \
	X(signalfd, int, (int, const sigset_t *, int)) \
	X(ppoll, int, (struct pollfd *, nfds_t, const struct timespec *, const sigset_t *)) \
	X(pselect, int, (int, fd_set *, fd_set *, fd_set *, const struct timespec *, const sigset_t *)) \
	X(epoll_pwait, int, (int, struct epoll_event *, int, int, const sigset_t *)) \
	X(epoll_pwait2, int, (int, struct epoll_event *, int, const struct timespec *, const sigset_t *)) \
	X(__xpg_sigpause, int, (int)) \
	X(pthread_attr_getsigmask_np, int, (const pthread_attr_t *, sigset_t *)) \
	X(__monstartup, void, (unsigned long, unsigned long)) \
	X(moncontrol, void, (int)) \
	X(_Fork, pid_t, (void)) \
	X(__sigsetjmp, int, (struct __jmp_buf_tag *, int)) \
	X(siglongjmp, void, (sigjmp_buf, int)) \
	X(longjmp, void, (jmp_buf, int)) \
	X(_longjmp, void, (jmp_buf, int)) \
	X(__longjmp_chk, void, (jmp_buf, int)) \
	X(system, int, (const char *)) \
	X(popen, FILE *, (const char *, const char *)) \
	X(fork, pid_t, (void)) \
	X(clone, int, (int (*)(void *), void *, int, void *, ...)) \
	X(profil, int, (unsigned short *, size_t, size_t, unsigned int)) \
	X(sprofil, int, (void *, int, void *, unsigned int)) \
	X(dlopen, void *, (const char *, int)) \
	X(dlclose, int, (void *)) \
	X(execve, int, (const char *, char *const[], char *const[])) \
	X(execvpe, int, (const char *, char *const[], char *const[])) \
	X(fexecve, int, (int, char *const[], char *const[])) \
	X(posix_spawn, int, (pid_t *, const char *, const posix_spawn_file_actions_t *, const posix_spawnattr_t *, char *const[], char *const[])) \
	X(posix_spawnp, int, (pid_t *, const char *, const posix_spawn_file_actions_t *, const posix_spawnattr_t *, char *const[], char *const[]))
/* clang-format on */

struct weft_real {
#define WEFT_REAL_FIELD(name, type, parameters) type(*name) parameters;
	WEFT_REAL(WEFT_REAL_FIELD)
#undef WEFT_REAL_FIELD
};

extern struct weft_real weft_real_table;

void weft_real_resolve(void); /* all of them */
int weft_real_sigaction(int signo, const struct sigaction *action, struct sigaction *old);

/* The function, or NULL where this libc has none. */
#define weft_real(name)                                                                            \
	(weft_real_table.name ? weft_real_table.name : (weft_real_resolve(), weft_real_table.name))

#endif
