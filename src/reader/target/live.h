/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A live context: what one format says of one thread at one moment, copied out of the process.
 * Texts are bytes of their own length, neither terminated nor checked.
 */
#ifndef WEFT_READER_LIVE_H
#define WEFT_READER_LIVE_H

#include "base/buf.h"

#include <stddef.h>
#include <stdint.h>

enum live_abi { LIVE_WEFT, LIVE_OTEL, LIVE_CUSTOM_LABELS, LIVE_NODEJS, LIVE_GO, LIVE_ABI_COUNT };

enum live_flag {
	LIVE_TORN = 1 << 0,  /* it changed during each attempt to read it: nothing else is set */
	LIVE_CUT = 1 << 1,   /* there was more than a reader takes */
	LIVE_TRACE = 1 << 2, /* which of the ids are there */
	LIVE_SPAN = 1 << 3,
	LIVE_ROOT = 1 << 4,
	LIVE_NO_MEMORY = 1 << 5,
	/* its pointer leads to memory that cannot be read, or to something else */
	LIVE_UNREADABLE = 1 << 6,
};

#define LIVE_ATTRIBUTES 1024 /* of a context, at most; more: LIVE_CUT */

struct live_attribute {
	size_t key_at, key_bytes, value_at, value_bytes; /* in text */
};

struct live_context {
	enum live_abi abi;
	unsigned int flags; /* enum live_flag */
	uint8_t trace_id[16];
	uint8_t trace_flags;
	uint64_t span_id, root_span_id;
	struct live_attribute *attribute;
	size_t count, room;
	struct buf text;
};

void live_begin(struct live_context *c, enum live_abi abi); /* empties it; takes a zeroed one */
void live_free(struct live_context *c);

/* Adds an attribute; one of the same key stays (live_add) or gets the new value (live_put).
 * Out of memory: LIVE_NO_MEMORY. */
void live_add(struct live_context *c, const void *key, size_t key_bytes, const void *value,
	      size_t value_bytes);
void live_put(struct live_context *c, const void *key, size_t key_bytes, const void *value,
	      size_t value_bytes);

const struct live_attribute *live_find(const struct live_context *c, const void *key,
				       size_t key_bytes);
static inline const char *live_text(const struct live_context *c, size_t at)
{
	return c->text.data ? (const char *)c->text.data + at : "";
}

/* Is there anything in it that could be shown? */
int live_is_empty(const struct live_context *c);

/* A whole text as a number of base 10 or 16: 0 and *out, or -EINVAL. */
int live_number(const char *text, size_t bytes, unsigned int base, uint64_t *out);
/* The attribute @key, if it is such a number and not 0, as an id of @c: *id, and the flag of it. */
void live_parse_id(struct live_context *c, const char *key, unsigned int base, uint64_t *id,
		   enum live_flag flag);

#endif
