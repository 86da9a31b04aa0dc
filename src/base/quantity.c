/* SPDX-License-Identifier: Apache-2.0 */
/* One parser of "number unit", with a table of units for each quantity. */
#include "base/quantity.h"

#include "base/text/digits.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#define FRACTION_DIGITS 9
#define FRACTION_ONE UINT64_C(1000000000)

struct unit {
	const char *name; /* NULL ends the table */
	uint64_t scale;
};

struct decimal {
	uint64_t whole;
	uint64_t fraction; /* of FRACTION_ONE; further digits are dropped */
};

static int read_whole(const char **text, uint64_t *out)
{
	return digits_read(text, *text + strlen(*text), 10, out);
}

static int read_decimal(const char **text, struct decimal *out)
{
	uint64_t place = FRACTION_ONE;
	int err = read_whole(text, &out->whole);

	out->fraction = 0;
	if (err || **text != '.')
		return err;
	++*text;
	if (hex_digit(**text) > 9)
		return -EINVAL;
	for (; hex_digit(**text) < 10; ++*text) {
		place /= 10;
		out->fraction += place * (uint64_t)(**text - '0');
	}
	return 0;
}

static int scale_up(const struct decimal *value, uint64_t scale, uint64_t *out)
{
	/* fraction < 2^30 and scale < 2^43: split the scale so that no product overflows */
	uint64_t high = value->fraction * (scale / FRACTION_ONE);
	uint64_t low = value->fraction * (scale % FRACTION_ONE) / FRACTION_ONE;
	uint64_t whole;

	if (__builtin_mul_overflow(value->whole, scale, &whole) ||
	    __builtin_add_overflow(whole, high + low, &whole))
		return -ERANGE;
	*out = whole;
	return 0;
}

static int read_quantity(const char *text, const struct unit *units, uint64_t *out)
{
	struct decimal value;
	int err = read_decimal(&text, &value);

	if (err)
		return err;
	for (; units->name; units++)
		if (!strcmp(text, units->name))
			return scale_up(&value, units->scale, out);
	return -EINVAL;
}

int quantity_count(const char *text, uint64_t *out)
{
	uint64_t whole;
	int err = read_whole(&text, &whole);

	if (err)
		return err;
	if (*text)
		return -EINVAL;
	*out = whole;
	return 0;
}

int quantity_bytes(const char *text, uint64_t *out)
{
	static const struct unit units[] = {
		{"", 1},
		{"B", 1},
		{"K", UINT64_C(1) << 10},
		{"KiB", UINT64_C(1) << 10},
		{"k", UINT64_C(1) << 10},
		{"M", UINT64_C(1) << 20},
		{"MiB", UINT64_C(1) << 20},
		{"m", UINT64_C(1) << 20},
		{"G", UINT64_C(1) << 30},
		{"GiB", UINT64_C(1) << 30},
		{"g", UINT64_C(1) << 30},
		{"T", UINT64_C(1) << 40},
		{"TiB", UINT64_C(1) << 40},
		{NULL, 0},
	};

	return read_quantity(text, units, out);
}

int quantity_time_ns(const char *text, uint64_t *out)
{
	static const struct unit units[] = {
		{"", UINT64_C(1000000000)},
		{"ns", 1},
		{"us", 1000},
		{"ms", 1000000},
		{"s", UINT64_C(1000000000)},
		{"m", UINT64_C(60000000000)},
		{"min", UINT64_C(60000000000)},
		{"h", UINT64_C(3600000000000)},
		{NULL, 0},
	};

	return read_quantity(text, units, out);
}

int quantity_rate_mhz(const char *text, uint64_t *out)
{
	static const struct unit units[] = {
		{"", 1000},       {"Hz", 1000},     {"hz", 1000}, {"k", 1000000},
		{"kHz", 1000000}, {"khz", 1000000}, {NULL, 0},
	};

	return read_quantity(text, units, out);
}
