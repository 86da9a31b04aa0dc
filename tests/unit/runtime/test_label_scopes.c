/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Scopes and their labels: every way out of one, jumps among them (what the scopes that they leave
 * have saved goes to the one around them), and scopes that move. Each in a thread of its own.
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include <weft/coro_carry.h>
#include <weft/labels.h>

#include "label_value.h"
#include "runtime/core/label_store.h"
#include "unit.h"

#ifndef __has_feature
#define __has_feature(x) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || __has_feature(address_sanitizer)
#define HAS_ASAN 1 /* a longjmp on a stack that it does not know leaves its marks there */
#else
#define HAS_ASAN 0
#endif
#if defined(__SANITIZE_THREAD__) || __has_feature(thread_sanitizer)
#define HAS_TSAN 1 /* signals come late */
#else
#define HAS_TSAN 0
#endif

#define OFTEN 100000
#define LONG 256
#define CARRY (&weft_coro_carry_v1)

static jmp_buf far_out;
static int wrong; /* in threads */

static void expect(const char *key, const char *value, int line)
{
	if (!strcmp(value_of(key), value))
		return;
	fprintf(stderr, "%d: %s is %.16s, not %s\n", line, key, value_of(key), value);
	wrong++;
}

#define EXPECT(key, value) expect(key, value, __LINE__)

static void expect_true(int is_true, int line)
{
	if (!is_true)
		fprintf(stderr, "%d: no\n", line);
	wrong += !is_true;
}

#define EXPECT_TRUE(what) expect_true(what, __LINE__)

static uint64_t scopes_now(void)
{
	return weft_store_now(weft_thread_slot)->scopes.number;
}

static void in_a_thread(void *(*f)(void *))
{
	pthread_t thread;

	wrong = 0;
	assert_int_equal(pthread_create(&thread, NULL, f, NULL), 0);
	pthread_join(thread, NULL);
	assert_int_equal(wrong, 0);
}

/* Frames of several sizes, so that one scope lies where another's middle was. */
static __attribute__((noinline)) void leave_by_jump(unsigned int depth, const char *value,
						    uint32_t bytes)
{
	struct weft_context c = {.span_id = 5, .root_span_id = 6};
	volatile char room[64];

	room[depth % sizeof(room)] = (char)depth;
	if (depth % 5) {
		leave_by_jump(depth - 1, value, bytes);
		room[0]++;
	}
	WEFT_SCOPE (&c) {
		weft_label_set_bytes("a", 1, value, bytes);
		WEFT_SCOPE (NULL) {
			if (depth % 2)
				weft_label_set_bytes("b", 1, value, bytes);
			longjmp(far_out, 1);
		}
	}
}

static __attribute__((noinline)) void jump_often(unsigned int times, uint32_t bytes)
{
	volatile unsigned int i, refused = 0;
	char value[LONG + 1];

	memset(value, 'v', sizeof(value));
	for (i = 0; i < times; i++) {
		value[0] = (char)('A' + i % 26);
		if (!setjmp(far_out))
			leave_by_jump(i, value, bytes);
		refused += value_of("a")[0] != 'A' + (char)(i % 26);
	}
	EXPECT_TRUE(refused == 0);
}

static void jump_within_scopes(unsigned int times, uint32_t bytes)
{
	struct weft_context c = {.span_id = 3, .root_span_id = 4};

	weft_label_set("b", "outside");
	WEFT_SCOPE (&c) {
		weft_label_set("b", "within");
		weft_label_set("c", "within");
		jump_often(times, bytes);
		weft_label_set("b", "after");
		WEFT_SCOPE (NULL) {
			weft_label_set("c", "deeper");
			jump_often(times, bytes);
			weft_label_set("d", "deeper");
		}
		EXPECT("b", "after");
		EXPECT("c", "within");
		EXPECT("d", "(none)");
	}
	EXPECT("b", "outside");
	EXPECT("c", "(none)");
}

static void *leaves_by_jumps(void *bytes)
{
	uint32_t length = bytes ? LONG : 1;

	weft_thread_claim();
	weft_label_set("a", "outside");
	jump_often(OFTEN, length);
	jump_within_scopes(OFTEN, length);
	WEFT_SCOPE (NULL) {
		weft_label_set("a", "once more");
		EXPECT_TRUE(weft_labels_clear() == 2);
	}
	EXPECT_TRUE(weft_label_get("a", NULL, 0) == (ssize_t)length);
	EXPECT_TRUE(weft_labels_clear() == 2);
	EXPECT_TRUE(weft_label_set("a", "again") == WEFT_LABEL_SET);
	EXPECT_TRUE(weft_thread_slot->counters[WEFT_COUNTER_LABELS_NO_ROOM] == 0);
	return NULL;
}

static void *leaves_by_jumps_with_long_values(void *arg)
{
	(void)arg;
	return leaves_by_jumps(&wrong);
}

static void scopes_left_by_a_jump_give_their_room_back(void **state)
{
	(void)state;
	in_a_thread(leaves_by_jumps);
	in_a_thread(leaves_by_jumps_with_long_values);
}

/* What they had saved is put back by the scope around them, be it that this has saved nothing. */
static void *goes_on_outside(void *arg)
{
	(void)arg;
	weft_label_set("a", "outside");
	weft_label_set("b", "outside");
	WEFT_SCOPE (NULL) {
		weft_label_set("a", "outer");
		jump_often(10, LONG);
		weft_label_set("a", "between");
		weft_label_set("b", "between");
		WEFT_SCOPE (NULL) {
			jump_often(OFTEN, 1);
			jump_often(OFTEN, LONG);
			weft_labels_clear();
		}
		EXPECT("a", "between");
		EXPECT("b", "between");
	}
	EXPECT("a", "outside");
	EXPECT("b", "outside");
	EXPECT_TRUE(scopes_now() == 0);
	return NULL;
}

static void what_they_saved_goes_to_the_scope_around_them(void **state)
{
	(void)state;
	in_a_thread(goes_on_outside);
}

/* Live scopes with dead ones between: nothing is taken from the living. */
static void dig(int depth)
{
	char text[16], outer[512];

	strcpy(outer, value_of("a"));
	snprintf(text, sizeof(text), "%d", depth);
	WEFT_SCOPE (NULL) {
		if (depth % 3)
			weft_label_set("a", text);
		jump_often(7, 4);
		jump_often(60, 4);
		weft_label_set("a", text);
		if (depth < 40)
			dig(depth + 1);
		EXPECT("a", text);
	}
	EXPECT("a", outer);
}

static void *digs(void *arg)
{
	(void)arg;
	weft_label_set("a", "top");
	for (int i = 0; i < 20; i++) {
		dig(0);
		EXPECT("a", "top");
	}
	return NULL;
}

static void living_scopes_keep_what_they_saved(void **state)
{
	(void)state;
	in_a_thread(digs);
}

/* ---- on other stacks */

static ucontext_t main_context, other_context;
#ifdef __GLIBC__
#define HAS_CONTEXTS 1
#else
#define HAS_CONTEXTS 0
#endif
static char other_stack[256 * 1024];

static void on_other_stack(void)
{
	jump_often(OFTEN, LONG);
	jump_within_scopes(OFTEN, LONG);
}

static void run_there(void)
{
#ifdef __GLIBC__ /* musl has none of these */
	getcontext(&other_context);
	other_context.uc_stack.ss_sp = other_stack;
	other_context.uc_stack.ss_size = sizeof(other_stack);
	other_context.uc_link = &main_context;
	makecontext(&other_context, on_other_stack, 0);
	swapcontext(&main_context, &other_context);
#else
	(void)main_context;
	(void)other_context;
	on_other_stack();
#endif
}

static void *jumps_on_unknown_stack(void *arg)
{
	(void)arg;
	weft_label_set("a", "outside");
	WEFT_SCOPE (NULL) {
		weft_label_set("a", "within");
		run_there();
		EXPECT("b", "outside");
	}
	EXPECT("a", "outside");
	EXPECT("b", "(none)");
	return NULL;
}

static void *jumps_in_coroutine(void *arg)
{
	struct weft_coro coro = {
		.id = 1, .stack_low = other_stack, .stack_high = other_stack + sizeof(other_stack)};

	(void)arg;
	weft_label_set("a", "outside");
	WEFT_SCOPE (NULL) {
		weft_label_set("a", "within");
		CARRY->create(&coro, 1);
		CARRY->resume(&coro, 1);
		run_there();
		EXPECT("b", "outside");
		CARRY->suspend(&coro, 1);
		EXPECT("a", "within");
		EXPECT("b", "(none)");
		CARRY->destroy(&coro, 1);
	}
	EXPECT("a", "outside");
	EXPECT_TRUE(weft_thread_slot->counters[WEFT_COUNTER_LABELS_NO_ROOM] == 0);
	return NULL;
}

static void so_they_do_on_other_stacks(void **state)
{
	(void)state;
	if (HAS_ASAN || !HAS_CONTEXTS)
		skip();
	in_a_thread(jumps_on_unknown_stack);
	in_a_thread(jumps_in_coroutine);
}

/* A child has what its parent's scopes saved, in a store of its own. */
static void *forks_within(void *arg)
{
	int status = 1;
	pid_t child;

	(void)arg;
	weft_label_set("a", "outside");
	WEFT_SCOPE (NULL) {
		weft_label_set("a", "within");
		jump_often(50, LONG);
		child = fork();
		jump_often(child ? 10 : 1000, LONG);
	}
	EXPECT("a", "outside");
	if (!child)
		_exit(wrong != 0);
	waitpid(child, &status, 0);
	EXPECT_TRUE(status == 0);
	return NULL;
}

static void so_they_do_in_children(void **state)
{
	(void)state;
	in_a_thread(forks_within);
}

/* ---- abandoned, too, at any instruction */

#if defined(__x86_64__) && !HAS_ASAN && !HAS_TSAN
#define STRIDE 211
#define TRAP_FLAG 0x100

static volatile uint64_t steps, last_step;
static sigjmp_buf out;

static void on_step(int signo, siginfo_t *info, void *context)
{
	ucontext_t *uc = context;

	(void)info;
	uc->uc_mcontext.gregs[REG_EFL] |= TRAP_FLAG;
	if (signo == SIGTRAP && ++steps == last_step)
		siglongjmp(out, 1);
	if (last_step == 0)
		uc->uc_mcontext.gregs[REG_EFL] &= ~(long long)TRAP_FLAG;
}

/* 1: it was done before. */
static __attribute__((noinline)) int abandon_at(uint64_t step)
{
	char value[LONG];

	memset(value, 'x', sizeof(value));
	if (sigsetjmp(out, 1))
		return 0;
	steps = 0;
	last_step = step;
	raise(SIGUSR1);
	weft_label_set_bytes("d", 1, value, sizeof(value));
	last_step = 0;
	raise(SIGUSR1);
	return 1;
}

/* Dead scopes' entries, long and short, and living ones' between them; then a look at them all. */
static int abandon_a_look(uint64_t step)
{
	struct weft_label_store *store = weft_store_now(weft_thread_slot);
	volatile int is_done = 0;

	weft_label_set("a", "top");
	weft_label_set("b", "top");
	WEFT_SCOPE (NULL) {
		weft_label_set("c", "outer");
		jump_often(7, 3);
		jump_often(7, LONG);
		weft_label_set("b", "outer");
		WEFT_SCOPE (NULL) {
			weft_label_set("c", "inner");
			jump_often(6, 3);
			store->scopes.looked = UINT64_C(1) << 63;
			is_done = abandon_at(step);
			weft_label_set("d", "after");
			weft_label_set("a", "after");
		}
		EXPECT("c", "outer");
		EXPECT("b", "outer");
		EXPECT("d", "(none)");
	}
	EXPECT("a", "top");
	EXPECT("b", "top");
	EXPECT("c", "(none)");
	EXPECT_TRUE(store->scopes.number == 0 && store->scopes.bytes == 0);
	return is_done;
}

static void *abandons_looks(void *arg)
{
	uint64_t step = 1;

	(void)arg;
	weft_label_set("a", "first");
	for (; !abandon_a_look(step) && !wrong; step += STRIDE)
		;
	EXPECT_TRUE(step > 2000);
	return NULL;
}

static void a_look_may_be_abandoned_anywhere(void **state)
{
	struct sigaction act = {.sa_sigaction = on_step, .sa_flags = SA_SIGINFO};

	(void)state;
	sigaction(SIGTRAP, &act, NULL);
	sigaction(SIGUSR1, &act, NULL);
	in_a_thread(abandons_looks);
}
#else
static void a_look_may_be_abandoned_anywhere(void **state)
{
	(void)state;
	skip();
}
#endif

/* ---- others */

/* Guards move: two of them may have begun in one place. They are never taken for left. */
static __attribute__((noinline)) struct weft_scope movable(void)
{
	struct weft_scope scope;

	weft_scope_enter(&scope, NULL);
	return scope;
}

static void scopes_that_move_are_kept(void **state)
{
	struct weft_scope scopes[100];
	char value[LONG + 1];
	int depth;

	(void)state;
	memset(value, 'v', sizeof(value));
	weft_label_set_bytes("a", 1, value, LONG);
	for (depth = 0; depth < 100; depth++) {
		scopes[depth] = movable();
		value[0] = (char)('0' + depth % 64);
		if (weft_label_set_bytes("a", 1, value, LONG) == WEFT_LABEL_NO_ROOM)
			break;
	}
	assert_in_range(depth, 20, 99);
	for (; depth > 0; depth--) {
		weft_scope_leave(&scopes[depth]);
		assert_int_equal(value_of("a")[0], '0' + (depth - 1) % 64);
	}
	weft_scope_leave(&scopes[0]);
	assert_int_equal(value_of("a")[0], 'v');
}

static int ways_out(int way)
{
	const struct weft_context c = {.span_id = 9, .root_span_id = 9};
	int rounds = 0;

	for (int i = 0; i < 2; i++) {
		rounds++;
		WEFT_SCOPE (&c) {
			weft_label_set("a", "within");
			if (way == 1)
				break;
			if (way == 2)
				continue;
			if (way == 3)
				goto out;
			if (way == 4)
				return rounds;
			rounds += 10;
		}
		rounds += 100;
	}
out:
	return rounds;
}

/* As the header says: break and continue leave the block, not the loop. */
static void every_way_out_puts_back(void **state)
{
	static const int rounds[] = {222, 202, 202, 1, 1};

	(void)state;
	weft_context_set(1, 2);
	weft_label_set("a", "outside");
	for (int way = 0; way < 5; way++) {
		assert_int_equal(ways_out(way), rounds[way]);
		assert_int_equal(weft_context_get().span_id, 1);
		assert_string_equal(value_of("a"), "outside");
		assert_int_equal(scopes_now(), 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(scopes_that_move_are_kept),
		cmocka_unit_test(every_way_out_puts_back),
		cmocka_unit_test(scopes_left_by_a_jump_give_their_room_back),
		cmocka_unit_test(what_they_saved_goes_to_the_scope_around_them),
		cmocka_unit_test(living_scopes_keep_what_they_saved),
		cmocka_unit_test(so_they_do_on_other_stacks),
		cmocka_unit_test(so_they_do_in_children),
		cmocka_unit_test(a_look_may_be_abandoned_anywhere),
	};

	_Static_assert(sizeof(struct weft_scope) == 128, "programs have it in their frames");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
