/* SPDX-License-Identifier: Apache-2.0 */
/* Description: the TSC and CLOCK_MONOTONIC are taken at one moment; no machine without one has it.
 */
#include "base/clock.h"
#include "proc/tsc.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void both_clocks_at_one_moment(void **state)
{
	struct tsc_anchor last = {0, 0}, anchor = {7, 7};

	(void)state;
	if (tsc_anchor_take(&anchor)) {
		assert_int_equal(tsc_anchor_take(&anchor), -ENOTSUP);
		assert_int_equal(anchor.tsc, 7);
		skip();
	}
	for (int i = 0; i < 1000; i++) {
		uint64_t before = clock_mono_ns();

		assert_int_equal(tsc_anchor_take(&anchor), 0);
		assert_true(anchor.mono_ns >= before);
		assert_true(anchor.mono_ns <= clock_mono_ns());
		if (tsc_is_the_clock()) /* else it may be another on another CPU */
			assert_true(anchor.tsc > last.tsc);
		last = anchor;
	}
}

static void where_there_is_none_it_is_not_the_clock(void **state)
{
	struct tsc_anchor anchor;

	(void)state;
	if (tsc_anchor_take(&anchor))
		assert_false(tsc_is_the_clock());
	else
		skip();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(both_clocks_at_one_moment),
		cmocka_unit_test(where_there_is_none_it_is_not_the_clock),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
