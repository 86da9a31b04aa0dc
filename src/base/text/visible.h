/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Texts of strangers on a terminal: names of processes, threads and files, labels, source lines.
 * What would be no character of its own there (control characters, bidi controls, what is not
 * UTF-8) is shown byte by byte, as \x1b. Whatever is printed for people goes through here.
 */
#ifndef WEFT_BASE_VISIBLE_H
#define WEFT_BASE_VISIBLE_H

#include <stddef.h>
#include <stdio.h>

#define VISIBLE_BYTES 4 /* of a piece, at most */

/*
 * visible_next() - the next piece of a text from *at, which moves on, up to @end (*at < @end): a
 * character, or a byte as \xNN. Its bytes, in @out; no 0 behind them.
 */
size_t visible_next(const char **at, const char *end, char out[VISIBLE_BYTES]);

/* How many columns such a piece takes. */
static inline size_t visible_columns(const char *piece, size_t bytes)
{
	return *piece == '\\' ? bytes : 1;
}

/* As much of @text as there is room for (@room > 0), in whole pieces, and a 0. Returns @out. */
const char *visible_text(char *out, size_t room, const char *text);

/* Prints @text; returns its columns. */
size_t visible_print(FILE *out, const char *text, size_t bytes);

#endif
