/* SPDX-License-Identifier: Apache-2.0 */
#include "report/sum/report.h"

#include "report/read/times.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void add_sum(struct report *r, const char *by)
{
	struct key key;

	if (r->sum_count == REPORT_SUMS || key_parse(&key, by))
		return;
	key_bind(&key, r->model);
	aggregate_init(&r->sums[r->sum_count++], &key);
}

/* The keys that tell best what the time was for: names that people gave, then ids, then code. */
static void plan_overview(struct report *r)
{
	uint32_t keys = r->model->keys.count;
	size_t first;
	char name[sizeof(((struct key *)0)->text)];

	r->overview = 1;
	if (r->has_states)
		add_sum(r, "state");
	first = r->sum_count;
	for (uint32_t i = CONTEXT_TAGS; i < keys && r->sum_count < REPORT_TAGS + first; i++) {
		const char *key = names_text(&r->model->keys, i);
		int bytes = snprintf(name, sizeof(name), "%s%s", key_prefix(key), key);

		if (bytes > 0 && (size_t)bytes < sizeof(name))
			add_sum(r, name);
	}
	r->first_tag = first;
	r->tag_count = r->sum_count - first;
	if (keys > CONTEXT_TAGS + r->tag_count)
		r->tags_left = keys - CONTEXT_TAGS - (uint32_t)r->tag_count;
	if (source_has_sites(r->source)) {
		add_sum(r, "site");
		add_sum(r, "coroutine");
	}
	add_sum(r, "span");
	add_sum(r, "process");
	add_sum(r, "function");
}

static int plan(struct report *r, const struct report_query *q)
{
	r->model = source_model(r->source);
	r->facts = source_facts(r->source);
	r->key_count = r->model->keys.count;
	r->has_states = source_has_states(r->source);
	r->is_sampled = source_is_sampled(r->source);
	if (!q->by)
		plan_overview(r);
	else
		add_sum(r, q->by->text);
	r->wheres = where_bound(q->wheres, q->where_count, r->model);
	r->where_count = q->where_count;
	r->has_tree = q->tree;
	return r->wheres ? partition_init(&r->partition, r->tag_count) : -ENOMEM;
}

/* Lines make many more stacks distinct: only when asked for. */
static unsigned int report_detail_of(const struct report *r, const struct report_query *q)
{
	int lines = q->by && q->by->kind == KEY_LINE;
	int sites = source_has_sites(r->source);

	for (size_t i = 0; i < q->where_count; i++)
		lines |= q->wheres[i].key.kind == KEY_LINE;
	return (lines || sites ? DECODE_LINES : 0u) | (sites ? DECODE_OFFSETS : 0u) |
	       (q->no_inlines ? DECODE_NO_INLINES : 0u);
}

/* Rows are sorted later, so while samples are read their indexes can stand for them. */
static int add_tuple(struct report *r, const struct sample *s)
{
	uint32_t rows[REPORT_TAGS];

	for (size_t i = 0; i < r->tag_count; i++)
		rows[i] = r->sums[r->first_tag + i].last;
	return partition_add(&r->partition, rows, s->times);
}

static int report_add_sample(const struct sample *s, void *arg)
{
	struct report *r = arg;
	int rc = 0;

	r->read += s->times;
	if (!where_all_hold(r->wheres, r->where_count, r->model, s))
		return 0;
	amount_count(&r->whole, s);
	if (s->context.count)
		amount_count(&r->with_context, s);
	r->weightless += !s->weight_ns && !r->counts ? s->times : 0;
	r->truncated += model_stack_at(r->model, s->stack)->truncated ? s->times : 0;
	if (r->has_states)
		r->state_ns[times_place(names_text(&r->model->names, s->state))] += s->weight_ns;
	r->context_cut += s->context.cut;
	for (size_t i = 0; i < r->sum_count && !rc; i++)
		rc = aggregate_add(&r->sums[i], r->model, s);
	if (r->tag_count > 1 && !rc)
		rc = add_tuple(r, s);
	return rc;
}

int report_worth_showing(const struct report *r, const struct aggregate *a)
{
	if (!r->overview || a->count != 1 || a->key.kind == KEY_FUNCTION)
		return a->count > 0;
	return a->rows[0].id && a->key.kind != KEY_PROCESS;
}

/* Is there a table before it that says nearly the same? 1 + that sum, 0, or -ENOMEM. */
static int64_t like_before(const struct report *r, size_t tag)
{
	const struct aggregate *sum = &r->sums[r->first_tag];

	for (size_t i = 0; i < tag; i++) {
		uint32_t more = sum[i].count > sum[tag].count ? sum[i].count : sum[tag].count;
		uint32_t less = sum[i].count + sum[tag].count - more;
		int alike;

		if (r->like[r->first_tag + i] || !report_worth_showing(r, &sum[i]) ||
		    more > less + less / 2 + 1)
			continue;
		alike = partition_alike(&r->partition, i, tag);
		if (alike)
			return alike < 0 ? alike : (int64_t)(r->first_tag + i + 1);
	}
	return 0;
}

/* Tables of tags that are left out: those like one that is shown, and those beyond the most. */
static int choose_tables(struct report *r)
{
	uint32_t shown = 0;

	for (size_t i = 0; i < r->tag_count && r->tag_count > 1; i++) {
		uint32_t *like = &r->like[r->first_tag + i];
		int64_t before = 0;

		if (!report_worth_showing(r, &r->sums[r->first_tag + i]))
			continue;
		before = like_before(r, i);
		if (before < 0)
			return (int)before;
		*like = before ? (uint32_t)before : shown >= REPORT_TABLES ? REPORT_BEYOND : 0;
		shown += !*like;
	}
	return 0;
}

/* The tree is made of the sums by path, which are fewer than the samples. */
static int make_tree(struct report *r)
{
	const struct aggregate *a = &r->sums[0];
	int rc = tree_init(&r->tree);

	for (uint32_t i = 0; i < a->count && !rc; i++)
		rc = tree_add(&r->tree, r->model, a->rows[i].id, &a->rows[i].weight.total);
	return rc ? rc : tree_sort(&r->tree, r->model);
}

int report_run(struct report **out, const struct report_query *query)
{
	struct report *r = calloc(1, sizeof(*r));
	int rc;

	if (!r)
		return -ENOMEM;
	r->path = query->path;
	r->counts = query->counts;
	rc = source_open(&r->source, query->path, query->events);
	if (!rc)
		rc = plan(r, query);
	if (!rc) {
		source_set_detail(r->source, report_detail_of(r, query));
		source_set_counts(r->source, query->counts);
		rc = source_read(r->source, SAMPLE_COUNTED, report_add_sample, r);
	}
	for (size_t i = 0; i < r->sum_count && !rc; i++)
		aggregate_sort(&r->sums[i], r->model);
	if (!rc)
		rc = choose_tables(r);
	if (!rc && r->has_tree)
		rc = make_tree(r);
	if (rc) {
		report_free(r);
		return rc;
	}
	*out = r;
	return 0;
}

void report_free(struct report *r)
{
	if (!r)
		return;
	for (size_t i = 0; i < r->sum_count; i++)
		aggregate_free(&r->sums[i]);
	tree_free(&r->tree);
	partition_free(&r->partition);
	free(r->wheres);
	source_free(r->source);
	free(r);
}
