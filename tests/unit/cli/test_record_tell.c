/* SPDX-License-Identifier: Apache-2.0 */
/* What record says at the end of files that found no room for their unwind tables. */
#include "cli/frame/cli.h"
#include "cli/record/record.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static char told[4096];

/* Into @told, what stands on stderr. */
static void tell(enum weft_stack_mode mode, uint64_t refused)
{
	struct collector_options options = {.path = "x.jfr", .stack_mode = mode};
	struct record r = {.options = &options};
	struct collector_result result = {.processes = 1};
	FILE *file = tmpfile();
	int before = dup(STDERR_FILENO);
	size_t bytes;

	assert_non_null(file);
	result.total.counter[WEFT_COUNTER_TABLES_REFUSED] = refused;
	assert_true(dup2(fileno(file), STDERR_FILENO) >= 0);
	assert_int_equal(record_tell(&r, &result, 0), 0);
	fflush(stderr);
	dup2(before, STDERR_FILENO);
	close(before);
	rewind(file);
	bytes = fread(told, 1, sizeof(told) - 1, file);
	told[bytes] = 0;
	fclose(file);
	assert_non_null(strstr(told, "x.jfr"));
}

static void expect(const char *text)
{
	if (!strstr(told, text))
		fail_msg("no \"%s\" in:\n%s", text, told);
}

static void full_tables_are_told(void **state)
{
	(void)state;
	tell(WEFT_STACK_AUTO, 3);
	expect("warning: 3 mapped files found no room for their unwind tables: stacks through "
	       "them were copied");
	tell(WEFT_STACK_TABLE, 1);
	expect("warning: 1 mapped file found no room for its unwind table: stacks through it "
	       "were cut");
}

static void nothing_is_told_of_what_nobody_misses(void **state)
{
	static const enum weft_stack_mode mode[] = {WEFT_STACK_RAW, WEFT_STACK_FP};

	(void)state;
	for (int i = 0; i < 2; i++) {
		tell(mode[i], 3);
		assert_null(strstr(told, "warning"));
	}
	tell(WEFT_STACK_AUTO, 0);
	assert_null(strstr(told, "warning"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(full_tables_are_told),
		cmocka_unit_test(nothing_is_told_of_what_nobody_misses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
