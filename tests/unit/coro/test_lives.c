/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Description: events become runs and waits; a gap in any of the three ways of numbering ends an
 * interval as unknown; what is out of order or hostile makes no interval and no crash.
 */
#include "coro/look/lives.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define FAR 64

struct seen {
	struct coro_lives *lives;
	struct coro_interval interval[FAR];
	size_t count;
};

static void take(void *arg, const struct coro_interval *interval)
{
	struct seen *seen = arg;

	if (seen->count < FAR)
		seen->interval[seen->count] = *interval;
	seen->count++;
}

static int setup(void **state)
{
	struct seen *seen = calloc(1, sizeof(*seen));

	assert_non_null(seen);
	seen->lives = coro_lives_new(take, seen);
	assert_non_null(seen->lives);
	*state = seen;
	return 0;
}

static int teardown(void **state)
{
	struct seen *seen = *state;

	coro_lives_free(seen->lives);
	free(seen);
	return 0;
}

static struct coro_event event(uint64_t id, uint64_t seq, int active, uint64_t ts)
{
	return (struct coro_event){.probe_id = id,
				   .tid = 7,
				   .addr = 0x1000 + (active ? 0 : 0x100),
				   .seq = seq,
				   .ts = ts,
				   .is_active = (uint8_t)active};
}

static void feed(struct seen *seen, uint64_t id, uint64_t seq, int active, uint64_t ts)
{
	struct coro_event e = event(id, seq, active, ts);

	assert_int_equal(coro_lives_event(seen->lives, &e), 0);
}

static void expect(const struct seen *seen, size_t at, enum coro_interval_kind kind, uint64_t from,
		   uint64_t to)
{
	assert_true(at < seen->count);
	assert_int_equal(seen->interval[at].kind, kind);
	assert_int_equal(seen->interval[at].begin_ns, from);
	assert_int_equal(seen->interval[at].end_ns, to);
}

static void runs_and_waits(void **state)
{
	struct seen *seen = *state;
	struct coro_life *life;

	feed(seen, 1, 2, 1, 100);
	feed(seen, 1, 4, 0, 130);
	feed(seen, 1, 6, 1, 200);
	feed(seen, 1, 8, 0, 205);
	coro_lives_end(seen->lives);
	assert_int_equal(seen->count, 4);
	expect(seen, 0, CORO_RUN, 100, 130);
	assert_int_equal(seen->interval[0].addr, 0x1100);
	assert_int_equal(seen->interval[0].tid, 7);
	expect(seen, 1, CORO_WAIT, 130, 200);
	assert_int_equal(seen->interval[1].addr, 0x1100);
	expect(seen, 2, CORO_RUN, 200, 205);
	expect(seen, 3, CORO_WAIT, 205, 205);
	assert_int_equal(seen->interval[3].is_open, 1);
	assert_int_equal(seen->lives->count, 1);
	life = coro_lives_at(seen->lives, 0);
	assert_int_equal(life->max_wait_ns, 70);
	assert_int_equal(life->gaps, 0);
	assert_int_equal(life->lost, 0);
}

static void open_until_the_traces_end(void **state)
{
	struct seen *seen = *state;

	feed(seen, 1, 2, 1, 100);
	feed(seen, 1, 4, 0, 130);
	feed(seen, 2, 2, 1, 500);
	coro_lives_end(seen->lives);
	assert_int_equal(seen->count, 3);
	expect(seen, 1, CORO_WAIT, 130, 500);
	assert_int_equal(seen->interval[1].is_open, 1);
	expect(seen, 2, CORO_RUN, 500, 500);
	assert_int_equal(seen->lives->first_ns, 100);
	assert_int_equal(seen->lives->last_ns, 500);
}

/* Suspend and resume are missing: without their numbers it would be one long run. */
static void a_pair_left_out_is_no_long_run(void **state)
{
	struct seen *seen = *state;
	struct coro_life *life;

	feed(seen, 1, 2, 1, 100);
	feed(seen, 1, 4, 0, 101);
	feed(seen, 1, 6, 1, 102);
	feed(seen, 1, 12, 0, 9000);
	feed(seen, 1, 14, 1, 9010);
	life = coro_lives_at(seen->lives, 0);
	assert_int_equal(life->gaps, 1);
	assert_int_equal(life->lost, 2);
	assert_int_equal(seen->count, 3);
	expect(seen, 2, CORO_WAIT, 9000, 9010);
}

static void one_left_out(void **state)
{
	struct seen *seen = *state;

	feed(seen, 1, 2, 1, 100);
	feed(seen, 1, 6, 1, 900);
	feed(seen, 1, 8, 0, 930);
	assert_int_equal(seen->count, 1);
	expect(seen, 0, CORO_RUN, 900, 930);
	assert_int_equal(coro_lives_at(seen->lives, 0)->lost, 1);
}

/* Dialect S: eight events share a number. */
static void laps(void **state)
{
	struct seen *seen = *state;
	struct coro_life *life;

	for (unsigned int n = 0; n < 24; n++)
		feed(seen, 1, 2 * (n / 8 + 1), n % 2, 1000 + n);
	life = coro_lives_at(seen->lives, 0);
	assert_int_equal(seen->lives->count, 1);
	assert_int_equal(life->gaps, 0);
	assert_int_equal(seen->count, 23);
	/* 6 of the fourth lap are never seen, and the whole fifth */
	feed(seen, 1, 8, 0, 2000);
	feed(seen, 1, 8, 1, 2001);
	feed(seen, 1, 12, 0, 2002);
	assert_int_equal(life->gaps, 1);
	assert_int_equal(life->lost, 14);
	assert_int_equal(seen->count, 25);
}

static void ones(void **state)
{
	struct seen *seen = *state;

	for (unsigned int n = 0; n < 20; n++)
		feed(seen, 1, n + 1, n % 2 == 0, 1000 + n);
	assert_int_equal(seen->count, 19);
	feed(seen, 1, 25, 1, 3000);
	assert_int_equal(seen->count, 19);
	assert_int_equal(coro_lives_at(seen->lives, 0)->lost, 4);
}

/* An allocator hands the same address out again: its numbers begin anew. */
static void an_id_used_again_is_another(void **state)
{
	struct seen *seen = *state;

	for (unsigned int n = 0; n < 10; n++)
		feed(seen, 1, 2 * (n / 8 + 1), n % 2, 1000 + n);
	feed(seen, 1, 2, 0, 5000);
	feed(seen, 1, 2, 1, 5001);
	assert_int_equal(seen->lives->count, 2);
	assert_int_equal(coro_lives_at(seen->lives, 0)->is_dead, 1);
	assert_int_equal(seen->count, 10);
	expect(seen, 9, CORO_WAIT, 5000, 5001);
}

static void earlier_than_the_last_is_passed_over(void **state)
{
	struct seen *seen = *state;
	struct coro_life *life;

	feed(seen, 1, 2, 1, 1000);
	feed(seen, 1, 4, 0, 900);
	feed(seen, 1, 6, 1, 1100);
	feed(seen, 1, 8, 0, 1105);
	life = coro_lives_at(seen->lives, 0);
	assert_int_equal(seen->lives->count, 1);
	assert_true(life->gaps >= 1);
	assert_int_equal(seen->count, 1);
	expect(seen, 0, CORO_RUN, 1100, 1105);
}

static struct coro_event known(uint32_t generation, uint64_t seq, int active, uint64_t ts)
{
	struct coro_event e = event(generation, seq, active, ts);

	e.known = CORO_KNOWS_IDENTITY | CORO_KNOWS_BIRTH;
	e.pid = 42;
	e.station = 3;
	e.generation = generation;
	e.birth_ts = ts - 50;
	return e;
}

static void a_station_has_one_after_the_other(void **state)
{
	struct seen *seen = *state;
	struct coro_event e = known(2, 2, 1, 100);

	assert_int_equal(coro_lives_event(seen->lives, &e), 0);
	e = known(2, 4, 0, 110);
	e.known |= CORO_KNOWS_DEATH;
	assert_int_equal(coro_lives_event(seen->lives, &e), 0);
	e = known(4, 6, 1, 300);
	assert_int_equal(coro_lives_event(seen->lives, &e), 0);
	/* the first events of this one were overwritten: from when it waited is not known */
	e = known(6, 20, 1, 700);
	assert_int_equal(coro_lives_event(seen->lives, &e), 0);
	coro_lives_end(seen->lives);
	assert_int_equal(seen->lives->count, 3);
	assert_int_equal(coro_lives_at(seen->lives, 0)->is_dead, 1);
	assert_int_equal(coro_lives_at(seen->lives, 1)->is_dead, 1);
	assert_int_equal(seen->count, 4);
	expect(seen, 0, CORO_WAIT, 50, 100);
	assert_int_equal(seen->interval[0].is_first, 1);
	expect(seen, 1, CORO_RUN, 100, 110);
	expect(seen, 2, CORO_WAIT, 250, 300);
	expect(seen, 3, CORO_RUN, 700, 700);
	assert_int_equal(seen->interval[3].is_open, 1);
}

static void threads(void **state)
{
	static const uint64_t tids[] = {1, 2, 1, 2, 3, 3};
	struct seen *seen = *state;
	struct coro_life *life;

	for (unsigned int n = 0; n < 6; n++) {
		struct coro_event e = event(1, 2 * n + 2, n % 2, 10 + n);

		e.tid = tids[n];
		assert_int_equal(coro_lives_event(seen->lives, &e), 0);
	}
	life = coro_lives_at(seen->lives, 0);
	assert_int_equal(life->tids, 4);
	assert_int_equal(life->returns, 2);
	assert_int_equal(life->last_tid, 3);
}

/* Whatever the numbers are: no interval ends before it begins, and their sums hold. */
static void hostile(void **state)
{
	struct seen *seen = *state;
	uint64_t x = 88172645463325252u;

	for (unsigned int n = 0; n < 200000; n++) {
		struct coro_event e;

		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		e = event(x % 50, x & 64 ? x >> 40 : UINT64_MAX - (x >> 60), (x >> 8) & 1,
			  x & 128 ? UINT64_MAX - (x >> 50) : x >> 30);
		e.known = (uint16_t)((x >> 16) & 31);
		e.station = (uint32_t)(x >> 20) % 40;
		e.generation = (uint32_t)(x >> 28) % 5;
		e.birth_ts = x >> 9;
		seen->count = 0;
		assert_int_equal(coro_lives_event(seen->lives, &e), 0);
		for (size_t i = 0; i < seen->count; i++)
			assert_true(seen->interval[i].begin_ns <= seen->interval[i].end_ns);
	}
	seen->count = 0;
	coro_lives_end(seen->lives);
	for (size_t i = 0; i < seen->lives->count; i++) {
		struct coro_life *life = coro_lives_at(seen->lives, i);

		assert_true(life->first_ns <= life->last_ns);
		assert_true(life->max_wait_ns <= life->last_ns);
	}
}

static void none_at_all(void **state)
{
	struct seen *seen = *state;

	coro_lives_end(seen->lives);
	assert_int_equal(seen->count, 0);
	assert_int_equal(seen->lives->count, 0);
	coro_lives_free(NULL);
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		T(runs_and_waits),
		T(open_until_the_traces_end),
		T(a_pair_left_out_is_no_long_run),
		T(one_left_out),
		T(laps),
		T(ones),
		T(an_id_used_again_is_another),
		T(earlier_than_the_last_is_passed_over),
		T(a_station_has_one_after_the_other),
		T(threads),
		T(hostile),
		T(none_at_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
