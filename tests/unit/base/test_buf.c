/* SPDX-License-Identifier: Apache-2.0 */
/* Description: the byte buffer grows without losing bytes; both varints encode as specified. */
#include "base/buf.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static void keeps_every_byte(void **state)
{
	struct buf b = {0};

	(void)state;
	for (unsigned int i = 0; i < 100000; i++)
		buf_put_u8(&b, (uint8_t)(i * 7));
	assert_int_equal(b.failed, 0);
	assert_int_equal(b.size, 100000);
	for (unsigned int i = 0; i < 100000; i++)
		assert_int_equal(b.data[i], (uint8_t)(i * 7));
	buf_clear(&b);
	assert_int_equal(b.size, 0);
	buf_free(&b);
	assert_null(b.data);
}

static void remembers_failure(void **state)
{
	struct buf b = {0};

	(void)state;
	buf_put_u8(&b, 1);
	assert_null(buf_reserve(&b, SIZE_MAX));
	buf_put_u8(&b, 2);
	assert_int_equal(b.failed, 1);
	assert_int_equal(b.size, 1);
	buf_free(&b);
}

static void big_endian(void **state)
{
	static const uint8_t want[] = {0x01, 0x02, 0x03, 0x04, 0xAB, 0xCD};
	struct buf b = {0};

	(void)state;
	buf_put_be(&b, 0x01020304, 4);
	buf_put_be(&b, 0xABCD, 2);
	assert_int_equal(b.size, sizeof(want));
	assert_memory_equal(b.data, want, sizeof(want));
	buf_free(&b);
}

struct vector {
	uint64_t value;
	size_t bytes;
	uint8_t want[10];
};

static void check_vectors(void (*put)(struct buf *, uint64_t), const struct vector *v, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct buf b = {0};

		put(&b, v[i].value);
		assert_int_equal(b.size, v[i].bytes);
		assert_memory_equal(b.data, v[i].want, v[i].bytes);
		buf_free(&b);
	}
}

static void leb128_of_jfr(void **state)
{
	static const struct vector v[] = {
		{0, 1, {0}},
		{127, 1, {0x7F}},
		{128, 2, {0x80, 0x01}},
		{(UINT64_C(1) << 56) - 1, 8, {255, 255, 255, 255, 255, 255, 255, 0x7F}},
		{UINT64_C(1) << 56, 9, {128, 128, 128, 128, 128, 128, 128, 128, 0x01}},
		{UINT64_MAX, 9, {255, 255, 255, 255, 255, 255, 255, 255, 255}},
	};

	(void)state;
	check_vectors(buf_put_leb128, v, sizeof(v) / sizeof(v[0]));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keeps_every_byte),
		cmocka_unit_test(remembers_failure),
		cmocka_unit_test(big_endian),
		cmocka_unit_test(leb128_of_jfr),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
