/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Description: the anchor that the engine publishes says the time of CLOCK_MONOTONIC, for as long
 * as it says; before it is measured, and once it is stopped, it says nothing.
 */
#include "coro/engine/anchor.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#define FAR_NS 10000 /* a pair of clocks is taken in less, wherever its thread was interrupted */
#define LOOKS 100

static uint64_t time_by(const struct weft_ctp_anchor *shared, uint64_t tsc)
{
	__extension__ typedef unsigned __int128 wide;

	return shared->base_ns + (uint64_t)((wide)(tsc - shared->base_tsc) * shared->mult >> 32);
}

static void it_says_what_the_clock_says(void **state)
{
	static struct weft_ctp_anchor shared;
	struct anchor a;

	(void)state;
	if (!anchor_open(&a, &shared))
		skip();
	assert_int_equal(shared.valid_ticks, 0);
	for (int i = 0, held = 0; held < LOOKS; i++) {
		struct tsc_anchor now = {0, 0};
		uint64_t ns;

		assert_true(i < 100 * LOOKS);
		usleep(2000);
		anchor_update(&a);
		assert_int_equal(shared.seq & 1, 0);
		assert_int_equal(tsc_anchor_take(&now), 0);
		if (now.tsc - shared.base_tsc >= shared.valid_ticks)
			continue;
		held++;
		ns = time_by(&shared, now.tsc);
		assert_in_range(ns, now.mono_ns - FAR_NS, now.mono_ns + FAR_NS);
	}
	anchor_stop(&a);
	assert_int_equal(shared.valid_ticks, 0);
	anchor_update(&a); /* a stopped one stays so */
	assert_int_equal(shared.valid_ticks, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_says_what_the_clock_says),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
