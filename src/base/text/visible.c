/* SPDX-License-Identifier: Apache-2.0 */
/* Texts of strangers on a terminal: see visible.h. */
#include "base/text/visible.h"

#include "base/text/hex.h"
#include "base/text/utf8.h"

#include <string.h>

size_t visible_next(const char **at, const char *end, char out[VISIBLE_BYTES])
{
	const unsigned char *from = (const unsigned char *)*at;
	size_t bytes = utf8_visible(from, (const unsigned char *)end);

	*at += bytes ? bytes : 1;
	if (bytes) {
		memcpy(out, from, bytes);
		return bytes;
	}
	out[0] = '\\';
	out[1] = 'x';
	hex_put(out + 2, from, 1);
	return VISIBLE_BYTES;
}

const char *visible_text(char *out, size_t room, const char *text)
{
	const char *end = text + strlen(text);
	char piece[VISIBLE_BYTES];
	size_t used = 0;

	while (text < end) {
		size_t bytes = visible_next(&text, end, piece);

		if (bytes >= room - used)
			break;
		memcpy(out + used, piece, bytes);
		used += bytes;
	}
	out[used] = '\0';
	return out;
}

size_t visible_print(FILE *out, const char *text, size_t bytes)
{
	const char *end = text + bytes;
	char piece[VISIBLE_BYTES];
	size_t columns = 0;

	while (text < end) {
		size_t put = visible_next(&text, end, piece);

		fwrite(piece, 1, put, out);
		columns += visible_columns(piece, put);
	}
	return columns;
}
