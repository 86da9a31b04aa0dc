/* SPDX-License-Identifier: Apache-2.0 */
/* Description: contexts are found by thread and time, borders and nesting included. */
#include "report/read/context.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { TYPE_SPAN = 100, TYPE_ORDER = 101 };
enum { KEY_A = CONTEXT_TAGS, KEY_B };

static void add(struct context_index *x, uint64_t thread, int64_t start, int64_t end, uint32_t key,
		uint32_t type, uint32_t value)
{
	struct context_item item = {key, type, value};

	assert_int_equal(context_index_add(x, thread, start, end, &item, 1), 0);
}

static struct context ask(const struct context_index *x, uint64_t thread, int64_t time_ns)
{
	struct context c = {.count = 0};

	context_index_ask(x, thread, time_ns, &c);
	return c;
}

static uint32_t value(const struct context_index *x, uint64_t thread, int64_t time_ns, uint32_t key)
{
	struct context c = ask(x, thread, time_ns);

	return context_value(&c, key, 0);
}

static void start_is_in_and_end_is_not(void **state)
{
	struct context_index index = {.item_count = 0}, *x = &index;

	(void)state;
	add(x, 1, 100, 200, KEY_A, TYPE_SPAN, 7);
	context_index_seal(x);
	assert_int_equal(value(x, 1, 99, KEY_A), 0);
	assert_int_equal(value(x, 1, 100, KEY_A), 7);
	assert_int_equal(value(x, 1, 199, KEY_A), 7);
	assert_int_equal(value(x, 1, 200, KEY_A), 0);
	context_index_free(x);
}

static void without_duration_it_holds_at_its_start(void **state)
{
	struct context_index index = {.item_count = 0}, *x = &index;

	(void)state;
	add(x, 1, 100, 100, KEY_A, TYPE_SPAN, 7);
	context_index_seal(x);
	assert_int_equal(value(x, 1, 100, KEY_A), 7);
	assert_int_equal(value(x, 1, 101, KEY_A), 0);
	context_index_free(x);
}

static void neighbours_do_not_mix(void **state)
{
	struct context_index index = {.item_count = 0}, *x = &index;

	(void)state;
	add(x, 1, 200, 300, KEY_A, TYPE_SPAN, 8);
	add(x, 1, 100, 200, KEY_A, TYPE_SPAN, 7);
	add(x, 1, 100, 200, KEY_B, TYPE_ORDER, 9);
	context_index_seal(x);
	assert_int_equal(value(x, 1, 199, KEY_A), 7);
	assert_int_equal(value(x, 1, 200, KEY_A), 8);
	assert_int_equal(value(x, 1, 200, KEY_B), 0);
	context_index_free(x);
}

static void threads_are_apart(void **state)
{
	struct context_index index = {.item_count = 0}, *x = &index;

	(void)state;
	add(x, 2, 0, 1000, KEY_A, TYPE_SPAN, 7);
	add(x, 1, 500, 600, KEY_A, TYPE_SPAN, 8);
	add(x, 3, 500, 600, KEY_A, TYPE_SPAN, 9);
	context_index_seal(x);
	assert_int_equal(value(x, 1, 550, KEY_A), 8);
	assert_int_equal(value(x, 1, 650, KEY_A), 0);
	assert_int_equal(value(x, 2, 550, KEY_A), 7);
	assert_int_equal(value(x, 3, 10, KEY_A), 0);
	assert_int_equal(value(x, 0, 550, KEY_A), 0);
	assert_int_equal(value(x, 4, 550, KEY_A), 0);
	context_index_free(x);
}

static void innermost_wins_per_key_and_outer_lends_the_rest(void **state)
{
	struct context_index index = {.item_count = 0}, *x = &index;
	struct context_item outer[] = {{KEY_A, TYPE_SPAN, 1}, {KEY_B, TYPE_SPAN, 2}};

	(void)state;
	assert_int_equal(context_index_add(x, 1, 0, 1000, outer, 2), 0);
	add(x, 1, 100, 200, KEY_A, TYPE_SPAN, 3);
	add(x, 1, 120, 130, KEY_A, TYPE_SPAN, 4);
	context_index_seal(x);
	assert_int_equal(value(x, 1, 125, KEY_A), 4);
	assert_int_equal(value(x, 1, 125, KEY_B), 2);
	assert_int_equal(value(x, 1, 130, KEY_A), 3);
	assert_int_equal(value(x, 1, 500, KEY_A), 1);
	context_index_free(x);
}

static void crossing_of_one_type_does_not_lend_of_another_does(void **state)
{
	struct context_index index = {.item_count = 0}, *x = &index;

	(void)state;
	add(x, 1, 0, 100, KEY_A, TYPE_SPAN, 1);
	add(x, 1, 50, 150, KEY_B, TYPE_SPAN, 2);
	add(x, 1, 20, 90, KEY_A, TYPE_ORDER, 3);
	context_index_seal(x);
	assert_int_equal(value(x, 1, 80, KEY_B), 2);
	assert_int_equal(value(x, 1, 80, KEY_A), 3); /* of the order, not of the crossed span */
	assert_int_equal(value(x, 1, 95, KEY_A), 0);
	assert_int_equal(value(x, 1, 10, KEY_A), 1);
	context_index_free(x);
}

static void types_are_told_apart(void **state)
{
	struct context_index index = {.item_count = 0}, *x = &index;
	struct context c;

	(void)state;
	add(x, 1, 0, 100, KEY_A, TYPE_SPAN, 1);
	add(x, 1, 10, 90, KEY_A, TYPE_ORDER, 2);
	context_index_seal(x);
	c = ask(x, 1, 50);
	assert_int_equal(c.count, 2);
	assert_int_equal(context_value(&c, KEY_A, 0), 2);
	assert_int_equal(context_value(&c, KEY_A, TYPE_SPAN), 1);
	assert_int_equal(context_value(&c, KEY_A, TYPE_ORDER), 2);
	context_index_free(x);
}

static void more_than_fits_is_counted(void **state)
{
	struct context c = {.count = 0};

	(void)state;
	for (uint32_t i = 0; i < CONTEXT_ITEMS + 5; i++)
		context_add(&c, (struct context_item){CONTEXT_TAGS + i, 1, 1});
	assert_int_equal(c.count, CONTEXT_ITEMS);
	assert_int_equal(c.cut, 5);
}

/* ---- against the definition, taken literally */

#define RANDOM_INTERVALS 300

struct plain {
	int64_t start, end;
	uint32_t type, value;
};

static uint32_t expected(const struct plain *all, size_t count, int64_t time_ns, uint32_t type)
{
	const struct plain *best = NULL;

	for (size_t i = 0; i < count; i++) {
		const struct plain *p = &all[i];

		if (p->type != type || time_ns < p->start || time_ns >= p->end)
			continue;
		if (!best || p->start > best->start ||
		    (p->start == best->start && p->end <= best->end))
			best = p;
	}
	return best ? best->value : 0;
}

static void any_intervals_give_what_the_definition_says(void **state)
{
	struct plain all[RANDOM_INTERVALS];
	unsigned int seed = 20240;
	size_t found = 0;

	(void)state;
	for (int round = 0; round < 20; round++) {
		struct context_index index = {.item_count = 0}, *x = &index;

		for (uint32_t i = 0; i < RANDOM_INTERVALS; i++) {
			int64_t start = rand_r(&seed) % 1000;
			int64_t end = start + 1 + rand_r(&seed) % (round % 2 ? 20 : 400);

			all[i] = (struct plain){start, end, TYPE_SPAN + i % 2, i + 1};
			add(x, 1, start, end, KEY_A, all[i].type, i + 1);
		}
		context_index_seal(x);
		for (int64_t t = -5; t < 1500; t += 3) {
			struct context c = ask(x, 1, t);

			for (uint32_t type = TYPE_SPAN; type <= TYPE_ORDER; type++) {
				uint32_t want = expected(all, RANDOM_INTERVALS, t, type);

				assert_int_equal(context_value(&c, KEY_A, type), want);
				found += want != 0;
			}
		}
		context_index_free(x);
	}
	assert_true(found > 1000);
}

static void those_that_hold_are_told_innermost_first(void **state)
{
	struct context_index index = {.item_count = 0}, *x = &index;
	uint32_t found[8];

	(void)state;
	add(x, 1, 0, 1000, KEY_A, TYPE_SPAN, 1);
	add(x, 1, 100, 200, KEY_A, TYPE_SPAN, 2);
	add(x, 1, 150, 160, KEY_A, TYPE_ORDER, 3);
	add(x, 1, 170, 180, KEY_A, TYPE_SPAN, 4);
	add(x, 2, 0, 1000, KEY_A, TYPE_SPAN, 5);
	context_index_seal(x);
	assert_int_equal(context_index_holding(x, 1, 155, found, 8), 3);
	assert_int_equal(found[0], 2);
	assert_int_equal(found[1], 1);
	assert_int_equal(found[2], 0);
	assert_int_equal(context_index_holding(x, 1, 155, found, 2), 2);
	assert_int_equal(context_index_holding(x, 1, 165, found, 8), 2);
	assert_int_equal(found[0], 1);
	assert_int_equal(context_index_holding(x, 2, 999, found, 8), 1);
	assert_int_equal(found[0], 4);
	assert_int_equal(context_index_holding(x, 2, 1000, found, 8), 0);
	assert_int_equal(context_index_holding(x, 3, 1, found, 8), 0);
	context_index_free(x);
}

static void any_intervals_hold_as_the_definition_says(void **state)
{
	struct plain all[RANDOM_INTERVALS];
	struct context_index index = {.item_count = 0}, *x = &index;
	uint32_t found[RANDOM_INTERVALS];
	unsigned int seed = 7;

	(void)state;
	for (uint32_t i = 0; i < RANDOM_INTERVALS; i++) {
		int64_t start = rand_r(&seed) % 1000;

		all[i] = (struct plain){start, start + 1 + rand_r(&seed) % 300, TYPE_SPAN, i};
		add(x, 1, start, all[i].end, KEY_A, TYPE_SPAN, i + 1);
	}
	context_index_seal(x);
	for (int64_t time_ns = 0; time_ns < 1300; time_ns += 7) {
		uint32_t count = context_index_holding(x, 1, time_ns, found, RANDOM_INTERVALS);
		uint32_t want = 0;

		for (uint32_t i = 0; i < RANDOM_INTERVALS; i++)
			want += time_ns >= all[i].start && time_ns < all[i].end;
		assert_int_equal(count, want);
		for (uint32_t i = 0; i < count; i++) {
			const struct plain *p = &all[found[i]];

			assert_true(time_ns >= p->start && time_ns < p->end);
			assert_true(i == 0 || all[found[i - 1]].start >= p->start);
		}
	}
	context_index_free(x);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(start_is_in_and_end_is_not),
		cmocka_unit_test(without_duration_it_holds_at_its_start),
		cmocka_unit_test(neighbours_do_not_mix),
		cmocka_unit_test(threads_are_apart),
		cmocka_unit_test(innermost_wins_per_key_and_outer_lends_the_rest),
		cmocka_unit_test(crossing_of_one_type_does_not_lend_of_another_does),
		cmocka_unit_test(types_are_told_apart),
		cmocka_unit_test(more_than_fits_is_counted),
		cmocka_unit_test(any_intervals_give_what_the_definition_says),
		cmocka_unit_test(those_that_hold_are_told_innermost_first),
		cmocka_unit_test(any_intervals_hold_as_the_definition_says),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
