/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers in texts, digit by digit. Async-signal-safe, and nothing of libc: the runtime uses them,
 * too; where it writes ids it has a faster way, for little endian alone (runtime/core/decimal.h).
 */
#ifndef WEFT_BASE_TEXT_DIGITS_H
#define WEFT_BASE_TEXT_DIGITS_H

#include "base/text/hex.h"

#include <errno.h>
#include <stdint.h>

#define DIGITS_BYTES 20 /* of a number in decimal, at most */

/*
 * digits_read() - the number whose digits begin at *at, which moves behind them. @base: up to 16;
 * letters may be of either case. 0; -EINVAL: there is no digit; -ERANGE: it has more than 64 bits.
 * Then neither is changed.
 */
static inline int digits_read(const char **at, const char *end, unsigned int base, uint64_t *value)
{
	const char *next = *at;
	uint64_t number = 0;

	for (; next < end; next++) {
		unsigned int digit = hex_digit(*next);

		if (digit >= base)
			break;
		if (__builtin_mul_overflow(number, base, &number) ||
		    __builtin_add_overflow(number, digit, &number))
			return -ERANGE;
	}
	if (next == *at)
		return -EINVAL;
	*at = next;
	*value = number;
	return 0;
}

/* In decimal: at most DIGITS_BYTES, which end before @end; returns where they begin. */
static inline char *digits_put_before(char *end, uint64_t number)
{
	do
		*--end = (char)('0' + number % 10);
	while (number /= 10);
	return end;
}

#endif
