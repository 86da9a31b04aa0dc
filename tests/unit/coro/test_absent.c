/* SPDX-License-Identifier: Apache-2.0 */
/* A format whose library was missing when weft was built: opening it fails, and says which. */
#include "export/export.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

extern const struct exporter_ops exporter_sqlite;

static void test_it_says_so(void **state)
{
	struct export_job x = {.why = ""};

	(void)state;
	assert_int_equal(exporter_sqlite.open(&x), -ENOSYS);
	assert_non_null(strstr(x.why, "built without libsqlite3"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_it_says_so)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
