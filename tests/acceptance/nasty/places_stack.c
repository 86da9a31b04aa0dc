/* SPDX-License-Identifier: Apache-2.0 */
/* Places on stacks that are not what they seem: see nasty.h. */
#include "nasty.h"

#include <limits.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <ucontext.h>
#include <unistd.h>

#define TURNS 200000
#define COROUTINE_BYTES 8192
#define COROUTINES 32

static _Atomic unsigned long handled, wrong;

/* ---- handlers of the program's own */

static NOINLINE void burn_in_handler(int number)
{
	(void)number;
	wrong += (unsigned long)burnt_wrong(burn(TURNS), TURNS);
	handled++;
}

static int take(int signo, int flags)
{
	struct sigaction action = {.sa_handler = burn_in_handler, .sa_flags = flags | SA_RESTART};

	return sigaction(signo, &action, NULL);
}

static int raise_on(void)
{
	unsigned long raised = 0;

	for (; more(); raised++)
		if (raise(SIGUSR1))
			return 1;
	return wrong || handled != raised;
}

NOINLINE int place_raised(void)
{
	volatile int bad = take(SIGUSR1, 0) || raise_on();

	return bad;
}

NOINLINE int place_altstack(void)
{
	stack_t stack = {.ss_size = 65536};
	volatile int bad;

	stack.ss_sp = malloc(stack.ss_size);
	if (!stack.ss_sp || sigaltstack(&stack, NULL))
		return 1;
	bad = take(SIGUSR1, SA_ONSTACK) || raise_on();
	return bad;
}

/* At any instruction, not only in raise(). */
NOINLINE int place_alarm(void)
{
	struct itimerval every = {{.tv_usec = 3000}, {.tv_usec = 3000}};
	struct itimerval never = {0};

	if (take(SIGALRM, 0) || setitimer(ITIMER_REAL, &every, NULL))
		return 1;
	while (more())
		wrong += (unsigned long)burnt_wrong(burn(TURNS), TURNS);
	setitimer(ITIMER_REAL, &never, NULL);
	return wrong || !handled;
}

static sigjmp_buf back;

static void jump_out(int number)
{
	(void)number;
	siglongjmp(back, 1);
}

/* Out of a handler, over whatever was interrupted. */
NOINLINE int place_longjmp(void)
{
	struct sigaction action = {.sa_handler = jump_out};
	struct itimerval every = {{.tv_usec = 2000}, {.tv_usec = 2000}};
	static volatile unsigned long jumps;
	struct itimerval never = {0};

	if (sigaction(SIGALRM, &action, NULL))
		return 1;
	if (sigsetjmp(back, 1))
		jumps++;
	setitimer(ITIMER_REAL, &every, NULL);
	while (more())
		burn(TURNS);
	setitimer(ITIMER_REAL, &never, NULL);
	return jumps == 0;
}

static char *fenced;

static NOINLINE void open_fence(int number)
{
	(void)number;
	wrong += (unsigned long)burnt_wrong(burn(TURNS), TURNS);
	wrong += mprotect(fenced, 4096, PROT_READ | PROT_WRITE) != 0;
	handled++;
}

/* A SIGSEGV that the program wants, as garbage collectors do. */
NOINLINE int place_fault(void)
{
	struct sigaction action = {.sa_handler = open_fence};
	unsigned long faults = 0;

	fenced = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (fenced == MAP_FAILED || sigaction(SIGSEGV, &action, NULL))
		return 1;
	for (; more(); faults++) {
		*(volatile char *)fenced = (char)faults;
		if (*(volatile char *)fenced != (char)faults || mprotect(fenced, 4096, PROT_NONE))
			return 1;
	}
	return wrong || handled != faults;
}

/* ---- stacks of the program's own */

struct coroutine {
	ucontext_t context;
	unsigned char *stack;
	int over;
};

static struct coroutine coroutines[COROUTINES];
static ucontext_t scheduler;
static int current;

/* Two pages below a fence. What is never written stays as it is filled here. */
static unsigned char *small_stack(void)
{
	unsigned char *at = mmap(NULL, 4096 + COROUTINE_BYTES, PROT_READ | PROT_WRITE,
				 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (at == MAP_FAILED || mprotect(at, 4096, PROT_NONE))
		abort();
	memset(at + 4096, 0xa5, COROUTINE_BYTES);
	return at + 4096;
}

static size_t untouched(const unsigned char *stack)
{
	size_t bytes = 0;

	while (bytes < COROUTINE_BYTES && stack[bytes] == 0xa5)
		bytes++;
	return bytes;
}

static NOINLINE void burn_in_coroutine(void)
{
	wrong += (unsigned long)burnt_wrong(burn(TURNS / 10), TURNS / 10);
}

static void be_coroutine(void)
{
	int self = current;

	while (more()) {
		burn_in_coroutine();
		swapcontext(&coroutines[self].context, &scheduler);
	}
	coroutines[self].over = 1;
}

static void prepare_coroutine(struct coroutine *c)
{
	c->stack = small_stack();
	getcontext(&c->context);
	c->context.uc_stack.ss_sp = c->stack;
	c->context.uc_stack.ss_size = COROUTINE_BYTES;
	c->context.uc_link = &scheduler;
	makecontext(&c->context, be_coroutine, 0);
}

NOINLINE int place_coroutine(void)
{
	size_t least = COROUTINE_BYTES;
	int left = COROUTINES;

	for (int i = 0; i < COROUTINES; i++)
		prepare_coroutine(&coroutines[i]);
	while (left > 0) {
		left = 0;
		for (current = 0; current < COROUTINES; current++) {
			if (coroutines[current].over)
				continue;
			swapcontext(&scheduler, &coroutines[current].context);
			left += !coroutines[current].over;
		}
	}
	for (int i = 0; i < COROUTINES; i++)
		if (untouched(coroutines[i].stack) < least)
			least = untouched(coroutines[i].stack);
	fprintf(stderr, "of %d bytes at least %zu untouched\n", COROUTINE_BYTES, least);
	return wrong || least == 0;
}

/* By hand, as a runtime in assembly does: nobody is told of the stack. */
static NOINLINE void call_on(unsigned char *top, void (*function)(void))
{
#if defined(__x86_64__)
	__asm__ volatile("movq %%rsp, %%r12\n\t"
			 "movq %0, %%rsp\n\t"
			 "callq *%1\n\t"
			 "movq %%r12, %%rsp"
			 :
			 : "r"(top), "r"(function)
			 : "r12", "rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11",
			   "memory", "cc");
#elif defined(__aarch64__)
	__asm__ volatile("mov x19, sp\n\t"
			 "mov sp, %0\n\t"
			 "blr %1\n\t"
			 "mov sp, x19"
			 :
			 : "r"(top), "r"(function)
			 : "x0", "x1", "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11",
			   "x12", "x13", "x14", "x15", "x16", "x17", "x18", "x19", "x30", "memory",
			   "cc");
#endif
}

NOINLINE int place_switched(void)
{
	unsigned char *stack = small_stack();

	while (more())
		call_on(stack + COROUTINE_BYTES - 64, burn_in_coroutine);
	fprintf(stderr, "of %d bytes %zu untouched\n", COROUTINE_BYTES, untouched(stack));
	return wrong || untouched(stack) == 0;
}

static void *burn_small(void *unused)
{
	while (more())
		burn_in_coroutine();
	return unused;
}

NOINLINE int place_small_thread(void)
{
	pthread_attr_t small;
	pthread_t thread;

	if (pthread_attr_init(&small) ||
	    pthread_attr_setstacksize(&small, (size_t)PTHREAD_STACK_MIN) ||
	    pthread_create(&thread, &small, burn_small, NULL))
		return 1;
	pthread_join(thread, NULL);
	return wrong != 0;
}
