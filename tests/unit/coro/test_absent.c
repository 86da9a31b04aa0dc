/* SPDX-License-Identifier: Apache-2.0 */
/* Formats whose library was missing when weft was built: opening one fails, and says which. */
#include "coro/engine/trace.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

extern const struct coro_sink_ops coro_sink_sqlite, coro_sink_postgres, coro_sink_mysql;

static void refuses(const struct coro_sink_ops *ops, const char *library)
{
	struct coro_sink_options options = {.path = "nothing"};
	struct coro_sink *sink = NULL;
	struct coro_event event = {0};
	struct coro_books books = {0};

	assert_int_equal(ops->open(&sink, &options), -ENOSYS);
	assert_non_null(sink);
	assert_non_null(strstr(ops->why(sink), library));
	assert_true(ops->put(sink, &event) < 0);
	assert_true(ops->finish(sink, &books) < 0);
	assert_null(ops->flush);
	assert_null(ops->written);
	ops->close(sink);
}

static void test_each_says_so(void **state)
{
	(void)state;
	refuses(&coro_sink_sqlite, "built without libsqlite3");
	refuses(&coro_sink_postgres, "built without libpq");
	refuses(&coro_sink_mysql, "built without libmariadb");
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_each_says_so)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
