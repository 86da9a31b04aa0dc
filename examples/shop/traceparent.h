/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The W3C traceparent header, version 00 (https://www.w3.org/TR/trace-context/):
 *
 *   00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01
 *      trace id: 32 hex digits          parent span: 16  flags: 2
 */
#ifndef SHOP_TRACEPARENT_H
#define SHOP_TRACEPARENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define TRACEPARENT_BYTES 55

struct traceparent {
	uint8_t trace_id[16];
	uint64_t parent_span;
	uint8_t flags;
};

/* Lower-case hex digits only, as the standard wants them; -1 for anything else. */
static inline int traceparent_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static inline bool traceparent_hex(const char *text, uint8_t *out, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++) {
		int high = traceparent_digit(text[2 * i]), low = traceparent_digit(text[2 * i + 1]);

		if (high < 0 || low < 0)
			return false;
		out[i] = (uint8_t)(high << 4 | low);
	}
	return true;
}

/** Is @text a valid header? Then it is in @out; else @out is all zeros. */
static inline bool traceparent_parse(const char *text, size_t bytes, struct traceparent *out)
{
	static const uint8_t none[16];
	uint8_t span[8];

	memset(out, 0, sizeof(*out));
	if (bytes != TRACEPARENT_BYTES || memcmp(text, "00-", 3) || text[35] != '-' ||
	    text[52] != '-' || !traceparent_hex(text + 3, out->trace_id, 16) ||
	    !memcmp(out->trace_id, none, 16) || !traceparent_hex(text + 36, span, 8) ||
	    !traceparent_hex(text + 53, &out->flags, 1)) {
		memset(out, 0, sizeof(*out));
		return false;
	}
	for (size_t i = 0; i < 8; i++)
		out->parent_span = out->parent_span << 8 | span[i];
	return true;
}

/** Writes the header and a NUL. */
static inline void traceparent_format(const struct traceparent *tp, char out[TRACEPARENT_BYTES + 1])
{
	char *at = out + sprintf(out, "00-");

	for (size_t i = 0; i < 16; i++)
		at += sprintf(at, "%02x", tp->trace_id[i]);
	sprintf(at, "-%016llx-%02x", (unsigned long long)tp->parent_span, tp->flags);
}

#endif
