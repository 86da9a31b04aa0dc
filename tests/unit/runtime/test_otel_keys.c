/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The key map, when two append the same key: one thread is single-stepped through its append,
 * and before each instruction a child of fork is made, in which the other one appends the key
 * just there. In each child both have one index, one of them is the first, and the key stands
 * in the map once.
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ucontext.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/otel/otel_private.h"
#include "unit.h"

#define KEYS_BEFORE 20
#define KEY "shop.customer"

static int times_there(const char *key, size_t bytes)
{
	int times = 0;

	for (uint32_t i = 0; i < weft_otel_keys_count(); i++)
		times += otel_key_is(weft_otel_key_at(i), key, bytes);
	return times;
}

static void fill(void)
{
	char key[16];
	int is_new;

	for (int i = 0; i < KEYS_BEFORE; i++) {
		snprintf(key, sizeof(key), "before-%d", i);
		assert_int_equal(weft_otel_keys_add(key, strlen(key), &is_new), i);
		assert_true(is_new);
	}
}

#ifdef __x86_64__

#define TRAP_FLAG 0x100
static volatile int steps, other_index = -1, other_is_new, failures;

/* Every step: the child goes on alone, with the other's append behind it. */
static void on_step(int signal, siginfo_t *info, void *context)
{
	ucontext_t *uc = context;
	int status = -1, is_new;
	pid_t child = fork();

	(void)signal;
	(void)info;
	if (!child) {
		other_index = weft_otel_keys_add(KEY, strlen(KEY), &is_new);
		other_is_new = is_new;
		uc->uc_mcontext.gregs[REG_EFL] &= ~TRAP_FLAG;
		return;
	}
	steps++;
	if (child < 0 || waitpid(child, &status, 0) != child || status)
		failures++;
}

static void begin_stepping(void)
{
	__asm__ volatile("pushfq; orq %0, (%%rsp); popfq" : : "i"(TRAP_FLAG) : "memory", "cc");
}

static void end_stepping(void)
{
	__asm__ volatile("pushfq; andq %0, (%%rsp); popfq" : : "i"(~TRAP_FLAG) : "memory", "cc");
}

static void the_same_key_at_every_step(void **state)
{
	struct sigaction action = {.sa_sigaction = on_step, .sa_flags = SA_SIGINFO};
	int index, is_new;

	(void)state;
	fill();
	assert_int_equal(sigaction(SIGTRAP, &action, NULL), 0);
	begin_stepping();
	index = weft_otel_keys_add(KEY, strlen(KEY), &is_new);
	end_stepping();
	if (other_index >= 0) /* a child */
		_exit(index != other_index || is_new + other_is_new != 1 ||
		      times_there(KEY, strlen(KEY)) != 1);
	print_message("%d steps, %d times wrong\n", steps, failures);
	if (!steps)
		skip(); /* an emulator steps nothing */
	assert_in_range(steps, 100, 100000);
	assert_int_equal(failures, 0);
	assert_int_equal(times_there(KEY, strlen(KEY)), 1);
}

#else

static void the_same_key_at_every_step(void **state)
{
	(void)state;
	fill();
	assert_int_equal(times_there("before-7", 8), 1);
	skip();
}

#endif

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(the_same_key_at_every_step)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
