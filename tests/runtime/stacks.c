/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program whose stacks are hard to walk, one way per word of its command line; the number
 * is milliseconds of CPU time. Built -O2 -fomit-frame-pointer. Without a word that says so,
 * its exit status tells only that it lived.
 *
 *   deep MS     recursion, qsort and bsearch calling back, printf, alloca
 *   threads MS  the same in threads of usual, small and own stacks
 *   alt MS      a signal handler of its own on an alternate stack
 *   coro MS     a stack that nobody knows (makecontext), under span c1; c0: on the way there
 *   known MS    the same, told by the slot's coroutine bounds
 *   jump MS     siglongjmp out of its own signal handlers, on both stacks
 *   plugins MS A B   dlopen, call, dlclose, in turn
 *   swap MS A B      A, then B at its address, under span b
 *   locked MS   mlockall; exit 1 if the unwind tables' holes became resident
 *   painted MS  prints how deep signal handlers got on a painted alternate stack:
 *               "ours N empty N"
 */
#include <alloca.h>
#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <search.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include <weft/context.h>

static uint64_t cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static volatile uint64_t sink;

static __attribute__((noinline)) void spin(void)
{
	for (int i = 0; i < 3000; i++)
		sink += (uint64_t)i * sink + 1;
}

static int compare(const void *a, const void *b)
{
	if (sink % 3 == 0)
		spin();
	return *(const int *)a - *(const int *)b;
}

static __attribute__((noinline)) void sort_some(int salt)
{
	int numbers[64], key = 7;
	char text[256];

	for (int i = 0; i < 64; i++)
		numbers[i] = (i * 37 + salt) % 64;
	qsort(numbers, 64, sizeof(*numbers), compare);
	sink += bsearch(&key, numbers, 64, sizeof(*numbers), compare) != NULL;
	snprintf(text, sizeof(text), "%.*f %s %d", salt % 40, (double)salt / 3, "some text", salt);
	sink += (uint64_t)text[3];
}

static __attribute__((noinline)) int recurse(int depth, int salt)
{
	volatile char *room = alloca(16 + (size_t)(depth * 8 + salt % 64));

	room[0] = (char)depth;
	if (depth == 0)
		sort_some(salt);
	else
		sink += (uint64_t)recurse(depth - 1, salt + room[0]);
	return room[0] + 1;
}

static void go_deep(long ms)
{
	uint64_t until = cpu_ns() + (uint64_t)ms * 1000000;

	for (int salt = 0; cpu_ns() < until; salt++)
		recurse(salt % 24, salt);
}

static int do_deep(char **a)
{
	go_deep(atol(a[0]));
	return 0;
}

static void *thread_deep(void *arg)
{
	go_deep((long)arg);
	return NULL;
}

static int do_threads(char **a)
{
	static _Alignas(4096) char own[64 * 1024];
	pthread_attr_t attr[3];
	pthread_t thread[3];
	void *ms = (void *)atol(a[0]);

	for (int i = 0; i < 3; i++)
		pthread_attr_init(&attr[i]);
	pthread_attr_setstacksize(&attr[1], 32 * 1024);
	pthread_attr_setstack(&attr[2], own, sizeof(own));
	for (int i = 0; i < 3; i++)
		if (pthread_create(&thread[i], &attr[i], thread_deep, ms))
			return 1;
	for (int i = 0; i < 3; i++)
		pthread_join(thread[i], NULL);
	return 0;
}

static long alt_ms;

static void deep_in_handler(int signo)
{
	(void)signo;
	go_deep(alt_ms);
}

static void use_alternate_stack(void)
{
	stack_t alt = {.ss_size = 128 * 1024};

	alt.ss_sp = malloc(alt.ss_size);
	if (!alt.ss_sp || sigaltstack(&alt, NULL))
		abort();
}

static __attribute__((noinline)) int raise_at(int depth)
{
	int more = depth ? raise_at(depth - 1) : raise(SIGUSR1);

	return more + (int)(sink & 1);
}

static int do_alt(char **a)
{
	struct sigaction action = {.sa_handler = deep_in_handler, .sa_flags = SA_ONSTACK};

	alt_ms = atol(a[0]);
	use_alternate_stack();
	sigaction(SIGUSR1, &action, NULL);
	raise_at(10);
	return 0;
}

static ucontext_t main_context, coro_context;
static long coro_ms;

static void coroutine(void)
{
	weft_context_set(0xC1, 0xC0);
	go_deep(coro_ms);
	weft_context_set(0xC0, 0xC0);
}

/* @slot: to be told, or NULL. */
static int run_coroutine(long ms, struct weft_slot *slot)
{
	size_t bytes = 256 * 1024;
	char *stack = malloc(bytes);

	coro_ms = ms;
	if (!stack || getcontext(&coro_context))
		return 1;
	coro_context.uc_stack.ss_sp = stack;
	coro_context.uc_stack.ss_size = bytes;
	coro_context.uc_link = &main_context;
	makecontext(&coro_context, coroutine, 0);
	if (slot) {
		slot->events.coroutine_stack_low = (uint64_t)(uintptr_t)stack;
		slot->events.coroutine_stack_high = (uint64_t)(uintptr_t)stack + bytes;
	}
	weft_context_set(0xC0, 0xC0);
	swapcontext(&main_context, &coro_context);
	weft_context_set(0, 0);
	if (slot)
		slot->events.coroutine_stack_low = slot->events.coroutine_stack_high = 0;
	free(stack);
	return 0;
}

static int do_coro(char **a)
{
	return run_coroutine(atol(a[0]), NULL);
}

static int do_known(char **a)
{
	return run_coroutine(atol(a[0]), weft_thread_own_slot());
}

static sigjmp_buf back;

static void jump_out(int signo)
{
	spin();
	siglongjmp(back, signo);
}

static int do_jump(char **a)
{
	static uint64_t until;
	static int turn;
	struct sigaction action = {.sa_handler = jump_out};

	until = cpu_ns() + (uint64_t)atol(a[0]) * 1000000;
	use_alternate_stack();
	sigaction(SIGUSR1, &action, NULL);
	action.sa_flags = SA_ONSTACK;
	sigaction(SIGUSR2, &action, NULL);
	while (cpu_ns() < until)
		if (!sigsetjmp(back, 1)) {
			turn++;
			recurse(turn % 12, turn);
			raise(turn % 2 ? SIGUSR1 : SIGUSR2);
		}
	return 0;
}

static int do_plugins(char **a)
{
	uint64_t until = cpu_ns() + (uint64_t)atol(a[0]) * 1000000;

	for (int turn = 0; cpu_ns() < until; turn++) {
		void *handle = dlopen(a[1 + turn % 2], RTLD_NOW);
		void (*work)(void (*)(void));

		if (!handle)
			return 1;
		*(void **)(void *)&work = dlsym(handle, "plugin_work");
		for (int i = 0; i < 20; i++)
			work(spin);
		dlclose(handle);
	}
	return 0;
}

static void work_in(void *handle, long ms)
{
	uint64_t until = cpu_ns() + (uint64_t)ms * 1000000;
	void (*work)(void (*)(void));

	*(void **)(void *)&work = dlsym(handle, "plugin_work");
	while (cpu_ns() < until)
		work(spin);
}

/* B where A was: exit 3 if the loader puts it elsewhere. */
static int do_swap(char **a)
{
	void *first = dlopen(a[1], RTLD_NOW), *second;
	void *address = first ? dlsym(first, "plugin_work") : NULL;

	if (!first)
		return 1;
	work_in(first, atol(a[0]));
	dlclose(first);
	second = dlopen(a[2], RTLD_NOW);
	if (!second)
		return 1;
	weft_context_set(0xB, 0);
	work_in(second, atol(a[0]));
	return ((uintptr_t)address ^ (uintptr_t)dlsym(second, "plugin_work")) >> 12 ? 3 : 0;
}

/* Kilobytes of one line in the paragraph of smaps whose first line has @name. */
static long smaps_kb(const char *name, const char *key)
{
	FILE *f = fopen("/proc/self/smaps", "re");
	char line[512];
	long sum = 0, kb;
	int inside = 0;

	while (f && fgets(line, sizeof(line), f)) {
		if (strchr(line, '-') && strstr(line, " 00:"))
			inside = strstr(line, name) != NULL;
		if (inside && !strncmp(line, key, strlen(key)) &&
		    sscanf(line + strlen(key), " %ld", &kb) == 1)
			sum += kb;
	}
	if (f)
		fclose(f);
	return sum;
}

static int do_locked(char **a)
{
	if (mlockall(MCL_CURRENT | MCL_FUTURE))
		return 77;
	go_deep(atol(a[0]));
	printf("tables: %ld KiB mapped, %ld resident\n", smaps_kb("memfd:tables", "Size:"),
	       smaps_kb("memfd:tables", "Rss:"));
	return smaps_kb("memfd:tables", "Rss:") > 4096;
}

#define PAINT 0x5A
#define PAINTED (96 * 1024)

static unsigned char *painted;

static size_t depth_of_paint(void)
{
	size_t i = 0;

	while (i < PAINTED && painted[i] == PAINT)
		i++;
	memset(painted, PAINT, PAINTED);
	return PAINTED - i;
}

static void nothing(int signo)
{
	(void)signo;
}

static int do_painted(char **a)
{
	struct sigaction action = {.sa_handler = nothing, .sa_flags = SA_ONSTACK};
	stack_t alt = {.ss_size = PAINTED};
	size_t empty = PAINTED;

	painted = mmap(NULL, PAINTED, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (painted == MAP_FAILED)
		return 1;
	alt.ss_sp = painted;
	sigaction(SIGUSR1, &action, NULL);
	sigaltstack(&alt, NULL);
	depth_of_paint();
	for (int i = 0; i < 20; i++) { /* a tick may come into one */
		size_t depth;

		raise(SIGUSR1);
		depth = depth_of_paint();
		empty = depth < empty ? depth : empty;
	}
	go_deep(atol(a[0]));
	printf("ours %zu empty %zu\n", depth_of_paint(), empty);
	return 0;
}

static const struct {
	const char *name;
	int arguments;
	int (*run)(char **a);
} verbs[] = {
	{"deep", 1, do_deep},       {"threads", 1, do_threads}, {"alt", 1, do_alt},
	{"coro", 1, do_coro},       {"known", 1, do_known},     {"jump", 1, do_jump},
	{"plugins", 3, do_plugins}, {"locked", 1, do_locked},   {"swap", 3, do_swap},
	{"painted", 1, do_painted},
};

int main(int argc, char **argv)
{
	for (size_t i = 0; argc > 1 && i < sizeof(verbs) / sizeof(verbs[0]); i++)
		if (!strcmp(argv[1], verbs[i].name) && argc >= 2 + verbs[i].arguments)
			return verbs[i].run(argv + 2);
	return 2;
}
