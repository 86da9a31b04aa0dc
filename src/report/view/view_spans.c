/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The view of spans: contextual events by their type and their fields but ids and numbers.
 * Contexts are read first, and each is given its row; then every sample and wait counts once
 * in each row of which a span was open around it.
 */
#include "base/buf.h"
#include "base/map.h"
#include "report/view/view.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define NESTED_MAX 64

#define NOT_INSIDE UINT32_MAX

struct span {
	uint32_t row;   /* index + 1; 0 = not selected */
	uint32_t outer; /* number of the next one around it, or NOT_INSIDE */
	uint32_t id;    /* span id, in model.names; 0 = none */
};

struct spans {
	uint32_t contexts, seen;
	struct span span[]; /* [contexts], by number */
};

static int view_spans_is_number(const char *text)
{
	return text[strspn(text, "0123456789.-+e")] == '\0';
}

/* "route=/checkout tenant=acme": without ids, which differ in each span, and numbers, which often
 * do. */
static uint32_t own_fields(struct model *m, const struct sample *s)
{
	struct buf b = {0};

	for (uint32_t i = 0; i < s->own; i++) {
		const struct context_item *c = &s->context.item[i];
		const char *key = key_bare(names_text(&m->keys, c->key));
		const char *value = names_text(&m->names, c->value);

		if (c->key < CONTEXT_TAGS || view_spans_is_number(value))
			continue;
		if (b.size)
			buf_put_u8(&b, ' ');
		buf_put(&b, key, strlen(key));
		buf_put_u8(&b, '=');
		buf_put(&b, value, strlen(value));
	}
	return names_id_buf(&m->names, &b);
}

static uint32_t view_spans_name_of(struct view_run *v, const struct sample *s)
{
	struct model *m = source_model(v->source);

	if (v->query->by_type)
		return 0;
	return v->query->by ? key_of_sample(&v->by, m, s) : own_fields(m, s);
}

static uint32_t around(const struct view_run *v, const struct sample *s, uint32_t number)
{
	uint32_t all[NESTED_MAX], count = source_contexts(v->source, s, all, NESTED_MAX);

	for (uint32_t i = 0; i + 1 < count; i++)
		if (all[i] == number)
			return all[i + 1];
	return NOT_INSIDE;
}

static uint32_t id_of(const struct sample *s)
{
	for (uint32_t i = 0; i < s->own; i++)
		if (s->context.item[i].key == CONTEXT_SPAN)
			return s->context.item[i].value;
	return 0;
}

static int view_spans_add_span(const struct sample *s, void *arg)
{
	struct view_run *v = arg;
	struct spans *spans = v->state;
	uint32_t number = spans->seen++;
	struct tally_row *r;

	if (number >= spans->contexts)
		return 0;
	spans->span[number] = (struct span){.outer = around(v, s, number), .id = id_of(s)};
	if (!view_selects(v, s))
		return 0;
	r = tally_row(&v->tally, (const uint32_t[TALLY_NAMES]){s->type, view_spans_name_of(v, s)});
	if (!r)
		return -ENOMEM;
	spans->span[number].row = (uint32_t)(r - v->tally.row) + 1;
	tally_time(&v->tally, r, s->duration_ns > 0 ? (uint64_t)s->duration_ns : 0);
	return 0;
}

static int is_inside_another(const struct spans *spans, uint32_t number)
{
	uint32_t outer = spans->span[number].outer;

	while (outer < spans->contexts && !spans->span[outer].row)
		outer = spans->span[outer].outer;
	return outer < spans->contexts;
}

/* One inside another one that is selected is part of it; one that was taken up again is several
 * events, and one span. */
static int count_spans(struct view_run *v)
{
	const struct spans *spans = v->state;
	struct map *ids = map_new();
	int rc = ids ? 0 : -ENOMEM;

	for (uint32_t i = 0; i < spans->contexts && !rc; i++) {
		uint32_t id = spans->span[i].id;
		int fresh = 1;

		if (!spans->span[i].row || is_inside_another(spans, i))
			continue;
		if (id && !map_put(ids, &id, sizeof(id), &fresh))
			rc = -ENOMEM;
		v->tally.whole[MEASURE_SPANS] += (uint64_t)(fresh != 0);
	}
	map_free(ids);
	return rc;
}

static int begin_spans(struct view_run *v)
{
	uint32_t contexts = source_facts(v->source)->context_count;
	struct spans *spans = calloc(1, sizeof(*spans) + contexts * sizeof(*spans->span));
	int rc;

	v->state = spans;
	if (!spans)
		return -ENOMEM;
	spans->contexts = contexts;
	rc = source_read(v->source, SAMPLE_CONTEXT, view_spans_add_span, v);
	return rc ? rc : count_spans(v);
}

static int add_inside(struct view_run *v, const struct sample *s)
{
	const struct spans *spans = v->state;
	uint32_t number[NESTED_MAX];
	uint32_t count = source_contexts(v->source, s, number, NESTED_MAX);

	tally_sample(v->tally.whole, v->tally.drawn, s);
	for (uint32_t i = 0; i < count; i++) {
		uint32_t row = number[i] < spans->contexts ? spans->span[number[i]].row : 0;

		if (row && tally_once(&v->tally.row[row - 1], v->number))
			tally_sample(v->tally.row[row - 1].value, v->tally.row[row - 1].drawn, s);
	}
	return 0;
}

const struct view view_spans = {
	.name = "spans",
	.help = "contextual events, with the samples and waits inside them",
	.kinds = SAMPLE_COUNTED | SAMPLE_WAITED,
	.events = "all",
	.order = {MEASURE_TIME, MEASURE_COUNT, MEASURE_SAMPLES},
	.column = {{"count", "count", VIEW_COUNT, MEASURE_COUNT, 0},
		   {"total", "total_ns", VIEW_TIME, MEASURE_TIME, 0},
		   {"p50", "p50_ns", VIEW_QUANTILE, MEASURE_TIME, 500},
		   {"p90", "p90_ns", VIEW_QUANTILE, MEASURE_TIME, 900},
		   {"p99", "p99_ns", VIEW_QUANTILE, MEASURE_TIME, 990},
		   {"max", "max_ns", VIEW_QUANTILE, MEASURE_TIME, 1000},
		   {"samples", "samples", VIEW_COUNT, MEASURE_SAMPLES, 0},
		   {"cpu time", "cpu_ns", VIEW_TIME, MEASURE_CPU, 0},
		   {"wall time", "wall_ns", VIEW_TIME, MEASURE_WALL, 0},
		   {"waits", "waits", VIEW_COUNT, MEASURE_WAITS, 0},
		   {"waited", "waited_ns", VIEW_TIME, MEASURE_WAITED, 0}},
	.names = {"type", "span"},
	.by = 1,
	.begin = begin_spans,
	.add = add_inside,
};
