/* SPDX-License-Identifier: Apache-2.0 */
/* The shortest digits are found by printing with more and more of them: see decimal.h. */
#include "print/decimal.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_DIGITS 17

/* 0.DIGITS times ten to the power of exponent. */
struct digits {
	int negative, count, exponent;
	char digit[MOST_DIGITS + 1];
};

static int gives_back(const char *text, double value, int is_float)
{
	if (is_float)
		return strtof(text, NULL) == (float)value;
	return strtod(text, NULL) == value;
}

/* "d.ddde+xx" taken apart, without the zeros at its end. */
static void take_apart(struct digits *d, const char *text)
{
	const char *e = strchr(text, 'e');

	d->count = 0;
	for (const char *c = text; c < e; c++)
		if (*c >= '0' && *c <= '9' && d->count < MOST_DIGITS)
			d->digit[d->count++] = *c;
	while (d->count > 1 && d->digit[d->count - 1] == '0')
		d->count--;
	d->exponent = (int)strtol(e + 1, NULL, 10) + 1;
}

/*
 * Normal numbers of up to 15 digits (floats: 6) come back from exactly that many, so one try
 * finds all of them; others need one or two more. Subnormal ones have fewer good digits.
 */
static struct digits shortest(double value, int is_float)
{
	double least = is_float ? (double)FLT_MIN : DBL_MIN;
	int places = is_float ? FLT_DIG : DBL_DIG;
	struct digits d = {.negative = signbit(value) != 0, .count = 1, .digit = "0"};
	char text[40];

	value = fabs(value);
	if (value == 0) {
		d.exponent = 1;
		return d;
	}
	if (value < least)
		places = 2;
	for (;; places++) {
		snprintf(text, sizeof(text), "%.*e", places - 1, value);
		if (places >= MOST_DIGITS || gives_back(text, value, is_float))
			break;
	}
	take_apart(&d, text);
	return d;
}

static size_t decimal_put_special(char *out, double value)
{
	const char *text = isnan(value) ? "NaN" : value > 0 ? "Infinity" : "-Infinity";

	strcpy(out, text);
	return strlen(text);
}

static char digit_at(const struct digits *d, int index)
{
	return index >= 0 && index < d->count ? d->digit[index] : '0';
}

static char *put_plain(char *to, const struct digits *d)
{
	int last = d->count > d->exponent + 1 ? d->count : d->exponent + 1;

	if (d->exponent <= 0) {
		*to++ = '0';
		*to++ = '.';
		for (int i = d->exponent; i < d->count; i++)
			*to++ = digit_at(d, i);
		return to;
	}
	for (int i = 0; i < last; i++) {
		if (i == d->exponent)
			*to++ = '.';
		*to++ = digit_at(d, i);
	}
	return to;
}

static char *put_scientific(char *to, const struct digits *d)
{
	*to++ = d->digit[0];
	*to++ = '.';
	for (int i = 1; i < (d->count > 2 ? d->count : 2); i++)
		*to++ = digit_at(d, i);
	return to + sprintf(to, "E%d", d->exponent - 1);
}

size_t decimal_shortest(char out[DECIMAL_ROOM], double value, int is_float)
{
	struct digits d;
	char *to = out;

	if (!isfinite(value))
		return decimal_put_special(out, value);
	d = shortest(value, is_float);
	if (d.negative)
		*to++ = '-';
	/* 1e-3 is 0.1 times ten to the power of -2 */
	if (value == 0 || (d.exponent >= -2 && d.exponent <= 7))
		to = put_plain(to, &d);
	else
		to = put_scientific(to, &d);
	*to = 0;
	return (size_t)(to - out);
}

/* Halves up, at the @keep-th digit. */
static void round_to(struct digits *d, int keep)
{
	int up;

	if (keep >= d->count)
		return;
	up = keep >= 0 && d->digit[keep] >= '5';
	d->count = keep > 0 ? keep : 0;
	while (up && d->count && d->digit[d->count - 1] == '9')
		d->count--;
	if (up && d->count) {
		d->digit[d->count - 1]++;
	} else if (up) {
		d->digit[d->count++] = '1';
		d->exponent++;
	}
}

size_t decimal_fixed(char out[DECIMAL_ROOM], double value, int places)
{
	struct digits d;
	char *to = out;

	if (!isfinite(value))
		return decimal_put_special(out, value);
	d = shortest(value, 0);
	round_to(&d, d.exponent + places);
	if (d.negative)
		*to++ = '-';
	if (d.exponent <= 0)
		*to++ = '0';
	for (int i = 0; i < d.exponent; i++)
		*to++ = digit_at(&d, i);
	if (places)
		*to++ = '.';
	for (int i = 0; i < places; i++)
		*to++ = digit_at(&d, d.exponent + i);
	*to = 0;
	return (size_t)(to - out);
}

int64_t decimal_cast(double value)
{
	if (value >= 9223372036854775807.0)
		return INT64_MAX;
	if (value <= -9223372036854775808.0)
		return INT64_MIN;
	return (int64_t)value;
}
