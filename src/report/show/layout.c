/* SPDX-License-Identifier: Apache-2.0 */
#include "report/show/layout.h"

#include "base/text/visible.h"
#include "report/read/where.h"

#include <string.h>

#define NAME_COLUMNS_MIN 12

const char *layout_time(char out[LAYOUT_NUMBER], uint64_t ns)
{
	if (ns >= 1000000000)
		snprintf(out, LAYOUT_NUMBER, "%.3f s", (double)ns / 1e9);
	else if (ns >= 1000000)
		snprintf(out, LAYOUT_NUMBER, "%.3f ms", (double)ns / 1e6);
	else if (ns >= 1000)
		snprintf(out, LAYOUT_NUMBER, "%.3f us", (double)ns / 1e3);
	else
		snprintf(out, LAYOUT_NUMBER, "%u ns", (unsigned int)ns);
	return out;
}

const char *layout_share(char out[LAYOUT_NUMBER], uint64_t part, uint64_t whole)
{
	if (!whole)
		snprintf(out, LAYOUT_NUMBER, "-");
	else
		snprintf(out, LAYOUT_NUMBER, "%.1f %%", 100.0 * (double)part / (double)whole);
	return out;
}

const char *layout_error(char out[LAYOUT_NUMBER], double error)
{
	char number[LAYOUT_NUMBER] = "";

	if (error >= 0)
		snprintf(number, sizeof(number), "%.1f", error < 0.999 ? 100 * error : 99.9);
	snprintf(out, LAYOUT_NUMBER, " %s%-*.*s", error >= 0 ? LAYOUT_PLUS_MINUS : " ",
		 LAYOUT_ERROR - 2, LAYOUT_ERROR - 2, number);
	return out;
}

const char *layout_share_error(char out[LAYOUT_NUMBER], const struct amount *part,
			       const struct amount *whole, int has_error)
{
	uint64_t all = amount_of(whole, whole);
	double share = all ? (double)amount_of(part, whole) / (double)all : 0;
	double error = has_error ? interval_error(&part->draws, &whole->draws) : -1;

	if (error >= 0)
		snprintf(out, LAYOUT_NUMBER, "%.1f %% " LAYOUT_PLUS_MINUS "%.1f", 100 * share,
			 100 * error);
	else
		snprintf(out, LAYOUT_NUMBER, "%.1f %%", 100 * share);
	return out;
}

int layout_amount(FILE *out, const struct amount *part, const struct amount *whole, int has_error)
{
	char share[LAYOUT_NUMBER], error[LAYOUT_NUMBER] = "";

	layout_share(share, amount_of(part, whole), amount_of(whole, whole));
	if (has_error)
		layout_error(error, interval_error(&part->draws, &whole->draws));
	fprintf(out, "%*s%s", LAYOUT_SHARE, share, error);
	return LAYOUT_SHARE + (has_error ? LAYOUT_ERROR : 0);
}

size_t layout_columns(const char *name)
{
	const char *end = name + strlen(name);
	char piece[VISIBLE_BYTES];
	size_t columns = 0;

	while (name < end) {
		size_t bytes = visible_next(&name, end, piece);

		columns += visible_columns(piece, bytes);
	}
	return columns;
}

int layout_rest(int columns, int used)
{
	return columns > used ? columns - used : columns ? 1 : 0;
}

const char *layout_clean(char out[LAYOUT_TEXT], const char *text)
{
	return visible_text(out, LAYOUT_TEXT, text);
}

/* As many whole pieces as fit into @room columns; returns the columns. */
static size_t layout_put(FILE *out, const char *name, size_t room)
{
	const char *end = name + strlen(name);
	char piece[VISIBLE_BYTES];
	size_t used = 0;

	while (name < end) {
		size_t bytes = visible_next(&name, end, piece);
		size_t columns = visible_columns(piece, bytes);

		if (columns > room - used)
			break;
		fwrite(piece, 1, bytes, out);
		used += columns;
	}
	return used;
}

size_t layout_name(FILE *out, const char *name, int columns)
{
	size_t room = columns < NAME_COLUMNS_MIN ? NAME_COLUMNS_MIN : (size_t)columns, used;

	if (!columns || layout_columns(name) <= room)
		return layout_put(out, name, SIZE_MAX);
	used = layout_put(out, name, room - 3);
	fputs("...", out);
	return used + 3;
}

void layout_where(FILE *out, const char *before, const struct where *w)
{
	fputs(before, out);
	layout_put(out, w->key.text, SIZE_MAX);
	fputc('=', out);
	layout_put(out, w->value, SIZE_MAX);
	fputc('\n', out);
}
