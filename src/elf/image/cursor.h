/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading little-endian bytes up to an end. Past it every read gives 0 and the cursor has
 * failed: check once, after a few reads.
 */
#ifndef WEFT_ELF_CURSOR_H
#define WEFT_ELF_CURSOR_H

#include "base/wire/leb128.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct elf_cursor {
	const uint8_t *at, *end;
	int failed;
};

static inline size_t cursor_left(const struct elf_cursor *c)
{
	return (size_t)(c->end - c->at);
}

static inline void cursor_fail(struct elf_cursor *c)
{
	c->failed = 1;
	c->at = c->end;
}

static inline void cursor_skip(struct elf_cursor *c, uint64_t bytes)
{
	if (bytes > cursor_left(c))
		cursor_fail(c);
	else
		c->at += bytes;
}

static inline uint64_t cursor_fixed(struct elf_cursor *c, unsigned int bytes)
{
	uint64_t value = 0;

	if (bytes > cursor_left(c)) {
		cursor_fail(c);
		return 0;
	}
	memcpy(&value, c->at, bytes);
	c->at += bytes;
	return value;
}

static inline uint64_t cursor_uleb(struct elf_cursor *c)
{
	uint64_t value = 0;

	if (leb128_read(&c->at, c->end, &value))
		cursor_fail(c);
	return value;
}

static inline int64_t cursor_sleb(struct elf_cursor *c)
{
	int64_t value = 0;

	if (leb128_read_signed(&c->at, c->end, &value))
		cursor_fail(c);
	return value;
}

static inline const char *cursor_string(struct elf_cursor *c)
{
	const uint8_t *start = c->at;
	const uint8_t *zero = cursor_left(c) ? memchr(start, 0, cursor_left(c)) : NULL;

	if (!zero) {
		cursor_fail(c);
		return NULL;
	}
	c->at = zero + 1;
	return (const char *)start;
}

/* The length that begins a unit, and with it the size of its offsets. */
static inline uint64_t cursor_length(struct elf_cursor *c, uint8_t *offset_size)
{
	uint64_t length = cursor_fixed(c, 4);

	*offset_size = 4;
	if (length == 0xffffffff) {
		*offset_size = 8;
		length = cursor_fixed(c, 8);
	} else if (length >= 0xfffffff0) {
		cursor_fail(c);
	}
	return length;
}

#endif
