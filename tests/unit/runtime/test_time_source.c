/* SPDX-License-Identifier: Apache-2.0 */
/* The runtime's clock: the vDSO's, where there is one; the same time as the system call's, and the
 * session's shift in it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/auxv.h>

#include <cmocka.h>

#include <weft/context.h>

#include "runtime/core/runtime.h"
#include "runtime/core/sys.h"

#define VDSO 1
#define CALL 2

static void session_says_which(void **state)
{
	(void)state;
	weft_context_clear(); /* what uses nothing of the library has no session */
	assert_true(weft_rt_is_ready());
	assert_int_equal(weft_rt.header->time_source, getauxval(AT_SYSINFO_EHDR) ? VDSO : CALL);
}

static void is_the_kernels(void **state)
{
	(void)state;
	for (int i = 0; i < 1000; i++) {
		uint64_t before = sys_clock_ns(CLOCK_MONOTONIC), now = clock_monotonic_ns();

		assert_true(before <= now);
		assert_true(now <= sys_clock_ns(CLOCK_MONOTONIC));
	}
}

static void is_shifted(void **state)
{
	const int64_t away[] = {INT64_C(86400000000000), INT64_C(-1000000000)};
	struct weft_session_header h = {.time_shift_ns = 0};

	(void)state;
	for (int i = 0; i < 2; i++) {
		uint64_t before, now;

		h.time_shift_ns = away[i];
		weft_time_follow(&h);
		before = sys_clock_ns(CLOCK_MONOTONIC) + (uint64_t)away[i];
		now = clock_monotonic_ns();
		assert_true(before <= now);
		assert_true(now <= sys_clock_ns(CLOCK_MONOTONIC) + (uint64_t)away[i]);
		/* not that by which spans are measured */
		before = sys_clock_ns(CLOCK_MONOTONIC);
		now = clock_own_ns();
		assert_true(before <= now);
		assert_true(now <= sys_clock_ns(CLOCK_MONOTONIC));
	}
	h.time_shift_ns = 0;
	weft_time_follow(&h);
	is_the_kernels(state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(session_says_which),
		cmocka_unit_test(is_the_kernels),
		cmocka_unit_test(is_shifted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
