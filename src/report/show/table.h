/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A table of typed cells, printed as text (numbers first, of one width, then texts, the last
 * cut where the line ends) or as JSON (an array of objects: times in ns, shares as 0..1).
 * Shares may have errors; text leaves them out where the lines are too short for them.
 * Cells are put row by row in the order of the columns. Out of memory is remembered.
 */
#ifndef WEFT_REPORT_TABLE_H
#define WEFT_REPORT_TABLE_H

#include "report/read/interval.h"
#include "report/show/layout.h"

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum cell_kind {
	CELL_NONE, /* "-", null */
	CELL_COUNT,
	CELL_NUMBER, /* signed */
	CELL_TIME,   /* ns */
	CELL_SHARE,  /* 0.123 is 12.3 % */
	CELL_REAL,
	CELL_CHANGE, /* a ratio: 1.25 is +25.0 %; infinity is "new" */
	CELL_TEXT,
};

/* Is a change more than chance? */
enum cell_certainty { CELL_EXACT, CELL_IS_NONE /* no more than chance */, CELL_IS_MORE };

struct table_column {
	const char *title; /* NULL = not in text */
	const char *json;  /* NULL = not in JSON */
	int is_text;       /* aligned left, behind the numbers */
	int hides_zero;    /* left out of the text when every row has 0 */
	int stays;         /* in the text even when every row is NONE */
};

struct table_cell {
	enum cell_kind kind;
	uint64_t number;
	double real;
	struct interval_ends ends;     /* of a share; high 0 = it has none */
	enum cell_certainty certainty; /* of a change */
	char *text;
};

struct table {
	const struct table_column *column; /* [columns], lives on */
	size_t columns;
	struct table_cell *cell; /* [rows * columns] */
	size_t cells, room;
	uint64_t more; /* further rows, which were not put */
	int failed;
};

void table_init(struct table *t, const struct table_column *column, size_t columns);
void table_free(struct table *t);
size_t table_rows(const struct table *t);

void table_count(struct table *t, uint64_t n);
void table_number(struct table *t, int64_t n);
void table_time(struct table *t, uint64_t ns);
void table_share(struct table *t, uint64_t part, uint64_t whole); /* NONE without a whole */
/* The interval of the share that was put last: "46.2 % +-24.7", in JSON NAME_low and NAME_high. */
void table_ends(struct table *t, const struct interval_ends *ends);
void table_fraction(struct table *t, double share); /* NONE if it is negative */
/* The certainty of the change that was put last; CELL_IS_NONE is "none" in text. */
void table_certainty(struct table *t, enum cell_certainty certainty);
void table_real(struct table *t, double value);
void table_change(struct table *t, double from, double to);
void table_text(struct table *t, const char *text); /* a copy; NULL is NONE */
void table_none(struct table *t);

/* Both: 0 or -ENOMEM; errors of @out stay in it. A column that is NONE in every row is left
 * out of the text. */
int table_print(const struct table *t, const struct text_style *style, FILE *out);
/* NULL: out of memory. @top rows, 0 = all. */
json_t *table_json(const struct table *t, uint64_t top);

#endif
