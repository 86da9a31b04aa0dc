/* SPDX-License-Identifier: Apache-2.0 */
/* Hexadecimal digits. Async-signal-safe, and nothing of libc: the runtime uses them, too. */
#ifndef WEFT_BASE_TEXT_HEX_H
#define WEFT_BASE_TEXT_HEX_H

#include <stddef.h>
#include <stdint.h>

/* What a digit in either case is worth; above 15: it is none. */
static inline unsigned int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return (unsigned int)(c - '0');
	c |= 'a' - 'A';
	return c >= 'a' && c <= 'f' ? (unsigned int)(c - 'a') + 10 : UINT32_MAX;
}

/* @bytes as 2 * @count digits in lower case at @to, without NUL. Returns what is behind them. */
static inline char *hex_put(char *to, const void *bytes, size_t count)
{
	static const char digits[] = "0123456789abcdef";
	const uint8_t *from = (const uint8_t *)bytes;

	for (size_t i = 0; i < count; i++) {
		*to++ = digits[from[i] >> 4];
		*to++ = digits[from[i] & 15];
	}
	return to;
}

#endif
