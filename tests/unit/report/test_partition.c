/* SPDX-License-Identifier: Apache-2.0 */
/* Description: keys that divide samples alike are found, whatever their rows are called. */
#include "base/map.h"
#include "report/sum/partition.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { ROUTE, HANDLER, COARSE, FINE, OTHER, KEYS };

/* @strays of 1000 samples have another handler than their route has. */
static void fill(struct partition *p, uint32_t strays)
{
	assert_int_equal(partition_init(p, KEYS), 0);
	for (uint32_t i = 0; i < 1000; i++) {
		uint32_t route = i % 4;
		const uint32_t rows[KEYS] = {
			[ROUTE] = route,      [HANDLER] = i < strays ? 9 : 3 - route,
			[COARSE] = route / 2, [FINE] = i % 8,
			[OTHER] = i / 250,
		};

		assert_int_equal(partition_add(p, rows, 1), 0);
	}
}

static void the_same_under_other_names(void **state)
{
	struct partition p;

	(void)state;
	fill(&p, 0);
	assert_int_equal(partition_alike(&p, ROUTE, HANDLER), 1);
	assert_int_equal(partition_alike(&p, HANDLER, ROUTE), 1);
	assert_int_equal(partition_alike(&p, ROUTE, ROUTE), 1);
	partition_free(&p);
}

static void what_is_finer_or_across_is_another(void **state)
{
	struct partition p;

	(void)state;
	fill(&p, 0);
	assert_int_equal(partition_alike(&p, ROUTE, COARSE), 0);
	assert_int_equal(partition_alike(&p, COARSE, ROUTE), 0);
	assert_int_equal(partition_alike(&p, ROUTE, FINE), 0);
	assert_int_equal(partition_alike(&p, ROUTE, OTHER), 0);
	partition_free(&p);
}

static void nearly_is_98_of_100(void **state)
{
	struct partition p;

	(void)state;
	fill(&p, 10);
	assert_int_equal(partition_alike(&p, ROUTE, HANDLER), 1);
	partition_free(&p);
	fill(&p, 40);
	assert_int_equal(partition_alike(&p, ROUTE, HANDLER), 0);
	partition_free(&p);
}

static void samples_weigh(void **state)
{
	const uint32_t rows[][2] = {{0, 0}, {1, 1}, {0, 1}};
	struct partition p;

	(void)state;
	assert_int_equal(partition_init(&p, 2), 0);
	assert_int_equal(partition_alike(&p, 0, 1), 0); /* of nothing nobody knows */
	assert_int_equal(partition_add(&p, rows[0], 100), 0);
	assert_int_equal(partition_add(&p, rows[1], 100), 0);
	assert_int_equal(partition_add(&p, rows[2], 1), 0);
	assert_int_equal(partition_alike(&p, 0, 1), 1);
	assert_int_equal(partition_add(&p, rows[2], 50), 0);
	assert_int_equal(partition_alike(&p, 0, 1), 0);
	assert_int_equal(map_count(p.tuples), 3);
	partition_free(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_same_under_other_names),
		cmocka_unit_test(what_is_finer_or_across_is_another),
		cmocka_unit_test(nearly_is_98_of_100),
		cmocka_unit_test(samples_weigh),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
