/* SPDX-License-Identifier: Apache-2.0 */
/* Ids in decimal, against snprintf: every length, every border, many at random. */
#include "runtime/core/decimal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/hash.h"

static void compare(uint64_t value)
{
	unsigned char ours[DECIMAL_BYTES];
	char theirs[32];
	int bytes = snprintf(theirs, sizeof(theirs), "%llu", (unsigned long long)value);

	memset(ours, 'x', sizeof(ours));
	assert_int_equal(decimal_write(ours, value), bytes);
	assert_memory_equal(ours, theirs, (size_t)bytes);
}

static void borders_of_each_length(void **state)
{
	(void)state;
	compare(0);
	compare(UINT64_MAX);
	for (uint64_t ten = 1; ten <= UINT64_MAX / 10; ten *= 10)
		for (uint64_t times = 1; times < 10; times++)
			for (uint64_t off = 0; off < 3; off++) {
				compare(ten * times + off - 1);
				compare(ten * 10 - 1 - off);
			}
}

static void all_groups_of_four(void **state)
{
	(void)state;
	for (uint64_t four = 0; four < 10000; four++) {
		compare(four);
		compare(four * UINT64_C(10000) + 7);
		compare(UINT64_C(1000000000000) + four * UINT64_C(10000) + four);
		compare(UINT64_C(12340000000000000000) + four * UINT64_C(1000000000000) +
			four * UINT64_C(100000000) + four * UINT64_C(10000) + four);
	}
}

static void at_random(void **state)
{
	uint64_t value = 1;

	(void)state;
	for (int i = 0; i < 1000000; i++) {
		value = hash_mix(value + (uint64_t)i);
		compare(value >> (i & 63));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(borders_of_each_length),
		cmocka_unit_test(all_groups_of_four),
		cmocka_unit_test(at_random),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
