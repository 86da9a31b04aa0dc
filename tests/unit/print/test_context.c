/* SPDX-License-Identifier: Apache-2.0 */
/* Description: the sweep over contexts gives what looking at each of them gives. */
#include "print/context.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define THREADS 4
#define INTERVALS 300
#define MOMENTS 400
#define MOST 64

static int holds(const struct context_interval *i, uint64_t thread, int64_t t)
{
	if (i->thread != thread || t < i->start_ns)
		return 0;
	return t < i->end_ns || (i->start_ns == i->end_ns && t == i->start_ns);
}

/* By start, the longer first, then in the order of the file: as they were sorted. */
static size_t look_at_each(const struct contexts *c, uint64_t thread, int64_t t, uint32_t *out)
{
	size_t count = 0;

	for (size_t i = 1; i <= c->count; i++)
		if (holds(&c->intervals[i], thread, t))
			out[count++] = (uint32_t)i;
	return count;
}

static void check_order(const struct contexts *c)
{
	for (size_t i = 2; i <= c->count; i++) {
		const struct context_interval *a = &c->intervals[i - 1], *b = &c->intervals[i];

		assert_true(a->start_ns <= b->start_ns);
		if (a->start_ns == b->start_ns)
			assert_true(a->end_ns >= b->end_ns);
		if (a->start_ns == b->start_ns && a->end_ns == b->end_ns)
			assert_true(a->offset < b->offset);
	}
}

static void one_round(struct contexts *c, unsigned int *seed)
{
	uint32_t found[INTERVALS], expected[INTERVALS];
	int64_t t = 0;

	contexts_clear(c);
	for (int i = 0; i < INTERVALS; i++) {
		int64_t start = rand_r(seed) % 1000, most = rand_r(seed) % 4 ? 30 : 500;
		struct context_interval interval = {.thread = 1 + (uint64_t)rand_r(seed) % THREADS,
						    .start_ns = start,
						    .end_ns = start + rand_r(seed) % most,
						    .offset = (uint64_t)i};

		assert_int_equal(contexts_add(c, &interval), 0);
	}
	assert_int_equal(contexts_seal(c), 0);
	check_order(c);
	for (int i = 0; i < MOMENTS; i++) {
		uint64_t thread = 1 + (uint64_t)rand_r(seed) % (THREADS + 1);
		size_t count, all;

		t += rand_r(seed) % 4;
		count = contexts_at(c, thread, t, found, INTERVALS);
		all = look_at_each(c, thread, t, expected);
		assert_int_equal(count, all);
		assert_memory_equal(found, expected, count * sizeof(*found));
	}
}

static void any_intervals(void **state)
{
	struct contexts c = {0};
	unsigned int seed = 7;

	(void)state;
	for (int i = 0; i < 200; i++)
		one_round(&c, &seed);
	contexts_free(&c);
}

static void of_too_many_the_innermost(void **state)
{
	struct contexts c = {0};
	uint32_t found[MOST];

	(void)state;
	for (int i = 0; i < 3 * MOST; i++)
		contexts_add(&c, &(struct context_interval){
					 .thread = 9, .start_ns = i, .end_ns = 10000});
	contexts_seal(&c);
	assert_int_equal(contexts_at(&c, 9, 5000, found, MOST), MOST);
	assert_int_equal(c.intervals[found[0]].start_ns, 2 * MOST);
	assert_int_equal(c.intervals[found[MOST - 1]].start_ns, 3 * MOST - 1);
	assert_int_equal(contexts_at(&c, 0, 5000, found, MOST), 0);
	contexts_free(&c);
}

static void none(void **state)
{
	struct contexts c = {0};
	uint32_t found[MOST];

	(void)state;
	assert_int_equal(contexts_seal(&c), 0);
	assert_int_equal(contexts_at(&c, 1, 0, found, MOST), 0);
	contexts_free(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(any_intervals),
		cmocka_unit_test(of_too_many_the_innermost),
		cmocka_unit_test(none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
