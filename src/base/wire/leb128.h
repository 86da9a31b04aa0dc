/* SPDX-License-Identifier: Apache-2.0 */
/*
 * LEB128: seven bits in each byte, the lowest first, and bit 7 set in all but the last byte. So
 * DWARF and unwind tables have their integers, and protocol buffers, which call it varint. Ten
 * bytes hold 64 bits; a longer one is refused, as elfutils refuses it.
 *
 * JFR's integers are not these: theirs have nine bytes at most, of which the ninth has eight bits
 * (jfr/common/encode.h and input.h).
 */
#ifndef WEFT_BASE_LEB128_H
#define WEFT_BASE_LEB128_H

#include <errno.h>
#include <stdint.h>

#define LEB128_BYTES 10 /* at most */

/* 0, with *at behind it; -EBADMSG: it is cut off or too long, and neither is changed. */
static inline int leb128_read(const uint8_t **at, const uint8_t *end, uint64_t *value)
{
	const uint8_t *next = *at;
	uint64_t number = 0;

	for (unsigned int shift = 0; next < end && shift < 64; shift += 7) {
		uint8_t byte = *next++;

		number |= (uint64_t)(byte & 0x7F) << shift;
		if (byte & 0x80)
			continue;
		*at = next;
		*value = number;
		return 0;
	}
	return -EBADMSG;
}

/* Likewise; the highest bit that is given is the sign. */
static inline int leb128_read_signed(const uint8_t **at, const uint8_t *end, int64_t *value)
{
	const uint8_t *start = *at;
	uint64_t number = 0;
	unsigned int bits;

	if (leb128_read(at, end, &number))
		return -EBADMSG;
	bits = 7 * (unsigned int)(*at - start);
	if (bits < 64 && (*at)[-1] & 0x40)
		number |= ~UINT64_C(0) << bits;
	*value = (int64_t)number;
	return 0;
}

/* Writes up to LEB128_BYTES; returns what is behind them. */
static inline uint8_t *leb128_put(uint8_t *to, uint64_t value)
{
	for (; value >= 0x80; value >>= 7)
		*to++ = (uint8_t)(value | 0x80);
	*to++ = (uint8_t)value;
	return to;
}

#endif
