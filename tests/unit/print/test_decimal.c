/* SPDX-License-Identifier: Apache-2.0 */
/* Description: numbers are written as Java's Double.toString() and String.format() write them. */
#include "print/decimal.h"

#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <stdio.h>

#define ROUNDS 200000

/* As JDK 25 prints them. */
static const struct {
	double value;
	const char *text;
} doubles[] =
	{
		{0.0, "0.0"},
		{-0.0, "-0.0"},
		{1, "1.0"},
		{0.1, "0.1"},
		{0.001, "0.001"},
		{9.999e-4, "9.999E-4"},
		{9999999, "9999999.0"},
		{1e7, "1.0E7"},
		{123456.789, "123456.789"},
		{-1e10, "-1.0E10"},
		{DBL_MAX, "1.7976931348623157E308"},
		{DBL_MIN, "2.2250738585072014E-308"},
		{4.9e-324, "4.9E-324"},
		{2e23, "2.0E23"},
		{2.0000000949949026e-3, "0.0020000000949949026"},
		{NAN, "NaN"},
		{INFINITY, "Infinity"},
		{-INFINITY, "-Infinity"},
},
  floats[] =
	  {
		  {0.1F, "0.1"},         {123456.789F, "123456.79"},
		  {1e10F, "1.0E10"},     {FLT_MAX, "3.4028235E38"},
		  {1.4e-45F, "1.4E-45"}, {0.002F, "0.002"},
},
  fixed2[] = {
	  {0, "0.00"},
	  {-0.0, "-0.00"},
	  {0.125, "0.13"}, /* halves up, where C has the even digit */
	  {0.375, "0.38"},
	  {1.005, "1.01"}, /* of the digits, not of the binary number, which is less */
	  {-0.005, "-0.01"},
	  {9.995, "10.00"},
	  {0.004, "0.00"},
	  {0.0049999, "0.00"},
	  {99.999, "100.00"},
	  {12345.6, "12345.60"},
	  {1e21, "1000000000000000000000.00"},
};

static void known_numbers(void **state)
{
	char text[DECIMAL_ROOM];

	(void)state;
	for (size_t i = 0; i < sizeof(doubles) / sizeof(*doubles); i++) {
		assert_int_equal(decimal_shortest(text, doubles[i].value, 0),
				 strlen(doubles[i].text));
		assert_string_equal(text, doubles[i].text);
	}
	for (size_t i = 0; i < sizeof(floats) / sizeof(*floats); i++) {
		decimal_shortest(text, floats[i].value, 1);
		assert_string_equal(text, floats[i].text);
	}
	for (size_t i = 0; i < sizeof(fixed2) / sizeof(*fixed2); i++) {
		assert_int_equal(decimal_fixed(text, fixed2[i].value, 2), strlen(fixed2[i].text));
		assert_string_equal(text, fixed2[i].text);
	}
	decimal_fixed(text, 2.5, 0);
	assert_string_equal(text, "3");
}

static uint64_t next_random(uint64_t *seed)
{
	*seed = *seed * 6364136223846793005U + 1442695040888963407U;
	return *seed ^ *seed >> 29;
}

static int digits_of(const char *text)
{
	int count = 0, zeros = 0, seen = 0;

	for (; *text && *text != 'E'; text++) {
		if (*text < '0' || *text > '9')
			continue;
		seen |= *text != '0';
		zeros = *text == '0' ? zeros + 1 : 0;
		count += seen;
	}
	return count - zeros > 0 ? count - zeros : 1;
}

/* Any number comes back, and a digit less does not do. */
static void random_numbers_come_back(void **state)
{
	uint64_t seed = 42;
	char text[DECIMAL_ROOM], shorter[64];

	(void)state;
	for (int i = 0; i < ROUNDS; i++) {
		uint64_t bits = next_random(&seed);
		double value;
		int digits;

		memcpy(&value, &bits, sizeof(value));
		if (!isfinite(value))
			continue;
		decimal_shortest(text, value, 0);
		assert_true(strtod(text, NULL) == value);
		digits = digits_of(text);
		if (digits <= 2)
			continue;
		snprintf(shorter, sizeof(shorter), "%.*e", digits - 2, value);
		if (strtod(shorter, NULL) == value)
			fail_msg("%s is longer than %s", text, shorter);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(known_numbers),
		cmocka_unit_test(random_numbers_come_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
