/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers in texts. A u64 in decimal is written eight digits at a time by arithmetic on a word
 * whose bytes are the digits: no loop, and no division of 64 bits except by constants. Source of
 * the technique: "SIMD within a register". Little endian.
 */
#ifndef WEFT_RUNTIME_DECIMAL_H
#define WEFT_RUNTIME_DECIMAL_H

#include <stdint.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the first digit is the lowest byte");

#define DECIMAL_BYTES 24 /* room that a caller must have; at most 20 bytes are digits */
#define DECIMAL_BLOCK UINT64_C(100000000)
#define DECIMAL_ZEROS UINT64_C(0x3030303030303030)

/* @value < 10^8: its eight digits, 0 .. 9, the first in the lowest byte. */
static inline uint64_t decimal_digits(uint32_t value)
{
	uint64_t fours = value / 10000 | (uint64_t)(value % 10000) << 32;
	uint64_t hundreds = (fours * 10486 >> 20) & UINT64_C(0x0000007F0000007F);
	uint64_t twos = hundreds | (fours - 100 * hundreds) << 16;
	uint64_t tens = (twos * 103 >> 10) & UINT64_C(0x000F000F000F000F);

	return tens | (twos - 10 * tens) << 8;
}

static inline void decimal_store(unsigned char *to, uint64_t digits)
{
	__builtin_memcpy(to, &digits, sizeof(digits));
}

/* Writes @value < 10^8 without leading zeros, at least one digit; returns how many. */
static inline unsigned int decimal_first(unsigned char *to, uint32_t value)
{
	uint64_t digits = decimal_digits(value);
	unsigned int zeros = digits ? (unsigned int)__builtin_ctzll(digits) / 8 : 7;

	decimal_store(to, (digits | DECIMAL_ZEROS) >> 8 * zeros);
	return 8 - zeros;
}

static inline unsigned int decimal_next(unsigned char *to, unsigned int at, uint32_t value)
{
	decimal_store(to + at, decimal_digits(value) | DECIMAL_ZEROS);
	return at + 8;
}

/* Sixteen digits: @high and @low < 10^8. */
#ifdef __SSE2__
static inline unsigned int decimal_sixteen(unsigned char *to, unsigned int at, uint32_t high,
					   uint32_t low)
{
	uint64_t a = high / 10000 | (uint64_t)(high % 10000) << 32;
	uint64_t b = low / 10000 | (uint64_t)(low % 10000) << 32;
	__m128i fours = _mm_set_epi64x((long long)b, (long long)a), twos, tens;
	__m128i hundreds = _mm_srli_epi16(_mm_mulhi_epu16(fours, _mm_set1_epi16(5243)), 3);

	twos = _mm_sub_epi16(fours, _mm_mullo_epi16(hundreds, _mm_set1_epi16(100)));
	twos = _mm_or_si128(hundreds, _mm_slli_epi32(twos, 16));
	tens = _mm_mulhi_epu16(twos, _mm_set1_epi16(6554));
	twos = _mm_sub_epi16(twos, _mm_mullo_epi16(tens, _mm_set1_epi16(10)));
	twos = _mm_or_si128(tens, _mm_slli_epi16(twos, 8));
	_mm_storeu_si128((__m128i *)(void *)(to + at), _mm_or_si128(twos, _mm_set1_epi8('0')));
	return at + 16;
}
#else
static inline unsigned int decimal_sixteen(unsigned char *to, unsigned int at, uint32_t high,
					   uint32_t low)
{
	return decimal_next(to, decimal_next(to, at, high), low);
}
#endif

/* Writes @value to @to, DECIMAL_BYTES long; returns the number of digits. */
static inline unsigned int decimal_write(unsigned char *to, uint64_t value)
{
	uint64_t blocks = value / DECIMAL_BLOCK;
	uint32_t last = (uint32_t)(value % DECIMAL_BLOCK);
	unsigned int at;

	if (!blocks)
		return decimal_first(to, last);
	if (blocks < DECIMAL_BLOCK) {
		at = decimal_first(to, (uint32_t)blocks);
		return decimal_next(to, at, last);
	}
	at = decimal_first(to, (uint32_t)(blocks / DECIMAL_BLOCK));
	return decimal_sixteen(to, at, (uint32_t)(blocks % DECIMAL_BLOCK), last);
}

/* The number at *@at, which moves behind it; 0: none is there. @base: 10, or 16 (in small letters).
 */
static inline uint64_t number_parse(const char **at, unsigned int base)
{
	uint64_t value = 0;

	for (;; ++*at) {
		char c = **at;
		unsigned int digit = c >= '0' && c <= '9'   ? (unsigned int)(c - '0')
				     : c >= 'a' && c <= 'f' ? (unsigned int)(c - 'a' + 10)
							    : base;

		if (digit >= base)
			return value;
		value = value * base + digit;
	}
}

#endif
