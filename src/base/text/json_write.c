/* SPDX-License-Identifier: Apache-2.0 */
#include "base/text/json_write.h"

#include "base/text/hex.h"
#include "base/text/utf8.h"

#include <stdarg.h>
#include <stdio.h>

const struct json_shape json_shape_flat = {.comma = ",", .colon = ":"};
const struct json_shape json_shape_spaced = {.comma = ", ", .colon = ": "};
const struct json_shape json_shape_lines = {.comma = ",", .colon = ": ", .has_lines = 1};

/* ---- where values stand */

static void json_write_line(struct json_writer *w)
{
	sink_char(w->s, '\n');
	sink_spaces(w->s, w->indent);
}

static void json_write_separator(struct json_writer *w, const struct json_shape *shape)
{
	for (const char *c = shape->comma; w->has_member && *c; c++)
		sink_char(w->s, *c);
	if (shape->has_lines && (w->has_member || !shape->opens_empty))
		json_write_line(w);
	w->has_member = 1;
}

/* In one piece: a trace has six or more an event. */
static void json_write_key(struct json_writer *w, const char *key)
{
	size_t bytes = strlen(key);
	char *at = sink_room(w->s, bytes + 2);

	if (!at)
		return;
	at[0] = '"';
	for (size_t i = 0; i < bytes; i++)
		at[i + 1] = key[i];
	at[bytes + 1] = '"';
	w->s->used += bytes + 2;
	for (const char *c = w->object->colon; *c; c++)
		sink_char(w->s, *c);
}

static void json_write_place(struct json_writer *w, const char *key)
{
	if (key) {
		json_write_separator(w, w->object);
		json_write_key(w, key);
	} else if (!w->is_placed) {
		json_write_separator(w, w->array);
	}
	w->is_placed = 0;
}

static void json_write_begin(struct json_writer *w, const struct json_shape *shape, char bracket)
{
	sink_char(w->s, bracket);
	w->has_member = 0;
	if (!shape->has_lines)
		return;
	w->indent += w->step;
	if (shape->opens_empty)
		json_write_line(w);
}

static void json_write_end(struct json_writer *w, const struct json_shape *shape, char bracket)
{
	if (shape->has_lines)
		w->indent -= w->step;
	if (shape->has_lines && (w->has_member || shape->opens_empty))
		json_write_line(w);
	sink_char(w->s, bracket);
	w->has_member = 1;
}

void json_write_root(struct json_writer *w)
{
	w->is_placed = 1;
}

void json_write_object(struct json_writer *w, const char *key)
{
	json_write_place(w, key);
	json_write_begin(w, w->object, '{');
}

void json_write_object_end(struct json_writer *w)
{
	json_write_end(w, w->object, '}');
}

void json_write_array(struct json_writer *w, const char *key)
{
	json_write_place(w, key);
	json_write_begin(w, w->array, '[');
}

void json_write_array_end(struct json_writer *w)
{
	json_write_end(w, w->array, ']');
}

/* ---- values */

void json_write_made_key(struct json_writer *w, const char *text, size_t bytes)
{
	json_write_separator(w, w->object);
	sink_put(w->s, text, bytes);
	w->is_placed = 1;
}

void json_write_made(struct json_writer *w, const char *key, const char *text, size_t bytes)
{
	json_write_place(w, key);
	sink_put(w->s, text, bytes);
}

void json_write_uint(struct json_writer *w, const char *key, uint64_t number)
{
	json_write_place(w, key);
	sink_unsigned(w->s, number);
}

void json_write_int(struct json_writer *w, const char *key, int64_t number)
{
	json_write_place(w, key);
	sink_number(w->s, number);
}

void json_write_bool(struct json_writer *w, const char *key, int value)
{
	json_write_place(w, key);
	sink_text(w->s, value ? "true" : "false");
}

void json_write_null(struct json_writer *w, const char *key)
{
	json_write_place(w, key);
	sink_text(w->s, "null");
}

void json_write_plain(struct json_writer *w, const char *key, const char *format, ...)
{
	char text[512];
	va_list list;

	va_start(list, format);
	vsnprintf(text, sizeof(text), format, list);
	va_end(list);
	json_write_place(w, key);
	sink_char(w->s, '"');
	sink_text(w->s, text);
	sink_char(w->s, '"');
}

void json_write_hex(struct json_writer *w, const char *key, const char *prefix,
		    const uint8_t *bytes, size_t count)
{
	char *at;

	json_write_place(w, key);
	sink_char(w->s, '"');
	sink_text(w->s, prefix);
	at = sink_room(w->s, 2 * count + 1);
	if (!at)
		return;
	*hex_put(at, bytes, count) = '"';
	w->s->used += 2 * count + 1;
}

void json_write_ascii(struct json_writer *w, const char *key, const char *data, size_t bytes)
{
	json_write_place(w, key);
	json_write_quoted(w->s, data, bytes);
}

/* ---- characters */

static int json_write_is_plain(uint32_t c)
{
	return c >= 0x20 && c <= 0x7F && c != '"' && c != '\\' && c != '/';
}

static void json_write_unit(struct sink *s, uint32_t unit)
{
	const uint8_t bytes[2] = {(uint8_t)(unit >> 8), (uint8_t)unit};
	char text[6] = {'\\', 'u'};

	hex_put(text + 2, bytes, sizeof(bytes));
	sink_put(s, text, sizeof(text));
}

void json_write_character(struct sink *s, uint32_t c)
{
	static const char names[] = "btnvfr"; /* from 8; there is no \v */

	if (json_write_is_plain(c)) {
		sink_char(s, (char)c);
	} else if (c == '"' || c == '\\' || c == '/') {
		sink_char(s, '\\');
		sink_char(s, (char)c);
	} else if (c >= 8 && c <= 13 && c != 11) {
		sink_char(s, '\\');
		sink_char(s, names[c - 8]);
	} else if (c > 0xFFFF) {
		json_write_unit(s, 0xD800 + ((c - 0x10000) >> 10));
		json_write_unit(s, 0xDC00 + ((c - 0x10000) & 0x3FF));
	} else {
		json_write_unit(s, c);
	}
}

void json_write_quoted(struct sink *s, const char *data, size_t bytes)
{
	const unsigned char *at = (const unsigned char *)data, *end = at + bytes;

	sink_char(s, '"');
	while (at < end) {
		const unsigned char *run = at;

		while (at < end && json_write_is_plain(*at))
			at++;
		sink_put(s, (const char *)run, (size_t)(at - run));
		if (at < end)
			json_write_character(s, utf8_next(&at, end));
	}
	sink_char(s, '"');
}

/* ---- text */

static int json_write_is_utf8(const char *text)
{
	const unsigned char *at = (const unsigned char *)text, *end = at + strlen(text);

	while (at < end) {
		const unsigned char *first = at;

		/* U+FFFD itself begins with 0xEF and has three bytes */
		if (utf8_next(&at, end) == UTF8_REPLACEMENT && (*first != 0xEF || at - first != 3))
			return 0;
	}
	return 1;
}

/* A character of a text that is UTF-8, from *at, which moves on. */
static void json_write_text_point(struct sink *s, const char **at, const char *end)
{
	const unsigned char *next = (const unsigned char *)*at;
	uint32_t c = utf8_next(&next, (const unsigned char *)end);

	if (utf8_commands(c))
		json_write_unit(s, c);
	else
		sink_put(s, *at, (size_t)((const char *)next - *at));
	*at = (const char *)next;
}

static void json_write_text_byte(struct sink *s, unsigned char c)
{
	if (c < 0x20 && !strchr("\b\t\n\f\r", c)) {
		sink_put(s, c < 0x10 ? "\\u000" : "\\u001", 5);
		sink_char(s, "0123456789ABCDEF"[c & 15]);
	} else if (c < 0x20 || c == '"' || c == '\\') {
		json_write_character(s, c);
	} else if (c < 0x7F) {
		sink_char(s, (char)c);
	} else if (utf8_commands(c)) {
		json_write_unit(s, c);
	} else {
		sink_char(s, (char)(0xC0 | c >> 6));
		sink_char(s, (char)(0x80 | (c & 0x3F)));
	}
}

void json_write_text(struct json_writer *w, const char *key, const char *text)
{
	int is_utf8 = text && json_write_is_utf8(text);
	const char *end = text ? text + strlen(text) : NULL;

	if (!text) {
		json_write_null(w, key);
		return;
	}
	json_write_place(w, key);
	sink_char(w->s, '"');
	while (text < end)
		if (is_utf8 && (unsigned char)*text >= 0x7F)
			json_write_text_point(w->s, &text, end);
		else
			json_write_text_byte(w->s, (unsigned char)*text++);
	sink_char(w->s, '"');
}
