/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of a text report: numbers of fixed width first, then a name that may be cut. */
#ifndef WEFT_REPORT_LAYOUT_H
#define WEFT_REPORT_LAYOUT_H

#include "report/read/model.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define LAYOUT_NUMBER 24
#define LAYOUT_TEXT 256

/* How text is laid out. Sequences of colours are "" where there are none. */
struct text_style {
	int columns;   /* lines are cut there; 0 = never */
	uint64_t top;  /* rows, 0 = all */
	int top_given; /* if not, a tree leaves out what is below a share */
	int counters;  /* shows every counter with its meaning, and histograms */
	const char *bold, *dim, *warn, *hot, *plain;
};

/* "1.234 s", "12.345 ms": a time as people read it. Returns @out. */
const char *layout_time(char out[LAYOUT_NUMBER], uint64_t ns);
/* "12.3 %"; "-" when there is no whole. Returns @out. */
const char *layout_share(char out[LAYOUT_NUMBER], uint64_t part, uint64_t whole);
#define LAYOUT_PLUS_MINUS "\xC2\xB1"
#define LAYOUT_ERROR 6 /* columns of a blank and an error */
/* " ±2.1 ": 100 x @error behind a share, LAYOUT_ERROR columns; blank if it is negative. */
const char *layout_error(char out[LAYOUT_NUMBER], double error);
/* "46.2 % ±24.7", of no fixed width; the share alone unless @has_error. Returns @out. */
const char *layout_share_error(char out[LAYOUT_NUMBER], const struct amount *part,
			       const struct amount *whole, int has_error);
/* Prints a share in LAYOUT_SHARE columns, and behind it its error if @has_error: the columns. */
#define LAYOUT_SHARE 8
int layout_amount(FILE *out, const struct amount *part, const struct amount *whole, int has_error);
/* A text as layout_name() shows it, cut where the room ends. Returns @out. */
const char *layout_clean(char out[LAYOUT_TEXT], const char *text);

size_t layout_columns(const char *name);
/* What is left of a line of @columns behind @used: at least 1, or 0 where lines have no end. */
int layout_rest(int columns, int used);

/*
 * Prints a name in at most @columns columns (0 = any number; at least 12 are used), a cut
 * one ending in "...". What is no character is escaped (base/text/visible.h), for the name
 * is not ours. Returns the columns used.
 */
size_t layout_name(FILE *out, const char *name, int columns);

struct where;
/* "KEY=VALUE", whole, behind @before, and a newline. */
void layout_where(FILE *out, const char *before, const struct where *w);

#endif
