/* SPDX-License-Identifier: Apache-2.0 */
/* See view.h. One pass hands a view its events; then rows are sorted and become a table. */
#include "report/view/view.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

const struct view *const views[] = {
	&view_methods, &view_latencies, &view_spans, &view_labels, &view_threads, &view_locks, NULL,
};

const struct view *view_find(const char *name)
{
	for (size_t i = 0; views[i]; i++)
		if (strcmp(views[i]->name, name) == 0)
			return views[i];
	return NULL;
}

/* ---- rows as a table */

static size_t set_columns(const struct view *view, struct table_column *column)
{
	size_t n = 0;

	for (size_t i = 0; i < VIEW_COLUMNS && view->column[i].title; i++)
		column[n++] =
			(struct table_column){.title = view->column[i].title,
					      .json = view->column[i].json,
					      .hides_zero = view->column[i].form != VIEW_SHARE};
	for (size_t i = 0; i <= TALLY_NAMES; i++)
		if (view->names[i])
			column[n++] = (struct table_column){
				.title = view->names[i], .json = view->names[i], .is_text = 1};
	return n;
}

static void share_cell(const struct view_column *c, const struct tally *t,
		       const struct tally_row *r, struct table *out)
{
	struct interval_ends ends;
	enum measure of = t->whole[c->measure] ? c->measure : (enum measure)(c->measure - 1);

	table_share(out, r->value[of], t->whole[of]);
	if (tally_ends(t, r, of, &ends) == 0)
		table_ends(out, &ends);
}

/* The measures of one row of a tally, as cells of the view's columns. */
static void view_cells(const struct view *view, const struct tally *t, const struct tally_row *r,
		       struct table *out)
{
	for (size_t i = 0; i < VIEW_COLUMNS && view->column[i].title; i++) {
		const struct view_column *c = &view->column[i];

		if (c->form == VIEW_SHARE)
			share_cell(c, t, r, out);
		else if (c->form == VIEW_QUANTILE)
			table_time(out, histogram_quantile(&r->times, c->permille));
		else if (c->form == VIEW_TIME)
			table_time(out, r->value[c->measure]);
		else
			table_count(out, r->value[c->measure]);
	}
}

static void make_table(struct view_run *v)
{
	const struct model *m = source_model(v->source);

	table_init(&v->table, v->column, set_columns(v->view, v->column));
	for (uint32_t i = 0; i < v->tally.count; i++) {
		const struct tally_row *r = &v->tally.row[i];

		view_cells(v->view, &v->tally, r, &v->table);
		for (size_t k = 0; k < TALLY_NAMES; k++)
			if (v->view->names[k])
				table_text(&v->table,
					   r->name[k] ? names_text(&m->names, r->name[k]) : NULL);
		if (v->view->names[TALLY_NAMES])
			table_text(&v->table, r->note ? names_text(&m->names, r->note) : NULL);
	}
}

/* ---- running */

int view_selects(const struct view_run *v, const struct sample *s)
{
	return where_all_hold(v->wheres, v->query->where_count, source_model(v->source), s);
}

static int view_add_event(const struct sample *s, void *arg)
{
	struct view_run *v = arg;

	v->read++;
	if (!view_selects(v, s))
		return 0;
	v->number++;
	return v->view ? v->view->add(v, s) : view_events_add(v, s);
}

static int view_open_source(struct view_run *v, const struct view_query *q)
{
	const char *which = !q->view ? q->type : q->events ? q->events : q->view->events;
	int rc;

	rc = source_open(&v->source, q->path, which);
	if (rc)
		return rc;
	v->wheres = where_bound(q->wheres, q->where_count, source_model(v->source));
	if (!v->wheres)
		return -ENOMEM;
	source_set_detail(v->source, 0);
	v->tally.has_errors = source_is_sampled(v->source);
	if (q->by) {
		v->by = *q->by;
		key_bind(&v->by, source_model(v->source));
	}
	return 0;
}

static int view_read_all(struct view_run *v)
{
	int rc = 0;

	if (v->view && v->view->begin)
		rc = v->view->begin(v);
	if (!rc)
		rc = source_read(v->source, v->view ? v->view->kinds : SAMPLE_COUNTED,
				 view_add_event, v);
	if (v->view && v->view->finish) {
		int ended = v->view->finish(v);

		rc = rc ? rc : ended;
	}
	return rc ? rc : v->tally.failed || v->table.failed ? -ENOMEM : 0;
}

int view_run(struct view_run **out, const struct view_query *query)
{
	struct view_run *v = calloc(1, sizeof(*v));
	int rc;

	if (!v)
		return -ENOMEM;
	v->view = query->view;
	v->query = query;
	rc = view_open_source(v, query);
	if (!rc)
		rc = view_read_all(v);
	if (rc) {
		view_free(v);
		return rc;
	}
	if (v->view) {
		tally_sort(&v->tally, source_model(v->source), v->view->order);
		make_table(v);
	}
	*out = v;
	return 0;
}

void view_free(struct view_run *v)
{
	if (!v)
		return;
	if (!v->view)
		view_events_free(v);
	table_free(&v->table);
	tally_free(&v->tally);
	source_free(v->source);
	free(v->wheres);
	free(v->state);
	free(v);
}

/* ---- places */

static int view_starts_with(const char *text, const char *prefix)
{
	return strncmp(text, prefix, strlen(prefix)) == 0;
}

static int is_of_jdk(const struct model *m, const struct frame *f)
{
	const char *name = names_text(&m->names, f->function);

	return strcmp(names_text(&m->names, f->module), "java") == 0 &&
	       (view_starts_with(name, "java.") || view_starts_with(name, "jdk.") ||
		view_starts_with(name, "sun."));
}

uint32_t view_place(const struct model *m, uint32_t stack)
{
	const struct stack *s = model_stack_at(m, stack);

	for (uint32_t i = 0; i < s->count; i++)
		if (!is_of_jdk(m, &s->frames[i]))
			return s->frames[i].function;
	return s->count ? s->frames[0].function : 0;
}
