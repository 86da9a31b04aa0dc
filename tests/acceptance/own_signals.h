/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of own_signals.c share: handlers that note what they see, and words for it. */
#ifndef ACCEPTANCE_OWN_SIGNALS_H
#define ACCEPTANCE_OWN_SIGNALS_H

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#pragma GCC diagnostic ignored "-Wdeprecated-declarations" /* sighold and its kin */

extern char **environ;

static int number;
static char number_text[16];
static char *self;

static volatile sig_atomic_t caught, queued_value, seen_code, masked_itself, masked_usr2, depth;
static volatile sig_atomic_t deepest, on_alternate, from_self;

#define BURN(name, start)                                                                          \
	__attribute__((noinline)) static void name(long ms)                                        \
	{                                                                                          \
		volatile uint64_t sum = (start);                                                   \
		struct timespec t;                                                                 \
		int64_t now, until = 0;                                                            \
		do {                                                                               \
			for (int i = 0; i < 20000; i++)                                            \
				sum = sum * 31 + (uint64_t)i;                                      \
			clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);                                \
			now = (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;                          \
			until = until ? until : now + ms * 1000000;                                \
		} while (now < until);                                                             \
	}
BURN(burn_open, 1)
BURN(burn_masked, 2)

static void nap(long ms)
{
	struct timespec t = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};

	while (nanosleep(&t, &t) && errno == EINTR)
		continue;
}

static sigset_t only(int signo)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, signo);
	return set;
}

static sigset_t all(void)
{
	sigset_t set;

	sigfillset(&set);
	return set;
}

static void print_set(const char *what, const sigset_t *set)
{
	printf("%s:", what);
	for (int i = 1; i < 65; i++)
		if (sigismember(set, i) == 1)
			printf(i == number ? " IT" : " %d", i);
	printf("\n");
}

static void print_mask(const char *what)
{
	sigset_t now;

	pthread_sigmask(SIG_SETMASK, NULL, &now);
	print_set(what, &now);
}

static void print_pending(const char *what)
{
	sigset_t now;

	sigpending(&now);
	print_set(what, &now);
}

static void quiet_handler(int signo)
{
	caught += signo == number;
}

static void full_handler(int signo, siginfo_t *info, void *context)
{
	sigset_t now;
	stack_t stack;

	caught += signo == number;
	seen_code = info->si_code;
	queued_value = info->si_value.sival_int;
	from_self = info->si_pid == getpid();
	sigprocmask(SIG_BLOCK, NULL, &now);
	masked_itself = sigismember(&now, number) +
			(sigismember(&((ucontext_t *)context)->uc_sigmask, number) ? 2 : 0);
	masked_usr2 = sigismember(&now, SIGUSR2);
	sigaltstack(NULL, &stack);
	on_alternate = (stack.ss_flags & SS_ONSTACK) != 0;
	if (++depth < 3 && !masked_itself)
		raise(number);
	deepest = depth > deepest ? depth : deepest;
	depth--;
}

static const char *handler_name(const struct sigaction *a)
{
	if (a->sa_flags & SA_SIGINFO)
		return a->sa_sigaction == full_handler ? "full" : "another";
	return a->sa_handler == SIG_DFL         ? "default"
	       : a->sa_handler == SIG_IGN       ? "ignored"
	       : a->sa_handler == quiet_handler ? "quiet"
						: "another";
}

static const char *name_of(void (*handler)(int))
{
	struct sigaction a = {.sa_handler = handler};

	return handler == SIG_ERR            ? "error"
	       : handler == (void (*)(int))2 ? "hold"
					     : handler_name(&a);
}

static void print_action(const char *what, const struct sigaction *a)
{
	printf("%s: %s flags %x", what, handler_name(a), (unsigned int)a->sa_flags);
	print_set(" mask", &a->sa_mask);
}

static void print_own(const char *what)
{
	struct sigaction now;

	memset(&now, 0, sizeof(now));
	sigaction(number, NULL, &now);
	print_action(what, &now);
}

static void set_action(void (*handler)(int), int flags)
{
	struct sigaction a;

	memset(&a, 0, sizeof(a));
	a.sa_handler = handler;
	a.sa_flags = flags;
	sigaction(number, &a, NULL);
}

static void clear(void)
{
	sigset_t none;

	sigemptyset(&none);
	set_action(SIG_IGN, 0); /* what is pending goes */
	sigprocmask(SIG_SETMASK, &none, NULL);
	set_action(SIG_DFL, 0);
	caught = 0;
}

#endif
