/* SPDX-License-Identifier: Apache-2.0 */
/* Of the modules that define a variable by which contexts are published: whose is read. */
#include "reader/context/variables.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void nobody_defines_it(void **state)
{
	struct published_variable v = {0};

	(void)state;
	assert_null(variable_of_others(&v));
}

static void the_first_of_others_counts(void **state)
{
	struct published_variable v = {
		.place = {{.offset = -8}, {.offset = -72}, {.offset = -128}},
		.is_own = {1, 0, 0},
		.count = 3,
		.own = 1,
	};

	(void)state;
	assert_ptr_equal(variable_of_others(&v), &v.place[1]);
	v.is_own[1] = 1;
	assert_ptr_equal(variable_of_others(&v), &v.place[2]);
	v.is_own[2] = 1;
	assert_null(variable_of_others(&v));
}

/* The dynamic linker has given both modules the symbol of one of them. */
static void a_place_that_is_own_too_is_own(void **state)
{
	struct published_variable v = {
		.place = {{.offset = -8}, {.offset = -8}},
		.is_own = {0, 1},
		.count = 2,
		.own = 1,
	};

	(void)state;
	assert_null(variable_of_others(&v));
	v.place[1].is_dynamic = 1;
	assert_ptr_equal(variable_of_others(&v), &v.place[0]);
	v.place[0].is_dynamic = 1;
	v.place[0].module = 3;
	assert_ptr_equal(variable_of_others(&v), &v.place[0]);
	v.place[1].module = 3;
	assert_null(variable_of_others(&v));
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(nobody_defines_it),
		cmocka_unit_test(the_first_of_others_counts),
		cmocka_unit_test(a_place_that_is_own_too_is_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
