/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A cursor over bytes that nobody vouches for. A read past the end sets failed and gives 0;
 * the cursor then stays at the end, so that loops over it stop. Callers look at failed once
 * per value or list, before they believe anything.
 */
#ifndef WEFT_JFR_INPUT_H
#define WEFT_JFR_INPUT_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct input {
	const uint8_t *at, *end;
	uint8_t fixed; /* integers are big endian of full width, not LEB128 */
	uint8_t failed;
};

static inline uint64_t input_fail(struct input *in)
{
	in->failed = 1;
	in->at = in->end;
	return 0;
}

static inline size_t input_left(const struct input *in)
{
	return (size_t)(in->end - in->at);
}

static inline uint8_t input_u8(struct input *in)
{
	return in->at < in->end ? *in->at++ : (uint8_t)input_fail(in);
}

static inline uint64_t input_be(struct input *in, unsigned int bytes)
{
	uint64_t value = 0;

	if (input_left(in) < bytes)
		return input_fail(in);
	while (bytes--)
		value = value << 8 | *in->at++;
	return value;
}

/* Seven bits of each byte of @word, the lowest byte first. */
static inline uint64_t input_gather(uint64_t word)
{
	word &= UINT64_C(0x7F7F7F7F7F7F7F7F);
	word = (word & UINT64_C(0x7F007F007F007F00)) >> 1 | (word & UINT64_C(0x007F007F007F007F));
	word = (word & UINT64_C(0x3FFF00003FFF0000)) >> 2 | (word & UINT64_C(0x00003FFF00003FFF));
	return (word & UINT64_C(0x0FFFFFFF00000000)) >> 4 | (word & UINT64_C(0x000000000FFFFFFF));
}

static inline uint64_t input_leb128(struct input *in)
{
	uint64_t value = 0;

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	if (input_left(in) >= 8) {
		uint64_t word, last;

		memcpy(&word, in->at, 8);
		last = ~word & UINT64_C(0x8080808080808080);
		if (last) { /* all bytes behind the last one are cut off */
			in->at += __builtin_ctzll(last) / 8 + 1;
			return input_gather(word & (last ^ (last - 1)));
		}
	}
#endif

	for (unsigned int shift = 0; shift < 56; shift += 7) {
		uint8_t byte;

		if (in->at == in->end)
			return input_fail(in);
		byte = *in->at++;
		value |= (uint64_t)(byte & 0x7F) << shift;
		if (byte < 0x80)
			return value;
	}
	return value | (uint64_t)input_u8(in) << 56;
}

/* An integer that takes @width bytes in files without compression. */
__attribute__((always_inline)) static inline uint64_t input_int(struct input *in,
								unsigned int width)
{
	if (in->fixed)
		return input_be(in, width);
	if (in->at < in->end && *in->at < 0x80)
		return *in->at++;
	return input_leb128(in);
}

static inline int32_t input_i32(struct input *in)
{
	return (int32_t)(uint32_t)input_int(in, 4);
}

static inline int64_t input_i64(struct input *in)
{
	return (int64_t)input_int(in, 8);
}

/* A count of things that take a byte each at least: never more than there are bytes. */
static inline size_t input_count(struct input *in)
{
	uint64_t count = (uint32_t)input_int(in, 4);

	return count <= input_left(in) ? (size_t)count : (size_t)input_fail(in);
}

static inline const uint8_t *input_bytes(struct input *in, size_t bytes)
{
	const uint8_t *at = in->at;

	if (bytes > input_left(in)) {
		input_fail(in);
		return NULL;
	}
	in->at += bytes;
	return at;
}

#endif
