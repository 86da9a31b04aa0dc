/* SPDX-License-Identifier: Apache-2.0 */
/* Texts of a recording, which may be any bytes, code point by code point. */
#ifndef WEFT_BASE_UTF8_H
#define WEFT_BASE_UTF8_H

#include <stddef.h>
#include <stdint.h>

#define UTF8_REPLACEMENT 0xFFFDU

/*
 * The next code point from *at, which moves on, up to @end (*at < @end). What is not UTF-8 gives
 * U+FFFD: one for each longest beginning of a sequence, as Unicode recommends and Java does.
 */
static inline uint32_t utf8_next(const unsigned char **at, const unsigned char *end)
{
	unsigned char first = *(*at)++;
	unsigned int low = 0x80, high = 0xBF, more;
	uint32_t c;

	if (first < 0x80)
		return first;
	if (first < 0xC2 || first > 0xF4)
		return UTF8_REPLACEMENT;
	more = first < 0xE0 ? 1 : first < 0xF0 ? 2 : 3;
	c = first & (0x3FU >> more);
	/* not longer than need be, no surrogates, nothing beyond the last one */
	if (first == 0xE0)
		low = 0xA0;
	else if (first == 0xED)
		high = 0x9F;
	else if (first == 0xF0)
		low = 0x90;
	else if (first == 0xF4)
		high = 0x8F;
	for (; more; more--, low = 0x80, high = 0xBF) {
		if (*at == end || **at < low || **at > high)
			return UTF8_REPLACEMENT;
		c = c << 6 | (*(*at)++ & 0x3FU);
	}
	return c;
}

/* The bytes of a code point, at most four, at @to; returns the place behind them. */
static inline char *utf8_put(char *to, uint32_t c)
{
	if (c < 0x80) {
		*to++ = (char)c;
		return to;
	}
	if (c < 0x800) {
		*to++ = (char)(0xC0 | c >> 6);
	} else {
		if (c < 0x10000) {
			*to++ = (char)(0xE0 | c >> 12);
		} else {
			*to++ = (char)(0xF0 | c >> 18);
			*to++ = (char)(0x80 | (c >> 12 & 0x3F));
		}
		*to++ = (char)(0x80 | (c >> 6 & 0x3F));
	}
	*to++ = (char)(0x80 | (c & 0x3F));
	return to;
}

/* Would a terminal do with @c more than show it: control characters, those that turn the direction
 * of what follows (bidi controls), other ends of lines? */
static inline int utf8_commands(uint32_t c)
{
	return c < 0x20 || (c >= 0x7F && c < 0xA0) || c == 0x061C || c == 0x200E || c == 0x200F ||
	       (c >= 0x2028 && c <= 0x202E) || (c >= 0x2066 && c <= 0x2069);
}

/* The bytes of the character at @at, up to @end (@at < @end); 0: it is none, or utf8_commands(). */
static inline size_t utf8_visible(const unsigned char *at, const unsigned char *end)
{
	const unsigned char *next = at;
	uint32_t c = utf8_next(&next, end);
	size_t bytes = (size_t)(next - at);

	if (utf8_commands(c))
		return 0;
	return c == UTF8_REPLACEMENT && (at[0] != 0xEF || bytes != 3) ? 0 : bytes;
}

#endif
