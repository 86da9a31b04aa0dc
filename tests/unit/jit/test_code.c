/* SPDX-License-Identifier: Apache-2.0 */
/* Functions by address and time, and what a producer without measure may cost. */
#include "jit_test.h"

#include <errno.h>
#include <stdlib.h>

static size_t budget;

static int add(struct jit_code *c, uint64_t start, uint64_t size, uint64_t since_ns,
	       const char *name)
{
	struct jit_entry e = {.start = start,
			      .size = size,
			      .since_ns = since_ns,
			      .name = name,
			      .name_bytes = strlen(name)};

	return jit_code_add(c, &e);
}

static int set_up(void **state)
{
	budget = 64 << 20;
	*state = jit_code_new(&budget);
	return *state == NULL;
}

/* Whatever a test did, all of the budget comes back. */
static int tear_down(void **state)
{
	jit_code_free(*state);
	return budget != 64 << 20;
}

static void bounds_of_a_function(void **state)
{
	struct jit_code *c = *state;
	struct elf_place place;

	assert_int_equal(add(c, 0x10ff0, 0x20, 0, "over a page's end"), 0);
	assert_string_equal(name_at(c, 0x10fef, 1), "");
	assert_string_equal(name_at(c, 0x10ff0, 1), "over a page's end");
	assert_string_equal(name_at(c, 0x1100f, 1), "over a page's end");
	assert_string_equal(name_at(c, 0x11010, 1), "");
	assert_int_equal(jit_code_find(c, 0x11000, 1, &place), 0);
	assert_int_equal(place.address, 0x10ff0);
	assert_int_equal(place.is_inlined, 0);
	assert_null(place.file);
	assert_int_equal(jit_code_count(c), 1);
}

static void one_address_at_three_times(void **state)
{
	struct jit_code *c = *state;

	add(c, 0x1000, 0x100, 100, "first");
	add(c, 0x1080, 0x100, 200, "second");
	add(c, 0x1000, 0x200, 300, "third");
	assert_string_equal(name_at(c, 0x1090, 150), "first");
	assert_string_equal(name_at(c, 0x1090, 200), "second");
	assert_string_equal(name_at(c, 0x1090, 299), "second");
	assert_string_equal(name_at(c, 0x1090, 300), "third");
	assert_string_equal(name_at(c, 0x1010, 299), "first");
	/* Told of only after it has run. */
	assert_string_equal(name_at(c, 0x1090, 50), "first");
	assert_string_equal(name_at(c, 0x1190, 50), "third");
}

static void what_cannot_be(void **state)
{
	struct jit_code *c = *state;
	struct jit_entry lines = {
		.start = 1, .size = 1, .name = "x", .line_first = 7, .line_count = 1};

	assert_int_equal(add(c, 0x1000, 0, 0, "empty"), -EINVAL);
	assert_int_equal(add(c, UINT64_MAX - 4, 8, 0, "wraps"), -EINVAL);
	assert_int_equal(add(c, 0, JIT_CODE_MAX + 1, 0, "too big"), -EINVAL);
	assert_int_equal(add(c, 0x1000, UINT64_MAX, 0, "everything"), -EINVAL);
	assert_int_equal(jit_code_add(c, &lines), -EINVAL);
	assert_int_equal(jit_code_count(c), 0);
	assert_string_equal(name_at(c, 0x1000, 0), "");
	assert_string_equal(name_at(c, UINT64_MAX, 0), "");
}

static void lines(void **state)
{
	struct jit_code *c = *state;
	int64_t first = jit_code_add_line(c, 0x1000, 10, "a.js", 4);
	struct jit_entry e = {.start = 0x1000, .size = 0x100, .name = "f", .name_bytes = 1};

	assert_int_equal(jit_code_add_line(c, 0x1010, 11, "b.js", 4), first + 1);
	assert_int_equal(jit_code_add_line(c, 0x1020, UINT32_MAX, "a.js", 4), first + 2);
	e.line_first = (uint32_t)first;
	e.line_count = 3;
	assert_int_equal(jit_code_add(c, &e), 0);
	assert_string_equal(line_of(c, 0x1000, 0), "a.js:10");
	assert_string_equal(line_of(c, 0x100f, 0), "a.js:10");
	assert_string_equal(line_of(c, 0x1010, 0), "b.js:11");
	assert_string_equal(line_of(c, 0x10ff, 0), "a.js:0");
}

static void moved_code(void **state)
{
	struct jit_code *c = *state;

	add(c, 0x1000, 0x100, 100, "moves");
	assert_int_equal(jit_code_move(c, 0x1000, 0x5000, 200), 0);
	assert_int_equal(jit_code_move(c, 0x1004, 0x6000, 200), -ENOENT);
	assert_int_equal(jit_code_move(c, 0x9000, 0x6000, 200), -ENOENT);
	assert_int_equal(jit_code_move(c, 0x1000, UINT64_MAX - 4, 200), -EINVAL);
	add(c, 0x1000, 0x100, 201, "its follower");
	assert_string_equal(name_at(c, 0x50ff, 200), "moves");
	assert_string_equal(name_at(c, 0x1000, 200), "moves");
	assert_string_equal(name_at(c, 0x1000, 201), "its follower");
}

/* A page that is written over for ever answers fast and with the newest. */
static void one_page_for_ever(void **state)
{
	struct jit_code *c = *state;
	char name[32];

	for (uint64_t i = 1; i <= 20000; i++) {
		snprintf(name, sizeof(name), "f%llu", (unsigned long long)i);
		assert_int_equal(add(c, 0x1000, 0x10, i, name), 0);
	}
	assert_string_equal(name_at(c, 0x1000, 20000), "f20000");
	assert_string_equal(name_at(c, 0x1000, 19000), "f19000");
	/* Older ones are forgotten, down to the oldest of those that are left. */
	assert_true(strtoul(name_at(c, 0x1000, 1) + 1, NULL, 10) > 15000);
}

static void budget_is_the_end(void **state)
{
	size_t small = 200000;
	struct jit_code *c = jit_code_new(&small);
	uint64_t at = 0, added = 0;
	int rc = 0;

	(void)state;
	assert_non_null(c);
	for (; rc == 0 && added < 1000000; at += JIT_CODE_MAX, added++)
		rc = add(c, at, JIT_CODE_MAX, 0, "wide");
	assert_int_equal(rc, -ENOMEM);
	assert_true(added < 100);
	assert_true(small <= 200000);
	assert_string_equal(name_at(c, 0, 0), "wide");
	jit_code_free(c);
	assert_int_equal(small, 200000);
}

static void long_names_are_cut(void **state)
{
	struct jit_code *c = *state;
	char name[3 * JIT_NAME_MAX];

	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = 0;
	assert_int_equal(add(c, 0x1000, 1, 0, name), 0);
	assert_int_equal(strlen(name_at(c, 0x1000, 0)), JIT_NAME_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(bounds_of_a_function, set_up, tear_down),
		cmocka_unit_test_setup_teardown(one_address_at_three_times, set_up, tear_down),
		cmocka_unit_test_setup_teardown(what_cannot_be, set_up, tear_down),
		cmocka_unit_test_setup_teardown(lines, set_up, tear_down),
		cmocka_unit_test_setup_teardown(moved_code, set_up, tear_down),
		cmocka_unit_test_setup_teardown(one_page_for_ever, set_up, tear_down),
		cmocka_unit_test(budget_is_the_end),
		cmocka_unit_test_setup_teardown(long_names_are_cut, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
