/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON written as it comes, for output that may be larger than memory; what is small is made with
 * jansson. Separators and indentation come by themselves. Errors stay in the sink.
 *
 * Each value is given its key, or NULL as an element of an array, behind json_write_made_key(),
 * and as the root. Keys are words of our own that need no escape.
 */
#ifndef WEFT_BASE_JSON_WRITE_H
#define WEFT_BASE_JSON_WRITE_H

#include "base/text/sink.h"

/* How the members of an object or of an array are set. */
struct json_shape {
	const char *comma;
	const char *colon;
	int has_lines;   /* a member a line, indented by the writer's step */
	int opens_empty; /* one without members has its lines, too */
};

extern const struct json_shape json_shape_flat;   /* {"a":1,"b":2} */
extern const struct json_shape json_shape_spaced; /* {"a": 1, "b": 2} */
extern const struct json_shape json_shape_lines;  /* a member a line, {} and [] without members */

struct json_writer {
	struct sink *s;
	/* May be changed between members, when put back before the end of what they are in. */
	const struct json_shape *object, *array;
	size_t step, indent; /* columns of a level, and of this one */
	int has_member;      /* where the next one comes to stand, there is one already */
	int is_placed;       /* the next value needs no separator */
};

/* Another root begins, at the indentation that is. */
void json_write_root(struct json_writer *w);
void json_write_object(struct json_writer *w, const char *key);
void json_write_object_end(struct json_writer *w);
void json_write_array(struct json_writer *w, const char *key);
void json_write_array_end(struct json_writer *w);

/* A key with its quotes and colon, made by json_write_quoted() before. */
void json_write_made_key(struct json_writer *w, const char *text, size_t bytes);
/* @text is JSON. */
void json_write_made(struct json_writer *w, const char *key, const char *text, size_t bytes);
void json_write_uint(struct json_writer *w, const char *key, uint64_t number);
void json_write_int(struct json_writer *w, const char *key, int64_t number);
void json_write_bool(struct json_writer *w, const char *key, int value);
void json_write_null(struct json_writer *w, const char *key);
/* A string of plain words: no quote, no backslash, no control character, UTF-8. */
void json_write_plain(struct json_writer *w, const char *key, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* @prefix, then the bytes in hex, as a string. */
void json_write_hex(struct json_writer *w, const char *key, const char *prefix,
		    const uint8_t *bytes, size_t count);
/* Any bytes, in ASCII, as the JDK's tools escape them. */
void json_write_ascii(struct json_writer *w, const char *key, const char *data, size_t bytes);

/* Other people's text up to its NUL: UTF-8 as it is, what is none is read as Latin-1, byte for
 * byte. NULL is null. */
void json_write_text(struct json_writer *w, const char *key, const char *text);

/* One character, and a whole string, as json_write_ascii() has them, without separators. */
void json_write_character(struct sink *s, uint32_t c);
void json_write_quoted(struct sink *s, const char *data, size_t bytes);

#endif
