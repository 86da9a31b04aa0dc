/* SPDX-License-Identifier: Apache-2.0 */
/* Description: numbers are written as printf writes them, and read up to their end. */
#include "base/text/digits.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void check(uint64_t number)
{
	char theirs[32], room[DIGITS_BYTES], *end = room + sizeof(room);
	const char *ours = digits_put_before(end, number), *at = ours;
	int bytes = snprintf(theirs, sizeof(theirs), "%llu", (unsigned long long)number);
	uint64_t value = ~number;

	assert_int_equal(end - ours, bytes);
	assert_memory_equal(ours, theirs, (size_t)bytes);
	assert_int_equal(digits_read(&at, end, 10, &value), 0);
	assert_true(value == number && at == end);
}

static void written_and_read(void **state)
{
	(void)state;
	check(0);
	check(UINT32_MAX);
	check(INT64_MAX);
	check(UINT64_MAX);
	for (uint64_t ten = 1; ten <= UINT64_MAX / 10; ten *= 10) {
		check(ten);
		check(10 * ten - 1);
	}
}

static void expect(const char *text, unsigned int base, int rc, uint64_t number, size_t digits)
{
	const char *at = text;
	uint64_t value = 7;

	assert_int_equal(digits_read(&at, text + strlen(text), base, &value), rc);
	assert_true(value == (rc ? 7 : number));
	assert_int_equal(at - text, digits);
}

static void texts(void **state)
{
	const char text[] = "12345", *at = text;
	uint64_t value = 0;

	(void)state;
	expect("12 ms", 10, 0, 12, 2);
	expect("0012a", 10, 0, 12, 4);
	expect("18446744073709551615", 10, 0, UINT64_MAX, 20);
	expect("18446744073709551616", 10, -ERANGE, 0, 0);
	expect("184467440737095516150", 10, -ERANGE, 0, 0);
	expect("", 10, -EINVAL, 0, 0);
	expect("a1", 10, -EINVAL, 0, 0);
	expect("-1", 10, -EINVAL, 0, 0);
	expect(" 1", 10, -EINVAL, 0, 0);
	expect("7f-", 16, 0, 0x7F, 2);
	expect("fFg", 16, 0, 0xFF, 2);
	expect("0x1", 16, 0, 0, 1);
	expect("00000ffffffffffffffff", 16, 0, UINT64_MAX, 21);
	expect("10000000000000000", 16, -ERANGE, 0, 0);
	assert_int_equal(digits_read(&at, text + 3, 10, &value), 0); /* not beyond the end */
	assert_int_equal(value, 123);
	assert_true(at == text + 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(written_and_read),
		cmocka_unit_test(texts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
