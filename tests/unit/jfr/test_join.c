/* SPDX-License-Identifier: Apache-2.0 */
/* Description: which contexts hold is what looking at each says; chunks keep those they need. */
#include "jfr/join/chunk_ends.h"
#include "jfr/join/join.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define THREADS 4
#define INTERVALS 300

struct plain {
	uint64_t thread;
	int64_t start, last;
};

static int add(struct join *x, uint64_t thread, int64_t start, int64_t last, uint32_t number)
{
	return join_add(x, &(struct join_interval){.thread = thread,
						   .start_ns = start,
						   .last_ns = last,
						   .order = number,
						   .payload = number});
}

static void check_moment(const struct join *x, const struct plain *all, uint64_t thread, int64_t t,
			 int64_t forgotten)
{
	const struct join_interval *v = join_innermost(x, thread, t), *inner = NULL;
	size_t want = 0, found = 0;

	for (size_t i = 0; i < INTERVALS; i++)
		want += all[i].thread == thread && all[i].start <= t && t <= all[i].last &&
			all[i].last >= forgotten;
	for (; v; inner = v, v = join_outer(x, v, t)) {
		const struct plain *p = &all[v->payload];

		assert_int_equal(p->thread, thread);
		assert_true(p->start <= t && t <= p->last);
		if (inner) {
			assert_true(v->start_ns <= inner->start_ns);
			if (v->start_ns == inner->start_ns)
				assert_true(v->last_ns >= inner->last_ns);
			if (v->start_ns == inner->start_ns && v->last_ns == inner->last_ns)
				assert_true(v->payload < inner->payload);
		}
		found++;
	}
	assert_int_equal(found, want);
}

static void one_round(unsigned int *seed, int most)
{
	struct plain all[INTERVALS];
	struct join x = {0};

	for (uint32_t i = 0; i < INTERVALS; i++) {
		int64_t start = rand_r(seed) % 1000;

		all[i] = (struct plain){1 + (uint64_t)rand_r(seed) % THREADS, start,
					start + rand_r(seed) % most};
		assert_int_equal(add(&x, all[i].thread, start, all[i].last, i), 0);
		if (i == INTERVALS / 2)
			join_seal(&x);
	}
	join_seal(&x);
	for (int64_t t = -5; t < 1500; t += 3)
		check_moment(&x, all, 1 + (uint64_t)rand_r(seed) % (THREADS + 1), t, INT64_MIN);
	join_forget(&x, 600);
	for (int64_t t = 600; t < 1500; t += 3)
		check_moment(&x, all, 1 + (uint64_t)rand_r(seed) % THREADS, t, 600);
	join_free(&x);
}

static void any_intervals_hold_as_looking_at_each_says(void **state)
{
	unsigned int seed = 7;

	(void)state;
	for (int i = 0; i < 60; i++)
		one_round(&seed, i % 2 ? 5 : 400);
}

static void both_ends_count(void **state)
{
	struct join x = {0};

	(void)state;
	assert_null(join_innermost(&x, 1, 0));
	join_seal(&x);
	assert_null(join_innermost(&x, 1, 0));
	add(&x, 1, 100, join_last_ns(100, 200), 0);
	add(&x, 2, 100, join_last_ns(100, 100), 0);
	add(&x, 3, 100, INT64_MAX, 0);
	join_seal(&x);
	assert_null(join_innermost(&x, 1, 99));
	assert_non_null(join_innermost(&x, 1, 100));
	assert_non_null(join_innermost(&x, 1, 199));
	assert_null(join_innermost(&x, 1, 200));
	assert_non_null(join_innermost(&x, 2, 100));
	assert_null(join_innermost(&x, 2, 101));
	assert_non_null(join_innermost(&x, 3, INT64_MAX));
	assert_null(join_innermost(&x, 4, 100));
	join_free(&x);
}

static void of_equals_that_of_the_greater_order_is_inside(void **state)
{
	struct join x = {0};
	const struct join_interval *v;

	(void)state;
	for (uint32_t i = 4; i-- > 1;)
		add(&x, 1, 100, 200, i);
	add(&x, 1, 0, 50, 9);
	join_seal(&x);
	join_forget(&x, 60);
	add(&x, 1, 100, 200, 0);
	join_seal(&x);
	v = join_innermost(&x, 1, 150);
	for (uint64_t i = 4; i-- > 0; v = join_outer(&x, v, 150)) {
		assert_non_null(v);
		assert_int_equal(v->payload, i);
	}
	assert_null(v);
	join_free(&x);
}

static void ends_of_chunks_before_and_behind(void **state)
{
	struct chunk_ends e = {0};

	(void)state;
	assert_int_equal(chunk_ends_before(&e, 3), INT64_MIN);
	assert_int_equal(chunk_ends_from(&e, 0), INT64_MAX);
	assert_int_equal(chunk_ends_add(&e, 0, 10), 0);
	assert_int_equal(chunk_ends_add(&e, 0, 50), 0);
	assert_int_equal(chunk_ends_before(&e, 0), INT64_MIN);
	assert_int_equal(chunk_ends_before(&e, 1), 50);
	assert_int_equal(chunk_ends_add(&e, 2, 40), 0); /* chunk 1 has none */
	assert_int_equal(chunk_ends_add(&e, 3, 30), 0);
	assert_int_equal(chunk_ends_before(&e, 2), 50);
	assert_int_equal(chunk_ends_before(&e, 9), 50);
	chunk_ends_seal(&e);
	assert_int_equal(chunk_ends_from(&e, 0), 10);
	assert_int_equal(chunk_ends_from(&e, 1), 30);
	assert_int_equal(chunk_ends_from(&e, 2), 30);
	assert_int_equal(chunk_ends_from(&e, 4), INT64_MAX);
	chunk_ends_free(&e);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(any_intervals_hold_as_looking_at_each_says),
		cmocka_unit_test(both_ends_count),
		cmocka_unit_test(of_equals_that_of_the_greater_order_is_inside),
		cmocka_unit_test(ends_of_chunks_before_and_behind),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
