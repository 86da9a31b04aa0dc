/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A report as one JSON object; members in the order of docs/report.md. Numbers of samples
 * and ns are integers; a value beyond 2^63 - 1 is given as that.
 */
#include "report/sum/report.h"

#include "report/sum/books.h"

#include "report/show/json_account.h"
#include "report/show/json_value.h"

#include "weft/abi/counters.h"

#include "base/recording.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

static json_t *json_name(const struct model *m, uint32_t id)
{
	return json_text(names_text(&m->names, id));
}

/* Every cause of loss, also those with 0, if the file has weft's counters at all. */
static json_t *lost(const struct facts *f)
{
	json_t *o = json_object();

	if (!f->counter_count)
		return o;
#define LOST_ROW(number_, id, name_, kind, help)                                                   \
	if (strcmp(#kind, "LOST") == 0)                                                            \
		json_object_set_new(o, name_, json_integer(0));
	WEFT_COUNTERS(LOST_ROW)
#undef LOST_ROW
	json_object_set_new(o, RECORDING_COUNTER_PENDING, json_integer(0));
	for (uint32_t i = 0; i < f->counter_count; i++)
		if (strcmp(facts_name(f, f->counters[i].kind), "lost") == 0)
			json_set_named(o, facts_name(f, f->counters[i].name),
				       json_integer(f->counters[i].value));
	return o;
}

static json_t *counters(const struct facts *f)
{
	json_t *o = json_object();

	for (uint32_t i = 0; i < f->counter_count; i++)
		json_set_named(o, facts_name(f, f->counters[i].name),
			       json_integer(f->counters[i].value));
	return o;
}

static json_t *histograms(const struct facts *f)
{
	json_t *o = json_object();

	for (uint32_t i = 0; i < f->bucket_count; i++) {
		const char *of = facts_name(f, f->buckets[i].name);
		json_t *rows = json_named(o, of);

		if (!rows && json_set_named(o, of, json_array()) == 0)
			rows = json_named(o, of);
		json_array_append_new(rows, json_pack("{s:I,s:I}", "up_to",
						      (json_int_t)f->buckets[i].up_to, "count",
						      (json_int_t)f->buckets[i].count));
	}
	return o;
}

static json_t *books(const struct facts *f)
{
	struct books b;

	if (!books_read(f, &b))
		return json_object();
	return json_pack("{s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:b}", "attempted", (json_int_t)b.attempted,
			 "delivered", (json_int_t)b.delivered, "lost", (json_int_t)b.lost,
			 "pending", (json_int_t)b.pending, "difference", (json_int_t)b.difference,
			 "generations", (json_int_t)b.generations, "unbalanced_generations",
			 (json_int_t)b.unbalanced, "balanced", books_balance(&b));
}

/* Quantiles of a histogram: the upper ends of the buckets that half, 99 % and all values reach. */
static void set_quantiles(json_t *all, const struct facts *f, const char *histogram)
{
	if (books_quantile(f, histogram, 1))
		json_object_set_new(all, histogram,
				    json_pack("{s:I,s:I,s:I}", "median",
					      (json_int_t)books_quantile(f, histogram, 0.5), "p99",
					      (json_int_t)books_quantile(f, histogram, 0.99), "max",
					      (json_int_t)books_quantile(f, histogram, 1)));
}

static json_t *quantiles(const struct facts *f)
{
	json_t *all = json_object();

	set_quantiles(all, f, RECORDING_HISTOGRAM_HANDLER);
	set_quantiles(all, f, RECORDING_HISTOGRAM_CLAIM);
	return all;
}

/* What the process says of itself, as it did last. */
static json_t *resource_of(const struct model *m, uint32_t process)
{
	const struct resources *all = &m->resources;
	const struct resource_attribute *a = NULL;
	json_t *o = json_object();

	while ((a = resources_next(all, process, a)))
		json_set_named(o, names_text(&all->keys, a->key),
			       json_text(names_text(&m->names, resources_newest(all, a))));
	return o;
}

static json_t *processes(const struct facts *f)
{
	json_t *rows = json_array();

	for (uint32_t i = 0; i < f->process_count; i++) {
		const struct fact_process *p = &f->processes[i];

		json_array_append_new(rows,
				      json_pack("{s:o,s:o,s:o,s:I,s:o}", "process",
						json_text(facts_name(f, p->name)), "command_line",
						json_text(facts_name(f, p->command_line)), "end",
						json_text(facts_name(f, p->end)), "duration_ns",
						(json_int_t)p->duration_ns, "resource",
						resource_of(f->model, p->name)));
	}
	return rows;
}

static json_t *event_types(const struct facts *f)
{
	json_t *o = json_object();

	for (uint32_t i = 0; i < f->type_count; i++) {
		const struct fact_type *t = &f->types[i];

		json_set_named(o, facts_name(f, t->name),
			       json_pack("{s:o,s:o,s:b}", "events", json_number(t->events),
					 "period_ns", json_number(t->period_ns), "counted",
					 t->counted));
	}
	return o;
}

/* Context that all samples of the row share: trace, root, tags. */
static json_t *show_json_context(const struct model *m, const struct row *r)
{
	json_t *o = json_object();

	for (uint32_t i = 0; i < r->common_count; i++) {
		const struct context_item *c = &r->common[i];
		const char *key = context_key_name(m, c->key);

		if (!json_named(o, key))
			json_set_named(o, key, json_name(m, c->value));
	}
	return o;
}

static void json_set_line(json_t *o, const struct model *m, const struct source_line *line)
{
	json_object_set_new(o, "function",
			    line->function ? json_name(m, line->function)
					   : json_text(KEY_UNKNOWN_FUNCTION));
	json_object_set_new(o, "file", line->file ? json_name(m, line->file) : json_null());
	json_object_set_new(o, "line", line->line ? json_integer(line->line) : json_null());
}

static json_t *json_row(const struct report *report, const struct aggregate *a, const struct row *r)
{
	const struct model *m = report->model;
	const struct amount *self = &r->weight.self, *total = &r->weight.total;
	char *key = key_name(&a->key, m, r->id);
	json_t *o = key ? json_pack("{s:o,s:o,s:o,s:o,s:o}", "key", json_text(key), "samples",
				    json_number(total->samples), "self_ns", json_number(self->ns),
				    "total_ns", json_number(total->ns), "self_samples",
				    json_number(self->samples))
			: NULL;

	free(key);
	if (o) {
		json_set_share(o, "self_share", self, &report->whole, report->is_sampled);
		json_set_share(o, "total_share", total, &report->whole, report->is_sampled);
	}
	if (o && a->key.kind == KEY_LINE)
		json_set_line(o, m, model_line_at(m, r->id));
	if (o && r->common_count)
		json_object_set_new(o, "context", show_json_context(m, r));
	return o;
}

static json_t *rows(const struct report *r, const struct aggregate *a, uint64_t top)
{
	json_t *all = json_array();

	for (uint32_t i = 0; i < a->count && (!top || i < top); i++)
		if (json_array_append_new(all, json_row(r, a, &a->rows[i]))) {
			json_decref(all);
			return NULL;
		}
	return all;
}

/* The sums to show: those asked for; in the overview those by span, when there are any. */
static const struct aggregate *chosen(const struct report *r)
{
	const struct aggregate *last = &r->sums[r->sum_count - 1];

	for (size_t i = 0; i < r->sum_count && r->overview; i++)
		if (r->sums[i].key.kind == KEY_SPAN &&
		    (r->sums[i].count > 1 || (r->sums[i].count && r->sums[i].rows[0].id)))
			return &r->sums[i];
	return last;
}

static json_t *where(const struct report *r)
{
	json_t *all = json_array();

	for (size_t i = 0; i < r->where_count; i++)
		json_array_append_new(
			all, json_sprintf("%s=%s", r->wheres[i].key.text, r->wheres[i].value));
	return all;
}

static void set_more(json_t *o, const struct report *r)
{
	json_object_set_new(o, "where", where(r));
	if (r->has_states)
		json_object_set_new(o, "time",
				    json_pack("{s:o,s:o,s:o}", "running_ns",
					      json_number(r->state_ns[FACT_RUNNING]),
					      "waiting_for_cpu_ns",
					      json_number(r->state_ns[FACT_WAITING]), "blocked_ns",
					      json_number(r->state_ns[FACT_BLOCKED])));
	json_object_set_new(o, "with_context", json_number(r->with_context.samples));
	json_object_set_new(o, "truncated_stacks", json_number(r->truncated));
	json_object_set_new(o, "samples_of_unknown_weight", json_number(r->weightless));
	if (r->is_sampled) {
		json_object_set_new(o, "confidence", json_real(INTERVAL_LEVEL));
		json_object_set_new(o, "independent_samples",
				    json_real(interval_draws(&r->whole.draws, &r->whole.draws)));
	}
	json_object_set_new(o, "clocks", json_clocks(r->facts));
	json_object_set_new(o, "account", json_account(r->facts));
	json_object_set_new(o, "thread_times", json_times(r->facts));
	json_object_set_new(o, "events", event_types(r->facts));
	json_object_set_new(o, "processes", processes(r->facts));
	json_object_set_new(o, "counters", counters(r->facts));
	json_object_set_new(o, "books", books(r->facts));
	json_object_set_new(o, "histograms", histograms(r->facts));
	json_object_set_new(o, "quantiles", quantiles(r->facts));
	if (*r->facts->damage)
		json_object_set_new(o, "damage", json_text(r->facts->damage));
}

int report_json(const struct report *r, uint64_t top, FILE *out)
{
	const struct aggregate *a = chosen(r);
	json_t *o = json_pack("{s:o,s:I,s:o,s:o,s:o,s:s,s:o}", "file", json_text(r->path),
			      "duration_ns", (json_int_t)(r->facts->end_ns - r->facts->start_ns),
			      "samples", json_number(r->whole.samples), "weight_ns",
			      json_number(r->whole.ns), "lost", lost(r->facts), "by", a->key.text,
			      "rows", rows(r, a, top));

	if (!o)
		return -ENOMEM;
	set_more(o, r);
	return json_emit(o, out, JSON_PRETTY);
}
