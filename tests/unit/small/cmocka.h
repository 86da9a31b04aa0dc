/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What this tree uses of cmocka, in one header, for machines and libcs that Debian has no
 * cmocka for: the unit tests of base, unwind, runtime and abi under musl and on aarch64 are
 * the very same files. Speaks TAP, always. An assertion that fails ends its test case alone.
 */
#ifndef TESTS_UNIT_SMALL_CMOCKA_H
#define TESTS_UNIT_SMALL_CMOCKA_H

#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct CMUnitTest {
	const char *name;
	void (*run)(void **state);
	int (*setup)(void **state), (*teardown)(void **state);
};

static jmp_buf small_failed;

#define cmocka_unit_test(f)                                                                        \
	{                                                                                          \
#f, f, NULL, NULL                                                                  \
	}
#define cmocka_unit_test_setup(f, s)                                                               \
	{                                                                                          \
#f, f, s, NULL                                                                     \
	}
#define cmocka_unit_test_setup_teardown(f, s, t)                                                   \
	{                                                                                          \
#f, f, s, t                                                                        \
	}
#define cmocka_run_group_tests(tests, setup, teardown)                                             \
	small_run(tests, sizeof(tests) / sizeof((tests)[0]), setup, teardown)
#define print_message(...) printf("# " __VA_ARGS__)
#define fail_msg(...)                                                                              \
	(printf("# %s:%d: ", __FILE__, __LINE__), printf(__VA_ARGS__), puts(""),                   \
	 longjmp(small_failed, 1))
#define fail() fail_msg("failed")
#define skip() longjmp(small_failed, 2)
/* As cmocka does: any scalar, by its value as a 64-bit word. */
#define SMALL_WORD(x) ((uint64_t)(uintptr_t)(x))
#define SMALL_COMPARE(a, b, is_equal)                                                              \
	small_compare(SMALL_WORD(a), SMALL_WORD(b), is_equal, #a, #b, __FILE__, __LINE__)
#define assert_true(x) ((x) ? (void)0 : fail_msg("is false: %s", #x))
#define assert_false(x) ((x) ? fail_msg("is true: %s", #x) : (void)0)
#define assert_int_equal(a, b) SMALL_COMPARE(a, b, 1)
#define assert_int_not_equal(a, b) SMALL_COMPARE(a, b, 0)
#define assert_ptr_equal(a, b) SMALL_COMPARE(a, b, 1)
#define assert_ptr_not_equal(a, b) SMALL_COMPARE(a, b, 0)
#define assert_null(p) SMALL_COMPARE(p, NULL, 1)
#define assert_non_null(p) SMALL_COMPARE(p, NULL, 0)
#define assert_in_range(x, low, high) assert_true((x) >= (low) && (x) <= (high))
#define assert_string_equal(a, b) (strcmp(a, b) ? fail_msg("\"%s\" is not \"%s\"", a, b) : (void)0)
#define assert_memory_equal(a, b, bytes)                                                           \
	(memcmp(a, b, bytes) ? fail_msg("%s and %s differ", #a, #b) : (void)0)

static inline void small_compare(uint64_t a, uint64_t b, int is_equal, const char *left,
				 const char *right, const char *file, int line)
{
	if ((a == b) == is_equal)
		return;
	printf("# %s:%d: %s = 0x%llx, %s = 0x%llx\n", file, line, left, (unsigned long long)a,
	       right, (unsigned long long)b);
	longjmp(small_failed, 1);
}

/* 0 passed, 1 failed, 2 skipped */
static inline int small_run_one(const struct CMUnitTest *t, void **state)
{
	int how;

	if (t->setup && t->setup(state))
		return 1;
	how = setjmp(small_failed);
	if (how == 0)
		t->run(state);
	if (t->teardown && t->teardown(state))
		return 1;
	return how;
}

static inline int small_run(const struct CMUnitTest *tests, size_t count,
			    int (*setup)(void **state), int (*teardown)(void **state))
{
	void *state = NULL;
	int broken = setup && setup(&state), failed = 0;

	printf("1..%zu\n", count);
	for (size_t i = 0; i < count; i++) {
		int how = broken ? 1 : small_run_one(&tests[i], &state);

		printf("%sok %zu - %s%s\n", how == 1 ? "not " : "", i + 1, tests[i].name,
		       how == 2 ? " # SKIP" : "");
		fflush(stdout);
		failed += how == 1;
	}
	if (teardown)
		teardown(&state);
	return failed;
}

#endif
