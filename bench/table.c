/* SPDX-License-Identifier: Apache-2.0 */
/* The table that the bench prints: rows as they were added, then the notes. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "harness.h"

#define ROWS_MAX 128
#define NOTES_MAX 64

static struct bench_row rows[ROWS_MAX];
static const char *notes[NOTES_MAX];
static size_t row_count, note_count;

void bench_add(const struct bench_row *row)
{
	if (row_count < ROWS_MAX)
		rows[row_count++] = *row;
}

__attribute__((format(printf, 1, 0))) static const char *format_text(const char *format,
								     va_list args)
{
	char *text = NULL;

	return vasprintf(&text, format, args) < 0 ? "" : text;
}

const char *bench_text(const char *format, ...)
{
	va_list args;
	const char *text;

	va_start(args, format);
	text = format_text(format, args);
	va_end(args);
	return text;
}

void bench_note(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	if (note_count < NOTES_MAX)
		notes[note_count++] = format_text(format, args);
	va_end(args);
}

static const char *verdict(const struct bench_row *r)
{
	double over = r->limit == BENCH_AT_MOST ? r->measured - r->budget : r->budget - r->measured;

	if (r->limit == BENCH_NO_BUDGET)
		return "-";
	if (over > r->noise)
		return "NO";
	return over <= -r->noise ? "yes" : "?";
}

/* How many times the baseline's figure it is; NAN without one. */
static double ratio(const struct bench_row *r)
{
	return r->baseline && fabs(r->base) > 1e-12 ? r->measured / r->base : (double)NAN;
}

static void print_row(const struct bench_row *r)
{
	char budget[32] = "-", base[80] = "-", times[32] = "-";

	if (r->limit != BENCH_NO_BUDGET)
		snprintf(budget, sizeof(budget), "%s %g",
			 r->limit == BENCH_AT_MOST ? "<=" : ">=", r->budget);
	if (r->baseline)
		snprintf(base, sizeof(base), "%s: %.4g", r->baseline, r->base);
	if (!isnan(ratio(r)))
		snprintf(times, sizeof(times), "x%.3g", ratio(r));
	printf("%-50s %10.4g %-5s %-10s %-4s %-8s %s\n", r->operation, r->measured, r->unit, budget,
	       verdict(r), times, base);
}

static void print_table(void)
{
	printf("%-50s %10s %-5s %-10s %-4s %-8s %s\n", "operation", "measured", "unit", "budget",
	       "met", "ratio", "baseline");
	for (size_t i = 0; i < row_count; i++)
		print_row(&rows[i]);
	for (size_t i = 0; i < note_count; i++)
		printf("note: %s\n", notes[i]);
}

/* Operations, baselines and notes hold no control characters: quote and backslash suffice. */
static void print_quoted(const char *text)
{
	putchar('"');
	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			putchar('\\');
		putchar(*text);
	}
	putchar('"');
}

static const char *json_verdict(const struct bench_row *r)
{
	const char *word = verdict(r);

	return word[0] == 'y' ? "true" : word[0] == 'N' ? "false" : "null";
}

static void print_json_row(const struct bench_row *r)
{
	printf("{\"operation\":");
	print_quoted(r->operation);
	printf(",\"measured\":%.6g,\"unit\":\"%s\"", r->measured, r->unit);
	if (r->limit != BENCH_NO_BUDGET)
		printf(",\"limit\":\"%s\",\"budget\":%g,\"noise\":%g,\"met\":%s",
		       r->limit == BENCH_AT_MOST ? "at most" : "at least", r->budget, r->noise,
		       json_verdict(r));
	if (r->baseline) {
		printf(",\"baseline\":");
		print_quoted(r->baseline);
		printf(",\"base\":%.6g", r->base);
	}
	if (!isnan(ratio(r)))
		printf(",\"ratio\":%.6g", ratio(r));
	printf("}");
}

static void print_json(void)
{
	printf("{\"rows\":[");
	for (size_t i = 0; i < row_count; i++) {
		printf(i ? ",\n" : "\n");
		print_json_row(&rows[i]);
	}
	printf("],\n\"notes\":[");
	for (size_t i = 0; i < note_count; i++) {
		printf(i ? ",\n" : "\n");
		print_quoted(notes[i]);
	}
	printf("]}\n");
}

void bench_print(bool json)
{
	if (json)
		print_json();
	else
		print_table();
}
