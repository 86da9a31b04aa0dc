/* SPDX-License-Identifier: Apache-2.0 */
/*
 * work ROUNDS [MORE]: a little of every shape of frame that there is, to be run one
 * instruction at a time. Built by several compilers with several options. Each round adds the
 * common workload, MORE what loads a library.
 */
#include "../workload.h"

#include <alloca.h>
#include <dlfcn.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline))

static volatile long sink;
static char other_stack[65536]; /* in .bss, below all other stacks */

void throw_some(int depth); /* throwing.cc, or nothing */
__attribute__((weak)) void throw_some(int depth)
{
	sink += depth;
}

static int compare(const void *a, const void *b)
{
	int x = *(const int *)a, y = *(const int *)b;

	return x < y ? -1 : x > y;
}

NOINLINE static void sort(void)
{
	int numbers[] = {5, 3, 9, 1, 7, 2, 8};

	qsort(numbers, sizeof(numbers) / sizeof(numbers[0]), sizeof(numbers[0]), compare);
	sink += numbers[3];
}

NOINLINE static long recursion(int depth)
{
	volatile char room[24];

	room[depth % 24] = (char)depth;
	if (depth == 0)
		return 1;
	return recursion(depth - 1) + room[depth % 24];
}

/* The registers are saved only on the way that needs them. */
NOINLINE static long shrink_wrapped(long a, long b, long c)
{
	if (__builtin_expect(a == 0, 1))
		return b;
	for (long i = 0; i < c; i++) {
		long x = recursion((int)(i % 3)), y = recursion((int)(i % 2));

		sink += a * x + b * y + c * i;
		a += x;
		b ^= y;
	}
	return a + b + c;
}

NOINLINE static void big_frame(int depth)
{
	volatile char room[40000];

	room[depth] = 1;
	room[39999 - depth] = 2;
	if (depth > 0)
		big_frame(depth - 1);
	sink += room[0] + room[depth];
}

NOINLINE static void variable_room(size_t bytes)
{
	char *room = alloca(bytes);

	memset(room, 1, bytes);
	sort();
	sink += room[bytes / 2];
}

typedef double wide __attribute__((vector_size(64)));

NOINLINE static void realigned(size_t bytes)
{
	volatile wide value = {1, 2, 3, 4, 5, 6, 7, 8};
	char *room = alloca(bytes);

	memset(room, 3, bytes);
	sort();
	value += value;
	sink += (long)value[3] + room[bytes / 2];
}

NOINLINE static long last_of_the_tail(long n)
{
	sink += n;
	return recursion(2);
}

NOINLINE static long tail_call(long n, long (*next)(long))
{
	char room[64];

	snprintf(room, sizeof(room), "%ld", n);
	sink += room[0];
	return next(n + 1);
}

NOINLINE static long many_arguments(long a, long b, long c, long d, long e, long f, long g, long h,
				    long i, double x, ...)
{
	va_list list;

	va_start(list, x);
	sink += va_arg(list, int);
	va_end(list);
	return recursion(1) + a + b + c + d + e + f + g + h + i + (long)x;
}

static long chosen_at_start(long n)
{
	return n + recursion(1);
}

__attribute__((used)) static long (*choose(void))(long)
{
	return chosen_at_start;
}

#ifndef NO_IFUNC
__attribute__((ifunc("choose"))) long by_indirect_function(long n);
#else
#define by_indirect_function chosen_at_start
#endif

static jmp_buf back;

__attribute__((noreturn)) NOINLINE static void never_returns(int depth)
{
	sink += recursion(depth);
	longjmp(back, depth + 1);
}

NOINLINE static void jump_over_frames(void)
{
	if (setjmp(back) == 0)
		never_returns(3);
	sort();
}

static sigjmp_buf out_of_handler;

static void on_signal(int number)
{
	sink += recursion(2);
	if (number == SIGHUP)
		siglongjmp(out_of_handler, 1);
}

NOINLINE static void handle_signals(void)
{
	raise(SIGUSR1);
	raise(SIGUSR2);
	if (sigsetjmp(out_of_handler, 1) == 0)
		raise(SIGHUP);
}

static void prepare_signals(void)
{
	struct sigaction act = {.sa_handler = on_signal};

	sigaltstack(&(stack_t){.ss_sp = other_stack, .ss_size = sizeof(other_stack)}, NULL);
	sigaction(SIGUSR1, &act, NULL);
	act.sa_flags = SA_ONSTACK;
	sigaction(SIGUSR2, &act, NULL);
	sigaction(SIGHUP, &act, NULL);
}

/* The same instruction twice after each other is rare: a fault, handled, steps over it. */
static void step_over(int number, siginfo_t *info, void *context)
{
	ucontext_t *uc = context;

	(void)number;
	(void)info;
	uc->uc_mcontext.gregs[REG_RIP] += 2;
	sink += recursion(1);
}

NOINLINE static void fault(void)
{
	struct sigaction act = {.sa_sigaction = step_over, .sa_flags = SA_SIGINFO};

	sigaction(SIGILL, &act, NULL);
	__asm__ volatile("ud2");
	sink++;
}

NOINLINE static void strings(void)
{
	char a[300], b[300];

	for (size_t n = 1; n < sizeof(a); n = n * 2 + 3) {
		memset(a, 'x', n);
		a[n - 1] = '\0';
		memcpy(b, a, n);
		memmove(b + 1, b, n - 1);
		sink += (long)strlen(a) + memcmp(a, b, n) + strcmp(a, b) + strcasecmp(a, b);
		sink += strchr(a, 'y') != NULL;
		sink += strstr(a, "xxxy") != NULL;
		sink += memrchr(a, 'q', n) != NULL;
	}
	snprintf(a, sizeof(a), "%d %s %f %10.3e %p %*d", (int)sink, "words", 3.25, 1e10, (void *)a,
		 9, 4);
	sink += (long)atof(a);
}

NOINLINE static void allocate(void)
{
	void *p[6];

	for (size_t i = 0; i < 6; i++)
		p[i] = calloc(1, 16 + i * 700);
	p[2] = realloc(p[2], 5000);
	for (size_t i = 0; i < 6; i++)
		free(p[(i * 5) % 6]);
}

NOINLINE static void clocks(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	clock_gettime(CLOCK_REALTIME, &t);
	clock_gettime(CLOCK_MONOTONIC_COARSE, &t);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	sink += t.tv_nsec + time(NULL) + getpid();
}

static __thread long own;

static void cleanup(void *arg)
{
	sink += (long)(size_t)arg;
}

static void *thread(void *arg)
{
	own = (long)(size_t)arg;
	sort();
	handle_signals();
	if (arg) {
		pthread_cleanup_push(cleanup, arg);
		recursion(3);
		pthread_exit(arg);
		pthread_cleanup_pop(1);
	}
	return NULL;
}

NOINLINE static void threads(size_t count)
{
	pthread_t id;

	for (size_t i = 0; i < count; i++) {
		if (pthread_create(&id, NULL, thread, (void *)i) == 0)
			pthread_join(id, NULL);
	}
}

NOINLINE static void load(void)
{
	void *handle = dlopen("libm.so.6", RTLD_LAZY);

	if (handle)
		dlclose(handle);
}

static void at_the_end(void)
{
	sink += recursion(1);
}

__attribute__((noreturn)) NOINLINE static void leave(int status)
{
	exit(status);
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 0;

	atexit(at_the_end);
	prepare_signals();
	sort();
	sink += shrink_wrapped(0, 1, 2) + shrink_wrapped(3, 4, 2);
	big_frame(2);
	variable_room(100 + (size_t)argc);
	variable_room(5000);
	realigned(200);
	sink += tail_call(argc, last_of_the_tail);
	sink += many_arguments(1, 2, 3, 4, 5, 6, 7, 8, 9, 1.5, argc);
	sink += by_indirect_function(argc);
	jump_over_frames();
	handle_signals();
	fault();
	strings();
	allocate();
	clocks();
	throw_some(argc > 2 ? 4 : 1);
	threads(argc > 2 ? 2 : 1); /* the second by pthread_exit */
	if (argc > 2)
		load();
	if (rounds)
		workload_start();
	for (int i = 0; i < rounds; i++)
		workload_round((unsigned int)i);
	leave(0);
}
