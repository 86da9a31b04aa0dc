/* SPDX-License-Identifier: Apache-2.0 */
#include "report/sum/aggregate.h"

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

static int room_for_id(struct aggregate *a, uint32_t id)
{
	uint64_t want = a->ids ? a->ids : 256;
	uint32_t *bigger;

	if (id < a->ids)
		return 1;
	while (want <= id)
		want *= 2;
	if (want > UINT32_MAX)
		want = UINT32_MAX;
	bigger = realloc(a->row_of, (size_t)want * sizeof(*bigger));
	if (!bigger)
		return 0;
	memset(bigger + a->ids, 0, ((size_t)want - a->ids) * sizeof(*bigger));
	a->row_of = bigger;
	a->ids = (uint32_t)want;
	return 1;
}

static int room_for_row(struct aggregate *a)
{
	uint32_t want = a->room ? a->room * 2 : 32;
	struct row *bigger;

	if (a->count < a->room)
		return 1;
	if (want <= a->room)
		return 0;
	bigger = realloc(a->rows, (size_t)want * sizeof(*bigger));
	if (!bigger)
		return 0;
	a->rows = bigger;
	a->room = want;
	return 1;
}

static struct row *row_for(struct aggregate *a, uint32_t id)
{
	if (!room_for_id(a, id))
		return NULL;
	if (!a->row_of[id]) {
		if (!room_for_row(a))
			return NULL;
		memset(&a->rows[a->count], 0, sizeof(a->rows[0]));
		a->rows[a->count].id = id;
		a->row_of[id] = ++a->count;
	}
	return &a->rows[a->row_of[id] - 1];
}

static void count_total(struct row *r, const struct sample *s, uint64_t number)
{
	if (r->last == number)
		return;
	r->last = number;
	r->samples += s->times;
	r->total_ns += s->weight_ns;
	draws_add(&r->draws, &s->draws);
}

static void count_self(struct row *r, const struct sample *s)
{
	r->self_samples += s->times;
	r->self_ns += s->weight_ns;
	draws_add(&r->self_draws, &s->draws);
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
		count_total(r, s, a->events);
		if (i == 0)
			count_self(r, s);
	}
	return 0;
}

int aggregate_add(struct aggregate *a, struct model *m, const struct sample *s)
{
	struct row *r;
	int is_first;

	a->events++;
	a->weight_ns += s->weight_ns;
	if (key_is_per_frame(&a->key))
		return aggregate_add_frames(a, m, s);
	r = row_for(a, key_of_sample(&a->key, m, s));
	if (!r)
		return -ENOMEM;
	is_first = !r->last;
	a->last = (uint32_t)(r - a->rows);
	count_total(r, s, a->events);
	count_self(r, s);
	return keep_common(r, &s->context, is_first);
}

struct order {
	const struct model *m;
	const struct key *key;
};

static int aggregate_heavier(uint64_t a, uint64_t b)
{
	return (b > a) - (b < a);
}

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
	int by = aggregate_heavier(a->self_ns, b->self_ns);

	if (!by)
		by = aggregate_heavier(a->self_samples, b->self_samples);
	if (!by)
		by = aggregate_heavier(a->total_ns, b->total_ns);
	if (!by)
		by = aggregate_heavier(a->samples, b->samples);
	return by ? by : aggregate_compare_names(o, a->id, b->id);
}

void aggregate_sort(struct aggregate *a, const struct model *m)
{
	struct order o = {m, &a->key};

	if (a->count)
		qsort_r(a->rows, a->count, sizeof(*a->rows), aggregate_row_order, &o);
	if (a->ids)
		memset(a->row_of, 0, a->ids * sizeof(*a->row_of));
	for (uint32_t i = 0; i < a->count; i++)
		a->row_of[a->rows[i].id] = i + 1;
}
