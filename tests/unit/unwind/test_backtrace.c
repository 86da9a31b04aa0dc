/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Description: walks by table equal what backtrace() says at the same place, and reach the
 * outermost frame, wherever a signal strikes a program without frame pointers.
 *
 * A timer's handler keeps the interrupted registers, a copy of the stack, and what glibc's
 * backtrace() finds from there. Afterwards the copies are walked by our tables. That the
 * comparison has force is shown by walking the same copies without tables.
 */
#include "modules.h"
#include "workload.h"

#include <execinfo.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include <cmocka.h>

#if defined(__x86_64__)

#define WANTED 3000
#define DEPTH 192
#define ARENA_BYTES (UINT64_C(1) << 30)
#define ABOVE_OUTER 4096 /* how far below the frame that raised the signal SP may be */

struct capture {
	uint64_t gregs[NGREG];
	struct unwind_memory memory[2];
	void *expected[DEPTH];
	int expected_count;
};

struct tally {
	unsigned int walked, equal, outermost, in_vdso, in_plt, in_handler, on_other_stack;
	unsigned int ends[UNWIND_END_COUNT];
};

static struct capture *captures;
static volatile unsigned int capture_count;
static uint8_t *arena;
static uint64_t arena_used;
static uint64_t stack_top, other_start, other_end;

/* Not memcpy: the sanitizers forbid it to look at other functions' frames. */
__attribute__((no_sanitize_address)) static void copy_words(uint8_t *to, uint64_t from,
							    uint64_t bytes)
{
	for (uint64_t i = 0; i < bytes; i += 8)
		*(volatile uint64_t *)(void *)(to + i) =
			*(volatile uint64_t *)(uintptr_t)(from + i);
}

static int copy_stretch(struct unwind_memory *m, uint64_t from, uint64_t to)
{
	from &= ~UINT64_C(7);
	to &= ~UINT64_C(7);
	if (to <= from || to - from > ARENA_BYTES - arena_used)
		return 0;
	copy_words(arena + arena_used, from, to - from);
	*m = (struct unwind_memory){
		.bytes = arena + arena_used, .address = from, .size = to - from};
	arena_used += to - from;
	return 1;
}

static int copy_stacks(struct capture *c, uint64_t sp)
{
	if (sp < other_start || sp >= other_end)
		return copy_stretch(&c->memory[0], sp - UNWIND_RED_ZONE, stack_top);
	if (!copy_stretch(&c->memory[0], sp - UNWIND_RED_ZONE, other_end) ||
	    !copy_stretch(&c->memory[1], workload_left_at - ABOVE_OUTER, stack_top))
		return 0;
	c->memory[0].next = &c->memory[1];
	return 1;
}

static void on_timer(int number, siginfo_t *info, void *context)
{
	const ucontext_t *uc = context;
	struct capture *c = &captures[capture_count];

	(void)number;
	(void)info;
	if (capture_count == WANTED)
		return;
	memcpy(c->gregs, uc->uc_mcontext.gregs, sizeof(c->gregs));
	if (!copy_stacks(c, c->gregs[REG_RSP]))
		return;
	c->expected_count = backtrace(c->expected, DEPTH);
	capture_count = capture_count + 1;
}

static timer_t start_timer(void)
{
	struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGPROF};
	struct itimerspec every = {.it_interval.tv_nsec = 150000, .it_value.tv_nsec = 150000};
	struct sigaction act = {.sa_sigaction = on_timer, .sa_flags = SA_SIGINFO | SA_RESTART};
	timer_t timer;

	event._sigev_un._tid = (pid_t)syscall(SYS_gettid);
	sigaction(SIGPROF, &act, NULL);
	assert_int_equal(timer_create(CLOCK_MONOTONIC, &event, &timer), 0);
	assert_int_equal(timer_settime(timer, 0, &every, NULL), 0);
	return timer;
}

static void find_stack(void)
{
	pthread_attr_t attr;
	void *start;
	size_t bytes;

	assert_int_equal(pthread_getattr_np(pthread_self(), &attr), 0);
	assert_int_equal(pthread_attr_getstack(&attr, &start, &bytes), 0);
	stack_top = (uint64_t)(uintptr_t)start + bytes;
	pthread_attr_destroy(&attr);
}

static void collect(void)
{
	void *first[4];
	timer_t timer;

	backtrace(first, 4); /* loads libgcc_s now, not in the handler */
	workload_start();
	workload_other_stack(&other_start, &other_end);
	find_stack();
	capture_count = 0;
	arena_used = 0;
	timer = start_timer();
	for (unsigned int i = 0; i < 200000 && capture_count < WANTED; i++)
		workload_round(i);
	timer_delete(timer);
	signal(SIGPROF, SIG_IGN);
}

static void set_registers(struct unwind_registers *regs, const struct capture *c)
{
	static const int order[] = {REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI,
				    REG_RBP, REG_RSP, REG_R8,  REG_R9,  REG_R10, REG_R11,
				    REG_R12, REG_R13, REG_R14, REG_R15};

	memset(regs, 0, sizeof(*regs));
	for (unsigned int i = 0; i < 16; i++)
		regs->r[i] = c->gregs[order[i]];
	regs->valid = 0xffff;
	regs->pc = c->gregs[REG_RIP];
}

/* backtrace() begins in our handler; from the interrupted pc on it is the expectation. */
static int first_expected(const struct capture *c)
{
	for (int i = 0; i < c->expected_count; i++)
		if ((uint64_t)(uintptr_t)c->expected[i] == c->gregs[REG_RIP])
			return i;
	return c->expected_count;
}

static int is_equal(const struct capture *c, const uint64_t *frames, size_t count)
{
	int first = first_expected(c);

	if (count != (size_t)(c->expected_count - first))
		return 0;
	for (size_t i = 0; i < count; i++)
		if (frames[i] != (uint64_t)(uintptr_t)c->expected[first + (int)i])
			return 0;
	return 1;
}

static void describe(const char *what, struct modules *modules, uint64_t pc)
{
	char text[256];

	print_message("  %s %#lx %s %s\n", what, (unsigned long)pc, modules_file(modules, pc),
		      modules_name(modules, pc, text, sizeof(text)));
}

static void show_difference(const struct capture *c, struct modules *modules,
			    const uint64_t *frames, size_t count, enum unwind_end end)
{
	print_message("differs, end %d:\n", (int)end);
	for (size_t i = 0; i < count; i++)
		describe("ours", modules, frames[i]);
	for (int i = first_expected(c); i < c->expected_count; i++)
		describe("backtrace", modules, (uint64_t)(uintptr_t)c->expected[i]);
}

static int without_tables(void *arg, uint64_t pc, struct unwind_module *out)
{
	int err = modules_find(arg, pc, out);

	out->table = NULL;
	return err;
}

static void count_places(struct tally *t, struct modules *modules, const struct capture *c,
			 const uint64_t *frames, size_t count)
{
	char text[256];

	t->in_vdso += strcmp(modules_file(modules, frames[0]), "[vdso]") == 0;
	t->in_plt += strstr(modules_name(modules, frames[0], text, sizeof(text)), "@plt") != NULL;
	t->on_other_stack += c->memory[0].next != NULL;
	for (size_t i = 0; i < count; i++)
		if (strcmp(modules_name(modules, frames[i], text, sizeof(text)), "on_signal") ==
		    0) {
			t->in_handler++;
			break;
		}
}

static void walk_all(struct tally *t, struct modules *modules, unwind_find find)
{
	memset(t, 0, sizeof(*t));
	for (unsigned int i = 0; i < capture_count; i++) {
		const struct capture *c = &captures[i];
		struct unwind_registers regs;
		uint64_t frames[DEPTH];
		enum unwind_end end;
		size_t count;

		set_registers(&regs, c);
		count = unwind_walk(&regs, c->memory, find, modules, UNWIND_X86_64, frames, DEPTH,
				    &end);
		t->walked++;
		t->ends[end]++;
		t->outermost += end == UNWIND_END_OUTERMOST;
		if (is_equal(c, frames, count))
			t->equal++;
		else if (find == modules_find && t->walked - t->equal <= 3)
			show_difference(c, modules, frames, count, end);
		if (find == modules_find)
			count_places(t, modules, c, frames, count);
	}
}

static void compare_walks(const char *where)
{
	struct modules *modules = modules_of(getpid());
	struct tally by_table, by_pointer;

	walk_all(&by_table, modules, modules_find);
	walk_all(&by_pointer, modules, without_tables);
	print_message("%s: %u stacks, %u equal to backtrace(), %u outermost (in the vdso %u, PLT "
		      "%u, signal handler %u, on the other stack %u); without tables %u equal\n",
		      where, by_table.walked, by_table.equal, by_table.outermost, by_table.in_vdso,
		      by_table.in_plt, by_table.in_handler, by_table.on_other_stack,
		      by_pointer.equal);
	modules_free(modules);
	assert_int_equal(by_table.walked, WANTED);
	assert_int_equal(by_table.equal, by_table.walked);
	assert_int_equal(by_table.outermost, by_table.walked);
	assert_true(by_table.in_handler > 0 && by_table.on_other_stack > 0);
	assert_true(by_pointer.equal < by_table.walked / 2);
}

static void in_the_main_thread(void **state)
{
	(void)state;
	collect();
	compare_walks("main thread");
}

static void *thread_body(void *arg)
{
	collect();
	return arg;
}

static void in_another_thread(void **state)
{
	pthread_t thread;

	(void)state;
	assert_int_equal(pthread_create(&thread, NULL, thread_body, NULL), 0);
	pthread_join(thread, NULL);
	compare_walks("another thread");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(in_the_main_thread),
		cmocka_unit_test(in_another_thread),
	};

	captures = calloc(WANTED, sizeof(*captures));
	arena = mmap(NULL, ARENA_BYTES, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (!captures || arena == MAP_FAILED)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

int main(void)
{
	return 77; /* meson: skipped */
}

#endif
