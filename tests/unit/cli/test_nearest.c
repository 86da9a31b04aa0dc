/* SPDX-License-Identifier: Apache-2.0 */
/* The name that a person meant. */
#include "base/text/nearest.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void distances(void **state)
{
	(void)state;
	assert_int_equal(nearest_distance("", ""), 0);
	assert_int_equal(nearest_distance("record", "record"), 0);
	assert_int_equal(nearest_distance("", "abc"), 3);
	assert_int_equal(nearest_distance("abc", ""), 3);
	assert_int_equal(nearest_distance("recrod", "record"), 1);
	assert_int_equal(nearest_distance("reprot", "report"), 1);
	assert_int_equal(nearest_distance("recor", "record"), 1);
	assert_int_equal(nearest_distance("records", "record"), 1);
	assert_int_equal(nearest_distance("kitten", "sitting"), 3);
	/* restricted: a swapped pair is not edited again */
	assert_int_equal(nearest_distance("ca", "abc"), 3);
}

static void distance_is_symmetric(void **state)
{
	static const char *const names[] = {"record", "report", "convert", "doctor", "x", ""};
	size_t count = sizeof(names) / sizeof(names[0]);

	(void)state;
	for (size_t i = 0; i < count; i++)
		for (size_t j = 0; j < count; j++)
			assert_int_equal(nearest_distance(names[i], names[j]),
					 nearest_distance(names[j], names[i]));
}

static void long_names_are_never_near(void **state)
{
	char name[NEAREST_NAME_MAX + 2];

	(void)state;
	memset(name, 'a', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	assert_int_equal(nearest_distance(name, name), NEAREST_NAME_MAX + 1);
	name[NEAREST_NAME_MAX] = '\0';
	assert_int_equal(nearest_distance(name, name), 0);
}

static const char *find(const char *typed)
{
	struct nearest search = {typed, NULL, 0};

	nearest_offer(&search, "record");
	nearest_offer(&search, "report");
	nearest_offer(&search, "convert");
	nearest_offer(&search, "doctor");
	return search.best;
}

static void finds_what_was_meant(void **state)
{
	(void)state;
	assert_string_equal(find("recrod"), "record");
	assert_string_equal(find("reports"), "report");
	assert_string_equal(find("docter"), "doctor");
	assert_string_equal(find("conv"), "convert");
	assert_null(find("xyzzy"));
	assert_null(find("r"));
	assert_null(find(""));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(distances),
		cmocka_unit_test(distance_is_symmetric),
		cmocka_unit_test(long_names_are_never_near),
		cmocka_unit_test(finds_what_was_meant),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
