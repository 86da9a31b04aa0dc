/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ticks as CLOCK_MONOTONIC: lines through anchors, whose rate changes; many anchors in little
 * memory; and the machine's own clocks, to within a microsecond.
 */
#include "base/clock.h"
#include "collector/session/tsc_clock.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

static struct tsc_clock c;

static int begin(void **state)
{
	(void)state;
	c = (struct tsc_clock){.count = 0};
	return 0;
}

static void add(uint64_t tsc, uint64_t ns)
{
	tsc_clock_add(&c, &(struct tsc_anchor){tsc, ns});
}

static uint64_t at(uint64_t tsc)
{
	uint64_t ns = 0;

	assert_int_equal(tsc_clock_ns(&c, tsc, &ns), 0);
	return ns;
}

static void without_two_anchors_nothing_is_known(void **state)
{
	uint64_t ns;

	(void)state;
	assert_int_equal(tsc_clock_ns(&c, 5, &ns), -EINVAL);
	add(1000, 500);
	assert_int_equal(tsc_clock_ns(&c, 5, &ns), -EINVAL);
	assert_int_equal(tsc_clock_hz(&c), 0);
}

/* 2 ticks a ns up to 1 s, then 4. */
static void between_two_anchors_their_rate_holds(void **state)
{
	(void)state;
	add(1000, 1000000000);
	add(2000001000, 2000000000);
	add(6000001000, 3000000000);
	assert_int_equal(at(1000), 1000000000);
	assert_int_equal(at(1000001000), 1500000000);
	assert_int_equal(at(2000001000), 2000000000);
	assert_int_equal(at(4000001000), 2500000000);
	/* Behind the last the last rate; before the first that of all. */
	assert_int_equal(at(8000001000), 3500000000);
	assert_int_equal(at(0), 1000000000 - 1000 * UINT64_C(2000000000) / 6000000000);
	assert_int_equal(tsc_clock_hz(&c), 3000000000);
}

static void what_goes_back_is_no_anchor(void **state)
{
	(void)state;
	add(1000, 1000);
	add(900, 2000);
	add(2000, 1000);
	assert_int_equal(c.count, 1);
}

static void times_that_cannot_be_are_cut(void **state)
{
	(void)state;
	add(UINT64_C(1) << 60, 1000);
	add((UINT64_C(1) << 60) + 1000, 2000);
	assert_int_equal(at(0), 0);
	assert_true(at(UINT64_MAX) > UINT64_C(1) << 60);
}

/* 2000 ns a tick: the largest number of ticks lies far behind the clock's end. */
static void a_time_behind_the_clocks_end_is_its_end(void **state)
{
	(void)state;
	add(1000, 1000);
	add(2000, 2001000);
	assert_true(at(UINT64_MAX) == UINT64_MAX);
	assert_true(at(UINT64_MAX / 2000) < UINT64_MAX);
	add(3000, 5000000000); /* the newest rate, over a second, is another */
	assert_true(at(UINT64_MAX) == UINT64_MAX);
	assert_int_equal(at(3001), 5000000000 + 4997999);
}

/* A day in seconds: the newest are all there, the older ones get rarer, and the first stays. */
static void a_day_fits(void **state)
{
	(void)state;
	for (uint64_t s = 1; s <= 86400; s++)
		add(s * 3000000000, s * 1000000000);
	assert_true(c.count <= TSC_ANCHORS_MAX);
	assert_int_equal(c.anchor[0].mono_ns, 1000000000);
	assert_int_equal(c.anchor[c.count - 1].mono_ns - c.anchor[c.count - 2].mono_ns, 1000000000);
	for (uint64_t s = 1; s < 86400; s += 997)
		assert_int_equal(at(s * 3000000000 + 1500000000), s * 1000000000 + 500000000);
}

/* What is between two readings of the clock is between them in ticks, too. */
static void the_machines_own_clocks_agree(void **state)
{
	enum { COUNT = 2000 };
	static struct {
		uint64_t before, after;
		struct tsc_anchor anchor;
	} seen[COUNT];
	uint64_t far = 0;

	(void)state;
	if (!tsc_is_the_clock())
		skip();
	tsc_clock_tick(&c, clock_mono_ns());
	for (int i = 0; i < COUNT; i++) {
		seen[i].before = clock_mono_ns();
		tsc_anchor_take(&seen[i].anchor);
		seen[i].after = clock_mono_ns();
		if (i % 100 == 99) {
			usleep(20000);
			tsc_clock_tick(&c, clock_mono_ns());
		}
	}
	for (int i = 0; i < COUNT; i++) {
		uint64_t ns = at(seen[i].anchor.tsc);

		far += ns + 1000 < seen[i].before || ns > seen[i].after + 1000;
	}
	assert_int_equal(far, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(without_two_anchors_nothing_is_known, begin),
		cmocka_unit_test_setup(between_two_anchors_their_rate_holds, begin),
		cmocka_unit_test_setup(what_goes_back_is_no_anchor, begin),
		cmocka_unit_test_setup(times_that_cannot_be_are_cut, begin),
		cmocka_unit_test_setup(a_time_behind_the_clocks_end_is_its_end, begin),
		cmocka_unit_test_setup(a_day_fits, begin),
		cmocka_unit_test_setup(the_machines_own_clocks_agree, begin),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
