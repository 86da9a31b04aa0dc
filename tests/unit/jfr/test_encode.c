/* SPDX-License-Identifier: Apache-2.0 */
/* Description: numbers are encoded as JFR has them. */
#include "jfr/common/encode.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

struct vector {
	uint64_t value;
	size_t bytes;
	uint8_t want[10];
};

static void check_vectors(const struct vector *v, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct buf b = {0};

		buf_put_leb128(&b, v[i].value);
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
	check_vectors(v, sizeof(v) / sizeof(v[0]));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(leb128_of_jfr),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
