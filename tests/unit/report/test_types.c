/* SPDX-License-Identifier: Apache-2.0 */
/* Description: periods are read in every spelling in use; sample types are chosen by name. */
#include "report/read/types.h"
#include "report/show/layout.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static uint64_t period(const char *text)
{
	return period_parse(text, strlen(text));
}

static void periods(void **state)
{
	(void)state;
	assert_int_equal(period("5025125 ns"), 5025125);
	assert_int_equal(period("20 ms"), 20000000);
	assert_int_equal(period("20ms"), 20000000);
	assert_int_equal(period("7 us"), 7000);
	assert_int_equal(period("1 s"), 1000000000);
	assert_int_equal(period("2 m"), UINT64_C(120000000000));
	assert_int_equal(period("1 h"), UINT64_C(3600000000000));
	assert_int_equal(period("1 d"), UINT64_C(86400000000000));
	assert_int_equal(period("10000000"), 10000000);
	assert_int_equal(period("everyChunk"), 0);
	assert_int_equal(period(""), 0);
	assert_int_equal(period(" "), 0);
	assert_int_equal(period("ms"), 0);
	assert_int_equal(period("-5 ms"), 0);
	assert_int_equal(period("5 weeks"), 0);
	assert_int_equal(period("99999999999999999999 s"), 0);
	assert_int_equal(period("18446744073709551615 ms"), 0);
	assert_int_equal(period_parse("20 ms and more", 5), 20000000);
}

static void types(void **state)
{
	const struct sample_type *cpu = sample_type_find("jdk.ExecutionSample");
	const struct sample_type *wall = sample_type_find("profiler.WallClockSample");

	(void)state;
	assert_non_null(cpu);
	assert_non_null(wall);
	assert_null(sample_type_find("jdk.ThreadPark"));
	assert_true(sample_type_is(cpu, "cpu"));
	assert_false(sample_type_is(cpu, "wall"));
	assert_true(sample_type_is(wall, "wall"));
	assert_true(sample_type_is(wall, "all"));
	assert_true(sample_type_is(wall, "profiler.WallClockSample"));
	assert_false(sample_type_is(wall, "jdk.ExecutionSample"));
	assert_false(sample_type_choice("spam"));
}

static void times_and_shares(void **state)
{
	char text[LAYOUT_NUMBER];

	(void)state;
	assert_string_equal(layout_time(text, 0), "0 ns");
	assert_string_equal(layout_time(text, 999), "999 ns");
	assert_string_equal(layout_time(text, 1500), "1.500 us");
	assert_string_equal(layout_time(text, 5025125), "5.025 ms");
	assert_string_equal(layout_time(text, UINT64_C(12345678901)), "12.346 s");
	assert_string_equal(layout_share(text, 1, 3), "33.3 %");
	assert_string_equal(layout_share(text, 0, 0), "-");
}

static void check_name(const char *name, int columns, const char *expected, size_t used)
{
	char *text = NULL;
	size_t bytes = 0;
	FILE *out = open_memstream(&text, &bytes);

	assert_int_equal(layout_name(out, name, columns), used);
	fclose(out);
	assert_string_equal(text, expected);
	free(text);
}

static void names_are_cut_at_characters(void **state)
{
	(void)state;
	check_name("std::vector<int>", 0, "std::vector<int>", 16);
	check_name("std::vector<int>", 16, "std::vector<int>", 16);
	check_name("std::vector<int>", 13, "std::vecto...", 13);
	check_name("gr\xC3\xBC\xC3\x9F"
		   "e aus der welt",
		   12,
		   "gr\xC3\xBC\xC3\x9F"
		   "e aus...",
		   12);
	check_name("a\x1b[31mb\n", 0, "a\\x1b[31mb\\x0a", 14);
	check_name("\xC2\x9B"
		   "bbb\xE2\x80\xAE"
		   "ccccccccc\xFF",
		   24, "\\xc2\\x9bbbb\\xe2\\x80...", 22);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(periods),
		cmocka_unit_test(types),
		cmocka_unit_test(times_and_shares),
		cmocka_unit_test(names_are_cut_at_characters),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
