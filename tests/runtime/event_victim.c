/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program of typed events, for typed.sh. Says on its last line how many were kept.
 *
 *	stacks COUNT          timed, at once and with their times, from functions of known names
 *	small COUNT           the same on a coroutine's stack of 16 KiB, and on one of no known
 *bounds fork COUNT            a child, which has used CPU time for its session, and its parent
 *	plugin LIBRARY COUNT  a type of a library that is closed and opened again
 *	burn MS               CPU time, half of it within a span
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include <weft/coro_carry.h>
#include <weft/event.h>

#define NOINLINE __attribute__((noinline))

static struct weft_event_type stacked = {
	.name = "victim.Stacked",
	.flags = WEFT_EVENT_STACK,
	WEFT_EVENT_FIELDS({.name = "how", .kind = WEFT_EVENT_STRING},
			  {.name = "n", .kind = WEFT_EVENT_LONG}),
};
static struct weft_event_type request = {
	.name = "victim.Request",
	.flags = WEFT_EVENT_CONTEXTUAL,
	.select = "if-triggered",
	WEFT_EVENT_FIELDS({.name = "n", .kind = WEFT_EVENT_LONG}),
};

static volatile long sink;

static uint64_t now_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Not the last thing that they do: a jump would hide who called. */
NOINLINE static long leaf_timed(long n)
{
	struct weft_event event;
	long kept;

	weft_event_begin(&event, &stacked);
	sink += n;
	kept = weft_event_commit(&event, WEFT_STRING("timed"), WEFT_LONG(n));
	sink += kept;
	return kept;
}

NOINLINE static long leaf_once(long n)
{
	long kept = weft_event_emit(&stacked, WEFT_STRING("once"), WEFT_LONG(n));

	sink += kept;
	return kept;
}

NOINLINE static long leaf_at(long n)
{
	uint64_t now = now_ns(CLOCK_MONOTONIC);
	long kept = weft_event_emit_at(&stacked, now - 5, now, WEFT_STRING("at"), WEFT_LONG(n));

	sink += kept;
	return kept;
}

NOINLINE static long middle(long n)
{
	long kept = leaf_timed(n) + leaf_once(n) + leaf_at(n);

	sink += kept;
	return kept;
}

NOINLINE static long top(long n)
{
	struct weft_event event;
	long kept;

	weft_event_begin(&event, &request);
	kept = middle(n);
	kept += weft_event_commit(&event, WEFT_LONG(n));
	return kept;
}

NOINLINE static long many(long count)
{
	long kept = 0;

	for (long i = 0; i < count; i++)
		kept += top(i);
	return kept;
}

/* ---- on another stack */

static ucontext_t back, there;
static long wanted, kept_there;

static void be_there(void)
{
	kept_there = many(wanted);
}

static void go_there(char *stack, size_t bytes)
{
	getcontext(&there);
	there.uc_stack.ss_sp = stack;
	there.uc_stack.ss_size = bytes;
	there.uc_link = &back;
	makecontext(&there, be_there, 0);
	swapcontext(&back, &there);
}

static long do_small(long count)
{
	static char stack[2][16 * 1024] __attribute__((aligned(16)));
	struct weft_coro coro = {.id = 3,
				 .flags = WEFT_CORO_DETACHED,
				 .stack_low = stack[0],
				 .stack_high = stack[0] + sizeof(stack[0])};
	long kept;

	wanted = count;
	weft_coro_carry_v1.create(&coro, 1);
	weft_coro_carry_v1.resume(&coro, 2);
	coro.state = WEFT_CTP_RUNNING;
	go_there(stack[0], sizeof(stack[0]));
	weft_coro_carry_v1.suspend(&coro, 3);
	kept = kept_there;
	go_there(stack[1], sizeof(stack[1]));
	return kept + kept_there;
}

/* ---- */

static void burn(uint64_t ms)
{
	uint64_t until = now_ns(CLOCK_THREAD_CPUTIME_ID) + ms * 1000000;

	while (now_ns(CLOCK_THREAD_CPUTIME_ID) < until)
		for (int i = 0; i < 10000; i++)
			sink += i;
}

/* The child tells by a pipe: its session has begun when it has burnt. */
static long do_fork(long count)
{
	long kept = many(count), of_child = 0;
	int ends[2];
	pid_t child;

	if (pipe(ends))
		return -1;
	child = fork();
	if (child == 0) {
		burn(100);
		of_child = many(count);
		_exit(write(ends[1], &of_child, sizeof(of_child)) != sizeof(of_child));
	}
	if (read(ends[0], &of_child, sizeof(of_child)) != sizeof(of_child) || of_child == 0)
		return -1;
	waitpid(child, NULL, 0);
	return kept + of_child + many(count);
}

static long do_plugin(const char *path, long count)
{
	long kept = 0;

	for (int i = 0; i < 3; i++) {
		void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
		long (*emit)(long) = NULL;

		if (library)
			*(void **)(void *)&emit = dlsym(library, "plugin_emit");
		if (!emit)
			return -1;
		kept += emit(count);
		dlclose(library);
	}
	return kept;
}

static long do_burn(uint64_t ms)
{
	burn(ms / 2);
	weft_context_set(77, 77);
	burn(ms / 2);
	weft_context_set(0, 0);
	return 0;
}

int main(int argc, char **argv)
{
	long kept = -1;

	if (argc > 2 && !strcmp(argv[1], "stacks"))
		kept = many(atol(argv[2]));
	else if (argc > 2 && !strcmp(argv[1], "small"))
		kept = do_small(atol(argv[2]));
	else if (argc > 2 && !strcmp(argv[1], "fork"))
		kept = do_fork(atol(argv[2]));
	else if (argc > 3 && !strcmp(argv[1], "plugin"))
		kept = do_plugin(argv[2], atol(argv[3]));
	else if (argc > 2 && !strcmp(argv[1], "burn"))
		kept = do_burn((uint64_t)atol(argv[2]));
	printf("%ld\n", kept);
	return kept < 0;
}
