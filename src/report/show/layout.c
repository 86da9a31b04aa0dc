/* SPDX-License-Identifier: Apache-2.0 */
#include "report/show/layout.h"

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

static int begins_character(char c)
{
	return ((unsigned char)c & 0xC0) != 0x80;
}

size_t layout_columns(const char *name)
{
	size_t columns = 0;

	for (; *name; name++)
		columns += (size_t)begins_character(*name);
	return columns;
}

int layout_rest(int columns, int used)
{
	return columns > used ? columns - used : columns ? 1 : 0;
}

/* Bytes of a control character at @s: below space, DEL, U+0080 to U+009F; 0: none. */
static size_t control_bytes(const char *s)
{
	if ((unsigned char)*s < ' ' || *s == 0x7F)
		return 1;
	return (unsigned char)s[0] == 0xC2 && ((unsigned char)s[1] & 0xE0) == 0x80 ? 2 : 0;
}

/* Prints the byte or control character at @s; returns what follows it. */
static const char *layout_put(FILE *out, const char *s)
{
	size_t control = control_bytes(s);

	fputc(control ? '?' : *s, out);
	return s + (control ? control : 1);
}

const char *layout_clean(char out[LAYOUT_TEXT], const char *text)
{
	size_t used = 0, control;

	for (; *text && used + 1 < LAYOUT_TEXT; text += control ? control : 1) {
		control = control_bytes(text);
		out[used++] = control ? '?' : *text;
	}
	out[used] = '\0';
	return out;
}

size_t layout_name(FILE *out, const char *name, int columns)
{
	size_t whole = layout_columns(name), room, used = 0;

	room = columns < NAME_COLUMNS_MIN ? NAME_COLUMNS_MIN : (size_t)columns;
	if (!columns || whole <= room) {
		while (*name)
			name = layout_put(out, name);
		return whole;
	}
	while (*name) {
		if (begins_character(*name) && ++used > room - 3)
			break;
		name = layout_put(out, name);
	}
	fputs("...", out);
	return room;
}
