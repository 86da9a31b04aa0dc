/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See diff.h. Each section is a view of both files; rows of one name are put side by side, and
 * sorted by how much their weight per unit changed, most first.
 */
#include "report/diff/diff.h"

#include "base/buf.h"
#include "base/map.h"
#include "report/read/rows.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum form {
	FORM_SHARE,    /* of the whole */
	FORM_PER,      /* time per unit; or samples, where a side has no weights */
	FORM_COUNT,    /* number per unit */
	FORM_QUANTILE, /* of durations */
	FORM_EACH,     /* time for each of the row's events */
	FORM_TIME,     /* absolute, only in JSON */
	FORM_NUMBER,   /* absolute, only in JSON */
};

struct column {
	const char *title, *json;
	enum form form;
	enum measure measure;
	unsigned int permille;
};

struct section {
	const struct view *view;
	enum measure weight; /* rows are sorted by its change per unit */
	struct column column[12];
};

static const struct section sections[DIFF_SECTIONS] = {
	[DIFF_SUMS] = {&view_methods,
		       MEASURE_SELF,
		       {{"self", "self_share", FORM_SHARE, MEASURE_SELF, 0},
			{"total", "total_share", FORM_SHARE, MEASURE_CPU, 0},
			{"self", "self_per_unit", FORM_PER, MEASURE_SELF, 0},
			{NULL, "self_ns", FORM_TIME, MEASURE_SELF, 0},
			{NULL, "total_ns", FORM_TIME, MEASURE_CPU, 0},
			{NULL, "self_samples", FORM_NUMBER, MEASURE_SELF_SAMPLES, 0},
			{NULL, "samples", FORM_NUMBER, MEASURE_SAMPLES, 0}}},
	[DIFF_LATENCIES] = {&view_latencies,
			    MEASURE_TIME,
			    {{"count", "count_per_unit", FORM_COUNT, MEASURE_COUNT, 0},
			     {"p50", "p50_ns", FORM_QUANTILE, MEASURE_TIME, 500},
			     {"p99", "p99_ns", FORM_QUANTILE, MEASURE_TIME, 990},
			     {"time", "time_per_unit", FORM_PER, MEASURE_TIME, 0},
			     {NULL, "count", FORM_NUMBER, MEASURE_COUNT, 0},
			     {NULL, "total_ns", FORM_TIME, MEASURE_TIME, 0}}},
	[DIFF_SPANS] = {&view_spans,
			MEASURE_TIME,
			{{"count", "count_per_unit", FORM_COUNT, MEASURE_COUNT, 0},
			 {"p50", "p50_ns", FORM_QUANTILE, MEASURE_TIME, 500},
			 {"p99", "p99_ns", FORM_QUANTILE, MEASURE_TIME, 990},
			 {"cpu", "cpu_each_ns", FORM_EACH, MEASURE_CPU, 0},
			 {"waited", "waited_each_ns", FORM_EACH, MEASURE_WAITED, 0},
			 {"time", "time_per_unit", FORM_PER, MEASURE_TIME, 0},
			 {NULL, "count", FORM_NUMBER, MEASURE_COUNT, 0},
			 {NULL, "total_ns", FORM_TIME, MEASURE_TIME, 0},
			 {NULL, "samples", FORM_NUMBER, MEASURE_SAMPLES, 0},
			 {NULL, "waits", FORM_NUMBER, MEASURE_WAITS, 0}}},
};

static const struct tally *diff_tally_of(const struct diff *d, int side, enum diff_section section)
{
	return &d->side[side].view[section]->tally;
}

const struct facts *diff_facts(const struct diff *d, int side)
{
	return source_facts(d->side[side].view[DIFF_SUMS]->source);
}

static const struct model *diff_model(const struct diff *d, int side)
{
	return source_model(d->side[side].view[DIFF_SUMS]->source);
}

int64_t diff_lost(const struct diff *d, int side)
{
	return facts_sum(diff_facts(d, side), "lost");
}

uint64_t diff_samples(const struct diff *d, int side)
{
	return diff_tally_of(d, side, DIFF_SUMS)->whole[MEASURE_SELF_SAMPLES];
}

uint64_t diff_weight(const struct diff *d, int side)
{
	return diff_tally_of(d, side, DIFF_SUMS)->whole[MEASURE_SELF];
}

/* ---- columns */

static const char *per_text(const struct diff *d)
{
	static const char *const text[] = {
		[DIFF_PER_SECOND] = "/s", [DIFF_PER_SPAN] = "/span", [DIFF_TOTAL] = ""};

	return text[d->query->per];
}

static void diff_add_column(struct diff_columns *c, const char *title, const char *unit,
			    const char *json, int side, int is_text)
{
	static const char *const suffix[][2] = {{" A", "_a"}, {" B", "_b"}, {"", ""}};
	size_t i = c->count++;

	snprintf(c->json[i], DIFF_TITLE, "%s%s", json, suffix[side][1]);
	if (title)
		snprintf(c->title[i], DIFF_TITLE, "%s%s%s", title, unit, suffix[side][0]);
	c->column[i] = (struct table_column){
		.title = title ? c->title[i] : NULL, .json = c->json[i], .is_text = is_text};
}

static int is_per_unit(const struct column *c)
{
	return c->form == FORM_PER || c->form == FORM_COUNT;
}

static void diff_make_columns(struct diff *d, enum diff_section section)
{
	const struct section *s = &sections[section];
	struct diff_columns *out = &d->columns[section];

	for (const struct column *c = s->column; c->json; c++)
		for (int side = 0; side < 2; side++)
			diff_add_column(out, c->title, is_per_unit(c) ? per_text(d) : "", c->json,
					side, 0);
	diff_add_column(out, "change", "", "change", 2, 0);
	for (int i = 0; i < TALLY_NAMES && s->view->names[i]; i++) {
		const char *name = s->view->names[i];

		if (section == DIFF_SUMS && d->query->by)
			name = d->query->by->text;
		diff_add_column(out, name, "", section == DIFF_SUMS ? "key" : name, 2, 1);
	}
	table_init(&d->table[section], out->column, out->count);
}

/* ---- rows */

struct pair {
	const struct tally_row *of[2]; /* NULL = not there */
	const char *name[TALLY_NAMES];
	double change, weight;
	int is_none; /* the change is no more than chance */
};

struct pairs {
	struct map *index;
	struct pair *pair;
	uint32_t count;
	size_t room;
};

/* Ids differ from file to file: rows are joined by their texts. */
static struct pair *pair_of(struct pairs *p, const struct model *m, const struct tally_row *r)
{
	struct buf key = {0};
	struct pair *pair;
	uint32_t number;

	for (int i = 0; i < TALLY_NAMES; i++) {
		const char *text = names_text(&m->names, r->name[i]);

		buf_put(&key, text, strlen(text) + 1);
	}
	number = key.failed ? 0
			    : rows_put(&p->index, key.data, key.size, &p->pair, &p->count, &p->room,
				       sizeof(*pair));
	buf_free(&key);
	if (!number)
		return NULL;
	pair = &p->pair[number - 1];
	for (int i = 0; i < TALLY_NAMES; i++)
		if (r->name[i] && !pair->name[i])
			pair->name[i] = names_text(&m->names, r->name[i]);
	return pair;
}

/* Time per unit, or samples if a side has no weights: that measure comes just before. */
static double weight_per_unit(const struct diff *d, int side, const struct tally_row *r,
			      enum measure measure)
{
	int counts = d->samples_only && measure == MEASURE_SELF;
	enum measure of = counts ? (enum measure)(measure - 1) : measure;

	return r && d->side[side].units > 0 ? (double)r->value[of] / d->side[side].units : 0;
}

static int diff_has_errors(const struct diff *d)
{
	return diff_tally_of(d, 0, DIFF_SUMS)->has_errors &&
	       diff_tally_of(d, 1, DIFF_SUMS)->has_errors && d->side[0].units > 0 &&
	       d->side[1].units > 0;
}

/* Is the difference of the self times per unit no more than chance? */
static int is_chance(const struct diff *d, const struct pair *p)
{
	struct draws drawn[2] = {{0, 0, 0}, {0, 0, 0}};

	for (int side = 0; side < 2; side++) {
		const struct tally_row *r = p->of[side];
		double samples = r ? (double)r->value[MEASURE_SELF_SAMPLES] : 0;

		/* If one side alone has weights, its draws are in ns. */
		if (d->samples_only)
			drawn[side] = (struct draws){samples, samples, samples};
		else if (r)
			drawn[side] = r->drawn[DRAWN_SELF];
	}
	return interval_same_rate(&drawn[0], d->side[0].units, &drawn[1], d->side[1].units);
}

static int diff_gather(struct diff *d, enum diff_section section, struct pairs *p)
{
	for (int side = 0; side < 2; side++) {
		const struct tally *t = diff_tally_of(d, side, section);
		const struct model *m = source_model(d->side[side].view[section]->source);

		for (uint32_t i = 0; i < t->count; i++) {
			struct pair *pair = pair_of(p, m, &t->row[i]);

			if (!pair)
				return -ENOMEM;
			pair->of[side] = &t->row[i];
		}
	}
	for (size_t i = 0; i < p->count; i++) {
		struct pair *pair = &p->pair[i];
		double a = weight_per_unit(d, 0, pair->of[0], sections[section].weight);
		double b = weight_per_unit(d, 1, pair->of[1], sections[section].weight);

		pair->change = fabs(b - a);
		pair->weight = a > b ? a : b;
		pair->is_none = section == DIFF_SUMS && diff_has_errors(d) && is_chance(d, pair);
	}
	return 0;
}

static int most_changed(const void *left, const void *right)
{
	const struct pair *a = left, *b = right;

	if (a->is_none != b->is_none)
		return a->is_none - b->is_none;
	if (a->change != b->change)
		return a->change < b->change ? 1 : -1;
	if (a->weight != b->weight)
		return a->weight < b->weight ? 1 : -1;
	for (int i = 0; i < TALLY_NAMES; i++) {
		int by = strcmp(a->name[i] ? a->name[i] : "", b->name[i] ? b->name[i] : "");

		if (by)
			return by;
	}
	return 0;
}

static void diff_put_share(struct diff *d, int side, const struct column *c,
			   const struct tally_row *r, enum diff_section section)
{
	const uint64_t *whole = diff_tally_of(d, side, section)->whole;
	struct interval_ends ends;
	enum measure of = d->samples_only ? (enum measure)(c->measure - 1) : c->measure;

	table_share(&d->table[section], r ? r->value[of] : 0, whole[of]);
	if (tally_ends(diff_tally_of(d, side, section), r, of, &ends) == 0)
		table_ends(&d->table[section], &ends);
}

static void put_per(struct diff *d, int side, const struct column *c, const struct tally_row *r,
		    struct table *out)
{
	double value = weight_per_unit(d, side, r, c->measure);

	if (!(d->side[side].units > 0))
		table_none(out);
	else if (c->form == FORM_COUNT || (d->samples_only && c->measure == MEASURE_SELF))
		table_real(out, value);
	else
		table_time(out, (uint64_t)(value + 0.5));
}

static void diff_put_cell(struct diff *d, int side, const struct column *c,
			  const struct tally_row *r, enum diff_section section)
{
	struct table *out = &d->table[section];

	if (c->form == FORM_SHARE)
		diff_put_share(d, side, c, r, section);
	else if (is_per_unit(c))
		put_per(d, side, c, r, out);
	else if (c->form == FORM_TIME)
		table_time(out, r ? r->value[c->measure] : 0);
	else if (c->form == FORM_NUMBER)
		table_count(out, r ? r->value[c->measure] : 0);
	else if (!r || !r->value[MEASURE_COUNT])
		table_none(out);
	else if (c->form == FORM_QUANTILE)
		table_time(out, histogram_quantile(&r->times, c->permille));
	else
		table_time(out, r->value[c->measure] / r->value[MEASURE_COUNT]);
}

static void diff_put_row(struct diff *d, enum diff_section section, const struct pair *p)
{
	const struct section *s = &sections[section];
	struct table *out = &d->table[section];

	for (const struct column *c = s->column; c->json; c++)
		for (int side = 0; side < 2; side++)
			diff_put_cell(d, side, c, p->of[side], section);
	table_change(out, weight_per_unit(d, 0, p->of[0], s->weight),
		     weight_per_unit(d, 1, p->of[1], s->weight));
	if (section == DIFF_SUMS && diff_has_errors(d))
		table_certainty(out, p->is_none ? CELL_IS_NONE : CELL_IS_MORE);
	for (int i = 0; i < TALLY_NAMES && s->view->names[i]; i++)
		table_text(out, p->name[i]);
}

static int make_section(struct diff *d, enum diff_section section)
{
	struct pairs p = {.index = NULL};
	int rc;

	diff_make_columns(d, section);
	rc = diff_gather(d, section, &p);
	if (!rc && p.count)
		qsort(p.pair, p.count, sizeof(*p.pair), most_changed);
	for (size_t i = 0; i < p.count && !rc; i++)
		diff_put_row(d, section, &p.pair[i]);
	map_free(p.index);
	free(p.pair);
	return rc ? rc : d->table[section].failed ? -ENOMEM : 0;
}

/* ---- sides */

static void set_units(struct diff *d, int side)
{
	struct diff_side *s = &d->side[side];

	s->duration_ns = facts_duration(diff_facts(d, side));
	s->spans = s->view[DIFF_SPANS]->tally.whole[MEASURE_SPANS];
	s->units = d->query->per == DIFF_PER_SECOND ? (double)s->duration_ns / 1e9
		   : d->query->per == DIFF_PER_SPAN ? (double)s->spans
						    : 1;
}

static int read_side(struct diff *d, int side)
{
	struct diff_side *s = &d->side[side];
	int rc = 0;

	for (int i = 0; i < DIFF_SECTIONS && !rc; i++) {
		s->query[i] = (struct view_query){
			.view = sections[i].view,
			.path = d->query->path[side],
			.events = i == DIFF_SUMS ? d->query->events : NULL,
			.by = i == DIFF_SUMS ? d->query->by : NULL,
			.wheres = d->query->wheres,
			.where_count = d->query->where_count,
			.bare_names = 1,
		};
		rc = view_run(&s->view[i], &s->query[i]);
	}
	if (!rc)
		set_units(d, side);
	return rc;
}

/* ---- settings */

/* NULL: the recording does not have it. */
static const char *setting_value(const struct diff *d, int side, const char *name)
{
	const struct map *settings = diff_facts(d, side)->settings;
	const struct names *names = &diff_model(d, side)->names;
	uint32_t id = names_find(names, name);
	const uint64_t *value = settings ? map_get(settings, &id, sizeof(id)) : NULL;

	return value ? names_text(names, (uint32_t)*value) : NULL;
}

static int setting_order(const void *left, const void *right)
{
	return strcmp(*(const char *const *)left, *(const char *const *)right);
}

static void compare_setting(struct diff *d, const char *name)
{
	const char *a = setting_value(d, 0, name), *b = setting_value(d, 1, name);

	if (a && b && strcmp(a, b) == 0)
		return;
	table_text(&d->settings, name);
	table_text(&d->settings, a);
	table_text(&d->settings, b);
}

static size_t setting_names(const struct diff *d, int side, const char **out)
{
	const struct map *settings = diff_facts(d, side)->settings;
	size_t cursor = 0, bytes, count = 0;
	const void *id;
	uint64_t *value;

	while (settings && map_next(settings, &cursor, &id, &bytes, &value))
		out[count++] = names_text(&diff_model(d, side)->names, *(const uint32_t *)id);
	return count;
}

/* Those that differ, by name. */
static void diff_settings(struct diff *d)
{
	static const struct table_column column[] = {
		{.title = "setting", .json = "setting", .is_text = 1},
		{.title = "A", .json = "a", .is_text = 1, .stays = 1},
		{.title = "B", .json = "b", .is_text = 1, .stays = 1},
	};
	size_t room = 1, count;
	const char **name;

	table_init(&d->settings, column, sizeof(column) / sizeof(column[0]));
	for (int side = 0; side < 2; side++)
		if (diff_facts(d, side)->settings)
			room += map_count(diff_facts(d, side)->settings);
	name = calloc(room, sizeof(*name));
	if (!name) {
		d->settings.failed = 1;
		return;
	}
	count = setting_names(d, 0, name);
	count += setting_names(d, 1, name + count);
	qsort(name, count, sizeof(*name), setting_order);
	for (size_t i = 0; i < count; i++)
		if (!i || strcmp(name[i], name[i - 1]) != 0)
			compare_setting(d, name[i]);
	free(name);
}

int diff_run(struct diff **out, const struct diff_query *query, int *failed)
{
	struct diff *d = calloc(1, sizeof(*d));
	int rc = d ? 0 : -ENOMEM;

	*failed = 0;
	for (int side = 0; side < 2 && !rc; side++) {
		d->query = query;
		*failed = side;
		rc = read_side(d, side);
	}
	for (int i = 0; i < DIFF_SECTIONS && !rc; i++) {
		d->samples_only = !diff_weight(d, 0) || !diff_weight(d, 1);
		rc = make_section(d, (enum diff_section)i);
	}
	if (rc) {
		diff_free(d);
		return rc;
	}
	diff_settings(d);
	*out = d;
	return 0;
}

void diff_free(struct diff *d)
{
	if (!d)
		return;
	for (int i = 0; i < DIFF_SECTIONS; i++) {
		table_free(&d->table[i]);
		view_free(d->side[0].view[i]);
		view_free(d->side[1].view[i]);
	}
	table_free(&d->settings);
	free(d);
}
