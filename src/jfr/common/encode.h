/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JFR's integers and strings, written to a place that is known to have room.
 * Integers are LEB128 of at most nine bytes: eight with seven bits each, and a ninth that
 * carries eight bits and no continuation bit.
 */
#ifndef WEFT_JFR_ENCODE_H
#define WEFT_JFR_ENCODE_H

#include "base/buf.h"

#include <stddef.h>
#include <stdint.h>

#define LEB128_MAX 9

/* First byte of a string. */
enum string_encoding {
	STRING_NULL = 0,
	STRING_EMPTY = 1,
	STRING_POOL = 2,   /* key into the pool of java.lang.String */
	STRING_UTF8 = 3,   /* bytes, data */
	STRING_CHARS = 4,  /* count, UTF-16 units as integers */
	STRING_LATIN1 = 5, /* bytes, data */
};

static inline uint8_t *encode_leb128(uint8_t *to, uint64_t value)
{
	for (int i = 0; i < LEB128_MAX - 1 && value > 0x7F; i++) {
		*to++ = (uint8_t)(value | 0x80);
		value >>= 7;
	}
	*to++ = (uint8_t)value;
	return to;
}

/* Bytes that encode_utf8() will need at most, whatever the text. */
static inline size_t encode_utf8_room(size_t bytes)
{
	return 3 * bytes + LEB128_MAX + 1;
}

/*
 * A string with its encoding byte (STRING_EMPTY or STRING_UTF8). Bytes that are not UTF-8
 * become U+FFFD, so that no reader meets a malformed string.
 */
uint8_t *encode_utf8(uint8_t *to, const char *text, size_t bytes);
void buf_put_leb128(struct buf *b, uint64_t value);
void buf_put_string(struct buf *b, const char *text, size_t bytes);

/* One event: its size, which counts itself, then @body. */
void buf_put_framed(struct buf *b, const struct buf *body);
/* What the bodies of metadata and checkpoints begin with. */
void buf_put_start(struct buf *body, uint64_t type, uint64_t ticks);
/* The metadata event: @tree is its string table and tree. */
void buf_put_metadata(struct buf *b, uint64_t ticks, uint64_t id, const struct buf *tree);

#endif
