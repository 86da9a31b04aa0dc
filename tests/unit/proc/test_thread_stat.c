/* SPDX-License-Identifier: Apache-2.0 */
/* What is read in /proc/PID/task/TID, and what is not believed there. */
#include "proc/thread_stat.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static void schedstat_has_three_numbers(void **state)
{
	struct thread_sched runs;

	(void)state;
	assert_int_equal(thread_parse_schedstat("123 45 6\n", &runs), 0);
	assert_int_equal(runs.cpu_ns, 123);
	assert_int_equal(runs.delay_ns, 45);
	assert_int_equal(runs.count, 6);
	assert_true(runs.has_times && !runs.is_running);
	assert_int_equal(thread_parse_schedstat("18446744073709551615 0 1\n", &runs), 0);
	assert_true(runs.cpu_ns == UINT64_MAX);
}

static void bad_schedstat_is_refused_and_leaves_all_as_it_was(void **state)
{
	static const char *const bad[] = {"",
					  "\n",
					  "1",
					  "1 2",
					  "1 2 \n",
					  "1 2 x",
					  "1 2 3x",
					  "-1 2 3",
					  "a b c",
					  "1  ",
					  "99999999999999999999 1 1"};
	struct thread_sched runs = {.count = 77};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		if (thread_parse_schedstat(bad[i], &runs) != -EPROTO)
			fail_msg("taken: %s", bad[i]);
		assert_int_equal(runs.count, 77);
	}
}

#define STATUS(state, own, other)                                                                  \
	"Name:\ta\\nState:\\tR\nState:\t" state "\nNSpid:\t1\nvoluntary_ctxt_switches:\t" own      \
	"\nnonvoluntary_ctxt_switches:\t" other "\n"

static void status_counts_both_kinds_of_switches(void **state)
{
	struct thread_sched runs;

	(void)state;
	assert_int_equal(thread_parse_status(STATUS("S (sleeping)", "12", "30"), &runs), 0);
	assert_int_equal(runs.count, 42);
	assert_true(!runs.has_times && !runs.is_running);
	assert_int_equal(thread_parse_status(STATUS("R (running)", "12", "30"), &runs), 0);
	assert_true(runs.is_running);
	assert_int_equal(thread_parse_status(STATUS("S", "x", "3"), &runs), -EPROTO);
	assert_int_equal(thread_parse_status("Name:\tx\n", &runs), -EPROTO);
	assert_int_equal(thread_parse_status("", &runs), -EPROTO);
}

static void syscall_tells_sp_and_pc_or_that_it_runs(void **state)
{
	struct thread_call call = {1, 2};

	(void)state;
	assert_int_equal(thread_parse_syscall("running\n", &call), -EAGAIN);
	assert_int_equal(thread_parse_syscall("-1 0x7ffd10 0x4010\n", &call), 0);
	assert_int_equal(call.sp, 0x7ffd10);
	assert_int_equal(call.pc, 0x4010);
	assert_int_equal(
		thread_parse_syscall(
			"230 0x1 0x0 0x7ffe 0x0 0x2c 0x0 0x7fff0af63548 0x7f898082c2ad\n", &call),
		0);
	assert_true(call.sp == 0x7fff0af63548 && call.pc == 0x7f898082c2ad);
}

static void bad_syscall_is_refused(void **state)
{
	static const char *const bad[] = {
		"",
		"\n",
		"-1",
		"-1 0x1",
		"-1 0x1 \n",
		"0 0x3 0x4 0x5 0x6 0x7 0x8\n",
		"0 0x3 0x4 0x5 0x6 0x7 0x8 0x9\n",
		"0 0x3 0x4 0x5 0x6 0x7 0x8 0x9 0xg\n",
		"-2 0x1 0x2\n",
		"1 0x1ffffffffffffffff 0 0 0 0 0 1 2\n",
	};
	struct thread_call call = {1, 2};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		if (thread_parse_syscall(bad[i], &call) != -EPROTO)
			fail_msg("taken: %s", bad[i]);
		assert_true(call.sp == 1 && call.pc == 2);
	}
}

#define FIELDS_TO_28                                                                               \
	" 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 140733 29\n"

#define FIELDS_TO_39                                                                               \
	" 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32 33 34 " \
	"35 36 37 38 39 40\n"

static void stat_is_counted_from_the_last_bracket(void **state)
{
	struct thread_stat stat;

	(void)state;
	assert_int_equal(thread_parse_stat("12 (a b) R 1) (x) D" FIELDS_TO_28, &stat), 0);
	assert_string_equal(stat.name, "a b) R 1) (x");
	assert_int_equal(stat.state, 'D');
	assert_int_equal(stat.stack_start, 140733);
	assert_int_equal(stat.cpu, -1);
	assert_int_equal(thread_parse_stat("12 (a) R" FIELDS_TO_39, &stat), 0);
	assert_int_equal(stat.cpu, 39);
	assert_int_equal(thread_parse_stat("12 () S" FIELDS_TO_28, &stat), 0);
	assert_string_equal(stat.name, "");
	assert_int_equal(thread_parse_stat("12 (0123456789abcdef0123) S" FIELDS_TO_28, &stat), 0);
	assert_string_equal(stat.name, "0123456789abcde");
}

static void bad_stat_is_refused(void **state)
{
	static const char *const bad[] = {
		"",
		"12",
		"12 (a",
		"12 a) S" FIELDS_TO_28,
		"12 )( S" FIELDS_TO_28,
		"12 (a)",
		"12 (a) ",
		"12 (a) 4" FIELDS_TO_28,
		"12 (a) S 1 2",
		"12 (a)S 1 2",
	};
	struct thread_stat stat;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		if (thread_parse_stat(bad[i], &stat) != -EPROTO)
			fail_msg("taken: %s", bad[i]);
}

/* Whatever the bytes: an answer, and no read past the end (the sanitizers look). */
static void a_thread_tells_what_it_was_given(void **state)
{
	int proc_fd = open("/proc/self", O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct thread_status status;
	uint32_t filters;

	(void)state;
	assert_int_equal(thread_status_read(proc_fd, getpid(), &status), 0);
	assert_int_equal(status.threads, 1);
	assert_int_equal(status.files_user, geteuid());
	assert_int_equal(thread_filters_read(proc_fd, getpid(), &filters), 0);
	assert_int_equal(status.filters, filters);
	assert_true(thread_status_read(proc_fd, INT32_MAX, &status) < 0);
	close(proc_fd);
}

static void any_bytes_are_survived(void **state)
{
	static const char letters[] =
		"0123456789abcdefx() -\n\tSRDrunningState:voluntary_ctxt_switches";
	struct thread_sched runs;
	struct thread_call call;
	struct thread_stat stat;
	unsigned int seed = 1;

	(void)state;
	for (int round = 0; round < 20000; round++) {
		size_t bytes = (size_t)rand_r(&seed) % 120;
		char *text = malloc(bytes + 1);

		for (size_t i = 0; i < bytes; i++)
			text[i] = letters[(size_t)rand_r(&seed) % (sizeof(letters) - 1)];
		text[bytes] = 0;
		thread_parse_schedstat(text, &runs);
		thread_parse_status(text, &runs);
		thread_parse_syscall(text, &call);
		thread_parse_stat(text, &stat);
		free(text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(schedstat_has_three_numbers),
		cmocka_unit_test(bad_schedstat_is_refused_and_leaves_all_as_it_was),
		cmocka_unit_test(status_counts_both_kinds_of_switches),
		cmocka_unit_test(syscall_tells_sp_and_pc_or_that_it_runs),
		cmocka_unit_test(bad_syscall_is_refused),
		cmocka_unit_test(stat_is_counted_from_the_last_bracket),
		cmocka_unit_test(bad_stat_is_refused),
		cmocka_unit_test(a_thread_tells_what_it_was_given),
		cmocka_unit_test(any_bytes_are_survived),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
