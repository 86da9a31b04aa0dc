/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a stream can show. Colours only on a terminal that has them, never with NO_COLOR set
 * (any value but empty) or TERM=dumb.
 */
#ifndef WEFT_CLI_TERM_H
#define WEFT_CLI_TERM_H

#include <stdio.h>

enum term_colour { TERM_PLAIN, TERM_BOLD, TERM_DIM, TERM_RED, TERM_GREEN, TERM_YELLOW };

int term_is(FILE *stream);
int term_has_cursor(FILE *stream); /* a terminal that can be written over */
int term_columns(FILE *stream);    /* 80 when not known */

/* The sequence that begins a colour (TERM_PLAIN: ends it), "" without colours. */
const char *term_colour(FILE *stream, enum term_colour colour);

/*
 * Text from column @indent on, where the cursor is, with further lines indented; words are
 * kept whole, newlines in it kept. Ends the line.
 */
void term_wrapped(FILE *out, const char *text, int indent);

/* A row of findings on standard output: @state in its colour, @title, from column @column on @value
 * and, dim and below it, @more ("" = nothing). */
void term_finding(enum term_colour colour, const char *state, const char *title, int column,
		  const char *value, const char *more);

#endif
