/* SPDX-License-Identifier: Apache-2.0 */
/* The small cmocka.h itself: each assertion fails when what it asserts is not so. */
#include "cmocka.h"

#include <fcntl.h>
#include <unistd.h>

static int set_up(void **state)
{
	*state = &small_failed;
	return 0;
}

static int refuse(void **state)
{
	(void)state;
	return -1;
}

#define FAILS(name, statement)                                                                     \
	static void name(void **state)                                                             \
	{                                                                                          \
		(void)state;                                                                       \
		statement;                                                                         \
	}

FAILS(is_true, assert_true(1 == 2))
FAILS(is_false, assert_false(1 == 1))
FAILS(ints, assert_int_equal(1, 2))
FAILS(negative_ints, assert_int_equal(-1, 1))
FAILS(other_ints, assert_int_not_equal(3, 3))
FAILS(null, assert_null("x"))
FAILS(non_null, assert_non_null(NULL))
FAILS(pointers, assert_ptr_equal("x", NULL))
FAILS(other_pointers, assert_ptr_not_equal(NULL, NULL))
FAILS(strings, assert_string_equal("a", "b"))
FAILS(memories, assert_memory_equal("ab", "ac", 2))
FAILS(ranges, assert_in_range(5, 1, 4))
FAILS(messages, fail_msg("%d", 1))
FAILS(nothing, (void)0)

static void good(void **state)
{
	assert_ptr_equal(*state, &small_failed);
	assert_true(1);
	assert_false(0);
	assert_int_equal(-1, -1);
	assert_int_not_equal(1, 2);
	assert_null(NULL);
	assert_non_null("");
	assert_string_equal("a", "a");
	assert_memory_equal("ab", "ac", 1);
	assert_in_range(4, 1, 4);
}

static void skipped(void **state)
{
	(void)state;
	skip();
}

static const struct CMUnitTest bad[] = {
	cmocka_unit_test(is_true),  cmocka_unit_test(is_false),
	cmocka_unit_test(ints),     cmocka_unit_test(negative_ints),
	cmocka_unit_test(null),     cmocka_unit_test(other_ints),
	cmocka_unit_test(non_null), cmocka_unit_test(pointers),
	cmocka_unit_test(strings),  cmocka_unit_test(other_pointers),
	cmocka_unit_test(memories), cmocka_unit_test(ranges),
	cmocka_unit_test(messages), cmocka_unit_test_setup(nothing, refuse),
};

/* Quietly: what fails as it should is no line of this program's own TAP. */
static int failures_of(const struct CMUnitTest *tests, size_t count, int (*setup)(void **))
{
	int out = dup(1), nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC), failed;

	fflush(stdout);
	dup2(nowhere, 1);
	failed = small_run(tests, count, setup, NULL);
	fflush(stdout);
	dup2(out, 1);
	close(nowhere);
	close(out);
	return failed;
}

int main(void)
{
	static const struct CMUnitTest fine[] = {
		cmocka_unit_test_setup(good, set_up),
		cmocka_unit_test(skipped),
	};
	const size_t count = sizeof(bad) / sizeof(bad[0]);
	int all_failed = failures_of(bad, count, NULL) == (int)count;
	int none_failed = failures_of(fine, 2, NULL) == 0;
	int group_failed = failures_of(fine, 2, refuse) == 2;

	printf("1..3\n%sok 1 - bad ones fail\n%sok 2 - good ones pass\n"
	       "%sok 3 - a group's setup counts\n",
	       all_failed ? "" : "not ", none_failed ? "" : "not ", group_failed ? "" : "not ");
	return !(all_failed && none_failed && group_failed);
}
