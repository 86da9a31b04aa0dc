/* SPDX-License-Identifier: Apache-2.0 */
/* Texts of strangers: what a terminal would obey is shown byte by byte, all else as it is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/text/visible.h"

static void check(const char *text, const char *expected, size_t columns)
{
	char out[256], *printed = NULL;
	size_t bytes = 0, used;
	FILE *file = open_memstream(&printed, &bytes);

	assert_string_equal(visible_text(out, sizeof(out), text), expected);
	assert_non_null(file);
	used = visible_print(file, text, strlen(text));
	fclose(file);
	assert_string_equal(printed, expected);
	assert_int_equal(used, columns);
	free(printed);
}

static void test_characters(void **state)
{
	(void)state;
	check("", "", 0);
	check("plain \\x1b", "plain \\x1b", 10);
	check("\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\xef\xbf\xbd",
	      "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\xef\xbf\xbd", 4);
	/* joined emoji and letters that are written from right to left are no commands */
	check("\xe2\x80\x8d\xd7\x90", "\xe2\x80\x8d\xd7\x90", 2);
}

static void test_commands(void **state)
{
	(void)state;
	check("\x1b]0;x\a", "\\x1b]0;x\\x07", 12);
	check("a\tb\nc\x7f", "a\\x09b\\x0ac\\x7f", 15);
	check("\xc2\x9b"
	      "31m",
	      "\\xc2\\x9b31m", 11);
	check("\xe2\x80\xae", "\\xe2\\x80\\xae", 12);
	check("\xd8\x9c", "\\xd8\\x9c", 8);
	check("\xe2\x81\xa6", "\\xe2\\x81\\xa6", 12);
	check("\xe2\x80\xa8", "\\xe2\\x80\\xa8", 12);
}

static void test_no_utf8(void **state)
{
	(void)state;
	check("\xff", "\\xff", 4);
	check("a\x9b"
	      "b",
	      "a\\x9bb", 6);
	check("\xe2\x82", "\\xe2\\x82", 8);
	check("\xc0\x9b", "\\xc0\\x9b", 8);
	check("\xed\xa0\x80", "\\xed\\xa0\\x80", 12);
}

/* Neither a character nor an escape is shown in part. */
static void test_room(void **state)
{
	static const char text[] = "a\x1b\xe2\x82\xac";
	char out[16];

	(void)state;
	assert_string_equal(visible_text(out, 1, text), "");
	assert_string_equal(visible_text(out, 2, text), "a");
	assert_string_equal(visible_text(out, 5, text), "a");
	assert_string_equal(visible_text(out, 6, text), "a\\x1b");
	assert_string_equal(visible_text(out, 8, text), "a\\x1b");
	assert_string_equal(visible_text(out, 9, text), "a\\x1b\xe2\x82\xac");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_characters),
		cmocka_unit_test(test_commands),
		cmocka_unit_test(test_no_utf8),
		cmocka_unit_test(test_room),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
