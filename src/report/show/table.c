/* SPDX-License-Identifier: Apache-2.0 */
/* See table.h. */
#include "report/show/table.h"

#include "base/array.h"
#include "report/show/json_value.h"
#include "report/show/layout.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_COLUMNS_LEFT 20 /* that the last text of a line needs, or errors are left out */
#define JSON_NAME 96
#define TEXT_COLUMN_MAX 60 /* of a text that is not the last */

void table_init(struct table *t, const struct table_column *column, size_t columns)
{
	memset(t, 0, sizeof(*t));
	t->column = column;
	t->columns = columns;
}

void table_free(struct table *t)
{
	for (size_t i = 0; i < t->cells; i++)
		free(t->cell[i].text);
	free(t->cell);
	memset(t, 0, sizeof(*t));
}

size_t table_rows(const struct table *t)
{
	return t->columns ? t->cells / t->columns : 0;
}

static void table_put(struct table *t, struct table_cell c)
{
	struct table_cell *added = array_add(&t->cell, &t->cells, &t->room, sizeof(*added));

	if (added)
		*added = c;
	else
		free(c.text);
	t->failed |= !added;
}

void table_count(struct table *t, uint64_t n)
{
	table_put(t, (struct table_cell){.kind = CELL_COUNT, .number = n});
}

void table_number(struct table *t, int64_t n)
{
	table_put(t, (struct table_cell){.kind = CELL_NUMBER, .number = (uint64_t)n});
}

void table_time(struct table *t, uint64_t ns)
{
	table_put(t, (struct table_cell){.kind = CELL_TIME, .number = ns});
}

void table_share(struct table *t, uint64_t part, uint64_t whole)
{
	if (!whole)
		table_none(t);
	else
		table_put(t, (struct table_cell){.kind = CELL_SHARE,
						 .real = (double)part / (double)whole});
}

void table_ends(struct table *t, const struct interval_ends *ends)
{
	if (t->cells && t->cell[t->cells - 1].kind == CELL_SHARE)
		t->cell[t->cells - 1].ends = *ends;
}

void table_certainty(struct table *t, enum cell_certainty certainty)
{
	if (t->cells && t->cell[t->cells - 1].kind == CELL_CHANGE)
		t->cell[t->cells - 1].certainty = certainty;
}

void table_fraction(struct table *t, double share)
{
	table_put(t,
		  (struct table_cell){.kind = share >= 0 ? CELL_SHARE : CELL_NONE, .real = share});
}

void table_real(struct table *t, double value)
{
	table_put(t, (struct table_cell){.kind = CELL_REAL, .real = value});
}

void table_change(struct table *t, double from, double to)
{
	if (from == 0 && to == 0)
		table_none(t);
	else
		table_put(t, (struct table_cell){.kind = CELL_CHANGE,
						 .real = from > 0 ? to / from : (double)INFINITY});
}

void table_text(struct table *t, const char *text)
{
	char *copy = text ? strdup(text) : NULL;

	t->failed |= text && !copy;
	table_put(t, (struct table_cell){.kind = copy ? CELL_TEXT : CELL_NONE, .text = copy});
}

void table_none(struct table *t)
{
	table_put(t, (struct table_cell){.kind = CELL_NONE});
}

/* ---- text */

static const char *change_text(char out[LAYOUT_NUMBER], double ratio)
{
	double change = 100 * (ratio - 1);

	if (isinf(ratio))
		return "new";
	if (ratio == 0)
		return "gone";
	if (fabs(change) < 0.05)
		return "0.0 %";
	snprintf(out, LAYOUT_NUMBER, ratio < 10 ? "%+.1f %%" : "%+.0f %%", change);
	return out;
}

static int has_error(const struct table_cell *c)
{
	return c->kind == CELL_SHARE && c->ends.high > 0;
}

/* The error has a fixed width, so that shares are aligned. */
static const char *share_text(char out[LAYOUT_NUMBER], const struct table_cell *c, int errors)
{
	char share[LAYOUT_NUMBER / 2], error[LAYOUT_NUMBER];
	double below = c->real - c->ends.low, above = c->ends.high - c->real;

	snprintf(share, sizeof(share), "%.1f %%", 100 * c->real);
	snprintf(out, LAYOUT_NUMBER, "%s%s", share,
		 errors ? layout_error(error, has_error(c) ? fmax(below, above) : -1) : "");
	return out;
}

static const char *cell_text(char out[LAYOUT_NUMBER], const struct table_cell *c, int errors)
{
	switch (c->kind) {
	case CELL_COUNT:
		snprintf(out, LAYOUT_NUMBER, "%llu", (unsigned long long)c->number);
		break;
	case CELL_NUMBER:
		snprintf(out, LAYOUT_NUMBER, "%lld", (long long)c->number);
		break;
	case CELL_TIME:
		return layout_time(out, c->number);
	case CELL_SHARE:
		return share_text(out, c, errors);
	case CELL_REAL:
		snprintf(out, LAYOUT_NUMBER, "%.4g", c->real);
		break;
	case CELL_CHANGE:
		return c->certainty == CELL_IS_NONE ? "none" : change_text(out, c->real);
	case CELL_TEXT:
		return c->text;
	default:
		return "-";
	}
	return out;
}

static size_t shown_rows(const struct table *t, uint64_t top)
{
	size_t rows = table_rows(t);

	return top && top < rows ? (size_t)top : rows;
}

static const struct table_cell *cell_at(const struct table *t, size_t row, size_t column)
{
	return &t->cell[row * t->columns + column];
}

/* Columns that the widest cell needs; 0: the column is not shown. */
static int width_of(const struct table *t, size_t column, size_t rows, int errors)
{
	const char *title = t->column[column].title;
	int hides_zero = t->column[column].hides_zero;
	int width = title ? (int)strlen(title) : 0, any = 0;

	for (size_t i = 0; i < rows && title; i++) {
		const struct table_cell *c = cell_at(t, i, column);
		char number[LAYOUT_NUMBER];
		int columns = (int)layout_columns(cell_text(number, c, errors));

		any |= c->kind != CELL_NONE && !(hides_zero && !c->number && !c->text);
		width = columns > width ? columns : width;
	}
	if (!title || (!any && !t->column[column].stays))
		return 0;
	return t->column[column].is_text && width > TEXT_COLUMN_MAX ? TEXT_COLUMN_MAX : width;
}

/* The last text of a line is cut where the line ends, and nothing is put behind it. */
static void table_print_text(const char *text, int width, int is_last, int used,
			     const struct text_style *s, FILE *out)
{
	int room = is_last ? layout_rest(s->columns, used) : width;
	int columns = (int)layout_name(out, text, room);

	if (!is_last)
		fprintf(out, "%*s", columns < width ? width - columns : 0, "");
}

static size_t last_shown(const struct table *t, const int *width)
{
	size_t last = 0;

	for (size_t i = 0; i < t->columns; i++)
		last = width[i] ? i : last;
	return last;
}

static void table_print_line(const struct table *t, const int *width, const struct table_cell *cell,
			     const struct text_style *s, int errors, FILE *out)
{
	size_t last = last_shown(t, width);
	int used = 0;

	for (size_t i = 0; i < t->columns; i++) {
		char number[LAYOUT_NUMBER];
		const char *text = cell ? cell_text(number, &cell[i], errors) : t->column[i].title;
		int blanks;

		if (!width[i])
			continue;
		blanks = width[i] - (int)layout_columns(text);
		used += fprintf(out, "%s", used ? "  " : "");
		if (t->column[i].is_text)
			table_print_text(text, width[i], i == last, used, s, out);
		else
			fprintf(out, "%*s%s", blanks > 0 ? blanks : 0, "", text);
		used += width[i];
	}
	fputs(cell ? "\n" : "", out);
}

/* Sets the widths of the columns; returns whether any error is shown. */
static int set_widths(const struct table *t, size_t rows, int errors, int *width)
{
	int any = 0;

	for (size_t i = 0; i < t->columns; i++)
		width[i] = width_of(t, i, rows, errors);
	for (size_t i = 0; i < rows * t->columns && errors && !any; i++)
		any = has_error(&t->cell[i]);
	return any;
}

/* Is enough of the line left for the last text? */
static int table_fits(const struct table *t, const int *width, const struct text_style *s)
{
	size_t last = last_shown(t, width);
	int used = 0;

	for (size_t i = 0; i < t->columns; i++)
		used += width[i] && i != last ? width[i] + 2 : 0;
	return !s->columns || used + TEXT_COLUMNS_LEFT <= s->columns;
}

int table_print(const struct table *t, const struct text_style *style, FILE *out)
{
	size_t rows = shown_rows(t, style->top);
	int *width = calloc(t->columns + 1, sizeof(*width));
	int errors = 1;

	if (!width || t->failed) {
		free(width);
		return -ENOMEM;
	}
	if (!set_widths(t, rows, 1, width) || !table_fits(t, width, style))
		errors = set_widths(t, rows, 0, width);
	if (rows) {
		fputs(style->bold, out);
		table_print_line(t, width, NULL, style, errors, out);
		fprintf(out, "%s\n", style->plain);
	}
	for (size_t i = 0; i < rows; i++)
		table_print_line(t, width, cell_at(t, i, 0), style, errors, out);
	if (rows < table_rows(t) + t->more)
		fprintf(out, "%s... and %llu more (--top 0)%s\n", style->dim,
			(unsigned long long)(table_rows(t) + t->more - rows), style->plain);
	free(width);
	return 0;
}

/* ---- JSON */

static json_t *cell_json(const struct table_cell *c)
{
	switch (c->kind) {
	case CELL_COUNT:
	case CELL_TIME:
		return json_number(c->number);
	case CELL_NUMBER:
		return json_integer((json_int_t)c->number);
	case CELL_SHARE:
	case CELL_REAL:
	case CELL_CHANGE:
		return isfinite(c->real) ? json_real(c->real) : json_null();
	case CELL_TEXT:
		return json_text(c->text);
	default:
		return json_null();
	}
}

/* NAME_low and NAME_high of a share; of a change NAME_is_none. */
static int set_certainty(json_t *o, const char *name, const struct table_cell *c)
{
	char key[JSON_NAME];
	int rc = 0;

	if (c->kind == CELL_CHANGE && c->certainty != CELL_EXACT) {
		snprintf(key, sizeof(key), "%s_is_none", name);
		rc = json_set_named(o, key, json_boolean(c->certainty == CELL_IS_NONE));
	}
	if (!has_error(c))
		return rc;
	snprintf(key, sizeof(key), "%s_low", name);
	rc = json_set_named(o, key, json_real(c->ends.low));
	snprintf(key, sizeof(key), "%s_high", name);
	return rc ? rc : json_set_named(o, key, json_real(c->ends.high));
}

static json_t *row_json(const struct table *t, size_t row)
{
	json_t *o = json_object();

	for (size_t i = 0; i < t->columns && o; i++) {
		if (!t->column[i].json ||
		    (!json_set_named(o, t->column[i].json, cell_json(cell_at(t, row, i))) &&
		     !set_certainty(o, t->column[i].json, cell_at(t, row, i))))
			continue;
		json_decref(o);
		return NULL;
	}
	return o;
}

json_t *table_json(const struct table *t, uint64_t top)
{
	json_t *all = t->failed ? NULL : json_array();

	for (size_t i = 0; i < shown_rows(t, top) && all; i++) {
		if (!json_array_append_new(all, row_json(t, i)))
			continue;
		json_decref(all);
		return NULL;
	}
	return all;
}
