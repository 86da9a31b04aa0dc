/* SPDX-License-Identifier: Apache-2.0 */
/*
 * small_stack least|room MS: a busy handler on an alternate stack with a guard page below it,
 * which is just large enough for one signal (least), or has room for one more but not for two
 * (room, 8 KiB). Half of the time is spent in handlers. The program looks at its own actions
 * and masks as it goes, and opens all signals inside a handler. "done" when all was as it set it.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#ifndef AT_MINSIGSTKSZ
#define AT_MINSIGSTKSZ 51
#endif
/* MINSIGSTKSZ of the kernel's headers; in glibc's it may be a call */
#ifdef __aarch64__
#define KERNEL_LEAST 5120
#else
#define KERNEL_LEAST 2048
#endif
#define PAGE 4096
#define ROOM 65536

static volatile unsigned long sink;
static int bad;

static void check(int good, const char *what)
{
	if (good)
		return;
	fprintf(stderr, "small_stack: not so: %s\n", what);
	bad = 1;
}

/* A leaf: a few words of stack. */
static void busy(int signo)
{
	(void)signo;
	for (int i = 0; i < 1000000; i++)
		sink += (unsigned long)i * sink + 1;
}

static void busy_and_open(int signo)
{
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	busy(signo);
}

static void use_stack(size_t bytes)
{
	char *room =
		mmap(NULL, ROOM + PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	stack_t alt = {.ss_sp = room + PAGE, .ss_size = bytes}, now;

	if (room == MAP_FAILED || mprotect(room, PAGE, PROT_NONE) || sigaltstack(&alt, NULL))
		abort();
	check(!sigaltstack(NULL, &now) && now.ss_size == bytes && now.ss_sp == alt.ss_sp,
	      "the stack is the one that was set");
}

static void handle(int signo, void (*handler)(int))
{
	struct sigaction action = {.sa_handler = handler, .sa_flags = SA_ONSTACK | SA_RESTART};

	if (sigaction(signo, &action, NULL))
		abort();
}

static void look(int signo, void (*handler)(int))
{
	struct sigaction now, own;

	check(!sigaction(signo, NULL, &now) && now.sa_handler == handler &&
		      sigismember(&now.sa_mask, SIGPROF) == 0,
	      "the action has the mask that was set");
	own = now;
	sigaddset(&own.sa_mask, SIGUSR2);
	check(!sigaction(signo, &own, &now) && sigismember(&now.sa_mask, SIGPROF) == 0,
	      "an action comes back as it was set");
	check(!sigaction(signo, NULL, &now) && sigismember(&now.sa_mask, SIGUSR2) == 1 &&
		      sigismember(&now.sa_mask, SIGPROF) == 0,
	      "a changed action, too");
}

static long cpu_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

int main(int argc, char **argv)
{
	size_t needed = getauxval(AT_MINSIGSTKSZ) ? getauxval(AT_MINSIGSTKSZ) : 4096;
	/* A CPU without large vectors needs less than the kernel takes. */
	size_t least = needed < KERNEL_LEAST ? KERNEL_LEAST : needed;
	int has_room = argc > 1 && !strcmp(argv[1], "room");
	long ms = argc > 2 ? atol(argv[2]) : 100;

	handle(SIGUSR1, busy);
	use_stack(has_room ? least + 4864 : least);
	look(SIGUSR1, busy);
	handle(SIGHUP, has_room ? busy_and_open : busy);
	look(SIGHUP, has_room ? busy_and_open : busy);
	while (cpu_ms() < ms) {
		raise(SIGUSR1);
		raise(SIGHUP);
		busy(0);
		busy(0);
	}
	puts(bad ? "failed" : "done");
	return bad;
}
