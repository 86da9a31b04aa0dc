/* SPDX-License-Identifier: Apache-2.0 */
/* Latin-1 and UTF-16 become UTF-8; unpaired surrogates become U+FFFD. */
#include "jfr/common/text.h"

#include "base/text/utf8.h"
#include "jfr/common/encode.h"

static struct weft_jfr_string from_latin1(struct input *in, size_t count, struct arena *memory)
{
	const uint8_t *from = input_bytes(in, count);
	size_t high = 0;
	char *out, *to;

	for (size_t i = 0; from && i < count; i++)
		high += from[i] >> 7;
	if (!from || !high)
		return (struct weft_jfr_string){(const char *)from, from ? count : 0};
	out = to = arena_alloc(memory, count + high);
	if (!out) {
		input_fail(in);
		return (struct weft_jfr_string){0};
	}
	for (size_t i = 0; i < count; i++)
		to = utf8_put(to, from[i]);
	return (struct weft_jfr_string){out, (size_t)(to - out)};
}

static uint32_t next_unit(struct input *in)
{
	return (uint16_t)input_int(in, 2);
}

static struct weft_jfr_string from_chars(struct input *in, size_t count, struct arena *memory)
{
	char *out = arena_alloc(memory, 3 * count + 1), *to = out;

	if (!out) {
		input_fail(in);
		return (struct weft_jfr_string){0};
	}
	while (count--) {
		uint32_t c = next_unit(in);

		if (c >= 0xD800 && c < 0xDC00 && count) {
			struct input ahead = *in;
			uint32_t low = next_unit(&ahead);

			if (low >= 0xDC00 && low < 0xE000) {
				*in = ahead;
				count--;
				c = 0x10000 + ((c - 0xD800) << 10) + (low - 0xDC00);
			}
		}
		if (c >= 0xD800 && c < 0xE000)
			c = UTF8_REPLACEMENT;
		to = utf8_put(to, c);
	}
	return (struct weft_jfr_string){out, (size_t)(to - out)};
}

struct weft_jfr_string text_read(struct input *in, uint8_t encoding, struct arena *memory)
{
	size_t count;
	const uint8_t *from;

	if (encoding == STRING_EMPTY)
		return (struct weft_jfr_string){"", 0};
	count = input_count(in);
	switch (encoding) {
	case STRING_UTF8:
		from = input_bytes(in, count);
		return (struct weft_jfr_string){(const char *)from, from ? count : 0};
	case STRING_CHARS:
		return from_chars(in, count, memory);
	case STRING_LATIN1:
		return from_latin1(in, count, memory);
	}
	input_fail(in);
	return (struct weft_jfr_string){0};
}

void text_skip(struct input *in, uint8_t encoding)
{
	switch (encoding) {
	case STRING_NULL:
	case STRING_EMPTY:
		return;
	case STRING_POOL:
		input_i64(in);
		return;
	case STRING_UTF8:
	case STRING_LATIN1:
		input_bytes(in, input_count(in));
		return;
	case STRING_CHARS:
		for (size_t count = input_count(in); count && !in->failed; count--)
			next_unit(in);
		return;
	}
	input_fail(in);
}
