/* SPDX-License-Identifier: Apache-2.0 */
/* Strings made safe for every reader, and the frame of an event. */
#include "jfr/common/encode.h"

#include "base/text/utf8.h"
#include "jfr/common/types.h"

#include <string.h>

static const char replacement[] = "\xEF\xBF\xBD";

/* Length of the valid UTF-8 sequence at @p, 0 when there is none. */
static size_t sequence_length(const uint8_t *p, const uint8_t *end)
{
	const uint8_t *at = p;

	if (utf8_next(&at, end) == UTF8_REPLACEMENT &&
	    (at - p != 3 || memcmp(p, replacement, 3) != 0))
		return 0;
	return (size_t)(at - p);
}

/* The bytes of the repaired text, which is written if there is a place for it. */
static size_t encode_repaired(uint8_t *to, const uint8_t *p, size_t bytes)
{
	const uint8_t *end = p + bytes;
	size_t out = 0;

	while (p < end) {
		size_t n = sequence_length(p, end), put = n ? n : 3;

		if (to)
			memcpy(to + out, n ? (const void *)p : replacement, put);
		out += put;
		p += n ? n : 1;
	}
	return out;
}

uint8_t *encode_utf8(uint8_t *to, const char *text, size_t bytes)
{
	const uint8_t *p = (const uint8_t *)text;
	size_t repaired;

	if (!bytes) {
		*to++ = STRING_EMPTY;
		return to;
	}
	*to++ = STRING_UTF8;
	repaired = encode_repaired(NULL, p, bytes);
	to = encode_leb128(to, repaired);
	if (repaired == bytes) /* nothing was wrong: what is replaced gets longer */
		memcpy(to, p, bytes);
	else
		encode_repaired(to, p, bytes);
	return to + repaired;
}

void buf_put_leb128(struct buf *b, uint64_t value)
{
	uint8_t out[LEB128_MAX];

	buf_put(b, out, (size_t)(encode_leb128(out, value) - out));
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

void buf_put_start(struct buf *body, uint64_t type, uint64_t ticks)
{
	buf_put_leb128(body, type);
	buf_put_leb128(body, ticks);
	buf_put_leb128(body, 0); /* duration */
}

void buf_put_metadata(struct buf *b, uint64_t ticks, uint64_t id, const struct buf *tree)
{
	struct buf body = {0};

	buf_put_start(&body, TYPE_METADATA, ticks);
	buf_put_leb128(&body, id);
	buf_put(&body, tree->data, tree->size);
	buf_put_framed(b, &body);
	buf_free(&body);
}
