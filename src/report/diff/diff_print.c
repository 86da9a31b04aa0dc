/* SPDX-License-Identifier: Apache-2.0 */
/* Two recordings as text: what they are, how they were made, then the tables; or as JSON. */
#include "report/diff/diff.h"
#include "report/show/json_value.h"
#include "report/show/layout.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define SETTINGS_SHOWN 12 /* unless --top says */

/* ---- head */

static void put_numbers(struct table *t, const char *what, const uint64_t number[2], int is_time)
{
	char text[2][LAYOUT_NUMBER];

	table_text(t, what);
	for (int side = 0; side < 2; side++) {
		if (is_time)
			layout_time(text[side], number[side]);
		else
			snprintf(text[side], LAYOUT_NUMBER, "%llu",
				 (unsigned long long)number[side]);
		table_text(t, text[side]);
	}
}

static void put_texts(struct table *t, const char *what, const char *a, const char *b)
{
	table_text(t, what);
	table_text(t, a);
	table_text(t, b);
}

static void put_facts(const struct diff *d, struct table *t)
{
	uint64_t duration[2], samples[2], weight[2], spans[2], events[2], lost[2];
	const struct facts *f[2] = {diff_facts(d, 0), diff_facts(d, 1)};

	for (int side = 0; side < 2; side++) {
		duration[side] = d->side[side].duration_ns;
		samples[side] = diff_samples(d, side);
		weight[side] = diff_weight(d, side);
		spans[side] = d->side[side].spans;
		events[side] = f[side]->events;
		lost[side] = (uint64_t)diff_lost(d, side);
	}
	put_numbers(t, "duration", duration, 1);
	put_numbers(t, "samples", samples, 0);
	put_numbers(t, "sampled time", weight, 1);
	put_numbers(t, "spans", spans, 0);
	put_numbers(t, "events", events, 0);
	put_numbers(t, "lost samples", lost, 0);
	if (*f[0]->damage || *f[1]->damage)
		put_texts(t, "damaged", *f[0]->damage ? f[0]->damage : NULL,
			  *f[1]->damage ? f[1]->damage : NULL);
}

static int diff_print_head(const struct diff *d, const struct text_style *style, FILE *out)
{
	static const struct table_column column[] = {{.title = "", .is_text = 1},
						     {.title = "A", .is_text = 1},
						     {.title = "B", .is_text = 1}};
	struct text_style all = *style;
	struct table t;
	int rc;

	all.top = 0;
	table_init(&t, column, sizeof(column) / sizeof(column[0]));
	put_texts(&t, "file", d->query->path[0], d->query->path[1]);
	put_facts(d, &t);
	rc = table_print(&t, &all, out);
	table_free(&t);
	for (size_t i = 0; i < d->query->where_count; i++)
		layout_where(out, i ? "              " : "where         ", &d->query->wheres[i]);
	return rc;
}

static int print_settings(const struct diff *d, const struct text_style *style, FILE *out)
{
	struct text_style few = *style;

	if (!table_rows(&d->settings))
		return 0;
	if (few.top && few.top < SETTINGS_SHOWN)
		few.top = SETTINGS_SHOWN;
	fputc('\n', out);
	return table_print(&d->settings, &few, out);
}

int diff_text(const struct diff *d, const struct text_style *style, FILE *out)
{
	int rc = diff_print_head(d, style, out);

	if (!rc)
		rc = print_settings(d, style, out);
	for (int i = 0; i < DIFF_SECTIONS && !rc; i++) {
		if (!table_rows(&d->table[i]))
			continue;
		fputc('\n', out);
		rc = table_print(&d->table[i], style, out);
	}
	return rc;
}

/* ---- JSON */

static json_t *side_json(const struct diff *d, int side)
{
	const struct facts *f = diff_facts(d, side);
	json_t *o = json_pack(
		"{s:o,s:o,s:o,s:o,s:o,s:o,s:I}", "file", json_text(d->query->path[side]),
		"duration_ns", json_number(d->side[side].duration_ns), "samples",
		json_number(diff_samples(d, side)), "weight_ns", json_number(diff_weight(d, side)),
		"spans", json_number(d->side[side].spans), "events", json_number(f->events), "lost",
		(json_int_t)diff_lost(d, side));

	if (o && *f->damage)
		json_object_set_new(o, "damage", json_text(f->damage));
	return o;
}

int diff_json(const struct diff *d, uint64_t top, FILE *out)
{
	static const char *const per[] = {
		[DIFF_PER_SECOND] = "second", [DIFF_PER_SPAN] = "span", [DIFF_TOTAL] = "total"};
	json_t *o = json_pack("{s:o,s:o,s:o,s:s,s:s,s:b,s:o,s:o,s:o}", "a", side_json(d, 0), "b",
			      side_json(d, 1), "settings", table_json(&d->settings, 0), "per",
			      per[d->query->per], "by",
			      d->query->by ? d->query->by->text : "function", "samples_only",
			      d->samples_only, "rows", table_json(&d->table[DIFF_SUMS], top),
			      "latencies", table_json(&d->table[DIFF_LATENCIES], top), "spans",
			      table_json(&d->table[DIFF_SPANS], top));

	return json_emit(o, out, JSON_PRETTY);
}
