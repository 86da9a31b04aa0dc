/* SPDX-License-Identifier: Apache-2.0 */
/* Strings made safe for every reader, and the frame of an event. */
#include "jfr/common/encode.h"

#include <string.h>

/* Length of the valid UTF-8 sequence at @p, 0 when there is none (RFC 3629, section 4). */
static size_t sequence_length(const uint8_t *p, size_t room)
{
	uint8_t low = 0x80, high = 0xBF;
	size_t n;

	if (p[0] < 0x80)
		return 1;
	if (p[0] >= 0xC2 && p[0] <= 0xDF)
		n = 2;
	else if ((p[0] & 0xF0) == 0xE0)
		n = 3;
	else if (p[0] >= 0xF0 && p[0] <= 0xF4)
		n = 4;
	else
		return 0;
	if (p[0] == 0xE0)
		low = 0xA0;
	else if (p[0] == 0xED)
		high = 0x9F;
	else if (p[0] == 0xF0)
		low = 0x90;
	else if (p[0] == 0xF4)
		high = 0x8F;
	if (n > room || p[1] < low || p[1] > high)
		return 0;
	for (size_t i = 2; i < n; i++)
		if ((p[i] & 0xC0) != 0x80)
			return 0;
	return n;
}

static size_t valid_prefix(const uint8_t *p, size_t bytes)
{
	size_t at = 0;

	while (at < bytes) {
		size_t n = sequence_length(p + at, bytes - at);

		if (!n)
			break;
		at += n;
	}
	return at;
}

static size_t repaired_length(const uint8_t *p, size_t bytes)
{
	size_t at = 0, out = 0;

	while (at < bytes) {
		size_t n = sequence_length(p + at, bytes - at);

		out += n ? n : 3;
		at += n ? n : 1;
	}
	return out;
}

static uint8_t *put_repaired(uint8_t *to, const uint8_t *p, size_t bytes)
{
	size_t at = 0;

	while (at < bytes) {
		size_t n = sequence_length(p + at, bytes - at);

		memcpy(to, n ? (const void *)(p + at) : "\xEF\xBF\xBD", n ? n : 3);
		to += n ? n : 3;
		at += n ? n : 1;
	}
	return to;
}

uint8_t *encode_utf8(uint8_t *to, const char *text, size_t bytes)
{
	const uint8_t *p = (const uint8_t *)text;

	if (!bytes) {
		*to++ = STRING_EMPTY;
		return to;
	}
	*to++ = STRING_UTF8;
	if (valid_prefix(p, bytes) == bytes) {
		to = encode_leb128(to, bytes);
		memcpy(to, p, bytes);
		return to + bytes;
	}
	to = encode_leb128(to, repaired_length(p, bytes));
	return put_repaired(to, p, bytes);
}

void buf_put_string(struct buf *b, const char *text, size_t bytes)
{
	uint8_t *to = buf_reserve(b, encode_utf8_room(bytes));

	if (to)
		b->size += (size_t)(encode_utf8(to, text, bytes) - to);
}

void buf_put_framed(struct buf *b, const struct buf *body)
{
	unsigned int length = 1;

	if (body->failed)
		b->failed = 1;
	while ((body->size + length) >> (7 * length))
		length++;
	buf_put_leb128(b, body->size + length);
	buf_put(b, body->data, body->size);
}
