/* SPDX-License-Identifier: Apache-2.0 */
#include "report/sum/aggregate.h"

#include "base/array.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void aggregate_init(struct aggregate *a, const struct key *key)
{
	memset(a, 0, sizeof(*a));
	a->key = *key;
}

void aggregate_free(struct aggregate *a)
{
	for (uint32_t i = 0; i < a->count; i++)
		free(a->rows[i].common);
	free(a->rows);
	free(a->row_of);
	memset(a, 0, sizeof(*a));
}

static struct row *row_for(struct aggregate *a, uint32_t id)
{
	size_t before = a->ids;
	uint32_t *row_of = array_grown(a->row_of, (size_t)id + 1, &a->ids, sizeof(*row_of));
	struct row *rows =
		row_of ? array_grown(a->rows, a->count + 1u, &a->room, sizeof(*rows)) : NULL;

	if (row_of) {
		memset(row_of + before, 0, (a->ids - before) * sizeof(*row_of));
		a->row_of = row_of;
	}
	if (!rows)
		return NULL;
	a->rows = rows;
	if (!row_of[id]) {
		rows[a->count] = (struct row){.id = id};
		row_of[id] = ++a->count;
	}
	return &rows[row_of[id] - 1];
}

static int keep_common(struct row *r, const struct context *c, int is_first)
{
	uint32_t kept = 0;

	if (is_first && c->count) {
		r->common = malloc(c->count * sizeof(*r->common));
		if (!r->common)
			return -ENOMEM;
		memcpy(r->common, c->item, c->count * sizeof(*r->common));
		r->common_count = c->count;
	}
	for (uint32_t i = 0; i < r->common_count; i++) {
		struct context_item item = r->common[i];

		if (context_value(c, item.key, item.type) == item.value)
			r->common[kept++] = item;
	}
	r->common_count = kept;
	return 0;
}

static int aggregate_add_frames(struct aggregate *a, struct model *m, const struct sample *s)
{
	const struct stack *stack = model_stack_at(m, s->stack);

	for (uint32_t i = 0; i < stack->count || i == 0; i++) {
		/* A sample without a stack still shows, or the sum of selfs would lie. */
		uint32_t id = stack->count ? key_of_frame(&a->key, m, &stack->frames[i]) : 0;
		struct row *r = row_for(a, id);

		if (!r)
			return -ENOMEM;
		weight_count(&r->weight, s, a->events, i == 0);
	}
	return 0;
}

int aggregate_add(struct aggregate *a, struct model *m, const struct sample *s)
{
	struct row *r;
	int is_first;

	a->events++;
	if (key_is_per_frame(&a->key))
		return aggregate_add_frames(a, m, s);
	r = row_for(a, key_of_sample(&a->key, m, s));
	if (!r)
		return -ENOMEM;
	is_first = !r->weight.last;
	a->last = (uint32_t)(r - a->rows);
	weight_count(&r->weight, s, a->events, 1);
	return keep_common(r, &s->context, is_first);
}

struct order {
	const struct model *m;
	const struct key *key;
};

static int aggregate_compare_names(const struct order *o, uint32_t a, uint32_t b)
{
	const struct source_line *left = model_line_at(o->m, a), *right = model_line_at(o->m, b);
	int by;

	if (o->key->kind == KEY_STACK)
		return a < b ? -1 : a > b;
	if (o->key->kind == KEY_LINE) {
		by = strcmp(names_text(&o->m->names, left->function),
			    names_text(&o->m->names, right->function));
		if (!by)
			by = strcmp(names_text(&o->m->names, left->file),
				    names_text(&o->m->names, right->file));
		return by ? by : (left->line > right->line) - (left->line < right->line);
	}
	return strcmp(names_text(&o->m->names, a), names_text(&o->m->names, b));
}

static int aggregate_row_order(const void *left, const void *right, void *arg)
{
	const struct row *a = left, *b = right;
	const struct order *o = arg;
	int by = amount_order(&a->weight.self, &b->weight.self);

	if (!by)
		by = amount_order(&a->weight.total, &b->weight.total);
	return by ? by : aggregate_compare_names(o, a->id, b->id);
}

void aggregate_sort(struct aggregate *a, const struct model *m)
{
	struct order o = {m, &a->key};

	if (a->count)
		qsort_r(a->rows, a->count, sizeof(*a->rows), aggregate_row_order, &o);
	/* Rows have changed places. */
	free(a->row_of);
	a->row_of = NULL;
	a->ids = 0;
}
