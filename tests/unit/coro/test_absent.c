/* SPDX-License-Identifier: Apache-2.0 */
/* A format whose library was missing when weft was built: opening it fails, and says which. */
#include "coro/engine/trace.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

extern const struct coro_sink_ops coro_sink_sqlite;

static void test_it_says_so(void **state)
{
	struct coro_sink_options options = {.path = "nothing"};
	struct coro_sink *sink = NULL;

	(void)state;
	assert_int_equal(coro_sink_sqlite.open(&sink, &options), -ENOSYS);
	assert_non_null(sink);
	assert_non_null(strstr(coro_sink_sqlite.why(sink), "built without libsqlite3"));
	coro_sink_sqlite.close(sink);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_it_says_so)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
