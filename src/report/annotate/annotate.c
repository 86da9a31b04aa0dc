/* SPDX-License-Identifier: Apache-2.0 */
#include "report/annotate/annotate.h"

#include "base/array.h"
#include "base/map.h"
#include "base/text/nearest.h"
#include "report/read/rows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- names */

/* How a name may match: of all matches those of the closest kind are taken. */
enum annotate_match {
	ANNOTATE_NO_MATCH,
	ANNOTATE_LAST_PART, /* "push" for "ns::stack<int>::push(int)" */
	ANNOTATE_NO_ARGUMENTS,
	ANNOTATE_PATTERN,
	ANNOTATE_EXACT,
};

/* Where the arguments of a demangled name begin: at the bracket that matches its last one. */
static size_t without_arguments(const char *name)
{
	const char *close = strrchr(name, ')');
	int depth = 0;

	for (const char *at = close; at && at >= name; at--) {
		depth += (*at == ')') - (*at == '(');
		if (depth == 0)
			return (size_t)(at - name);
	}
	return strlen(name);
}

/* The last part of a qualified name: behind the last "::" that stands in no brackets. */
static size_t last_part(const char *name, size_t end)
{
	size_t at = end;
	int depth = 0;

	while (at > 0) {
		char c = name[--at];

		depth += (c == '>') - (c == '<');
		if (depth <= 0 && (c == ':' || c == '.' || c == ' '))
			return at + 1;
	}
	return 0;
}

static size_t without_template(const char *name, size_t from, size_t end)
{
	for (size_t i = from + 1; i < end; i++)
		if (name[i] == '<' && end > 0 && name[end - 1] == '>')
			return i;
	return end;
}

static int annotate_is_part(const char *wanted, const char *name, size_t from, size_t to)
{
	return strlen(wanted) == to - from && memcmp(wanted, name + from, to - from) == 0;
}

static enum annotate_match annotate_match(const char *wanted, const char *name)
{
	size_t end = without_arguments(name), part = last_part(name, end);

	if (strcmp(wanted, name) == 0)
		return ANNOTATE_EXACT;
	if (strchr(wanted, '*') && where_match(wanted, name))
		return ANNOTATE_PATTERN;
	if (annotate_is_part(wanted, name, 0, end))
		return ANNOTATE_NO_ARGUMENTS;
	if (annotate_is_part(wanted, name, part, end) ||
	    annotate_is_part(wanted, name, part, without_template(name, part, end)))
		return ANNOTATE_LAST_PART;
	return ANNOTATE_NO_MATCH;
}

/* ---- gathering */

struct gather {
	struct annotate *a;
	struct model *model;
	const char *wanted;
	uint8_t *match; /* by name: 1 + enum annotate_match; 0 = not looked at */
	size_t match_room;
};

/* -1: out of memory. */
static int match_of(struct gather *g, uint32_t name)
{
	if (name >= g->match_room) {
		size_t before = g->match_room;
		uint8_t *bigger =
			array_grown(g->match, (size_t)name + 1, &g->match_room, sizeof(*bigger));

		if (!bigger)
			return -1;
		memset(bigger + before, 0, g->match_room - before);
		g->match = bigger;
	}
	if (!g->match[name])
		g->match[name] = (uint8_t)(1 + annotate_match(g->wanted,
							      names_text(&g->model->names, name)));
	return g->match[name] - 1;
}

/* @offset: -1 for a line, or a function. */
static int add_place(struct annotate *a, struct annotate_places *places, const struct sample *s,
		     const struct frame *f, int32_t offset, int is_self)
{
	const uint32_t key[] = {f->function, f->module, f->file, (uint32_t)f->line,
				(uint32_t)offset};
	uint32_t number = rows_put(&places->index, key, sizeof(key), &places->item, &places->count,
				   &places->room, sizeof(*places->item));
	struct annotate_place *e = number ? &places->item[number - 1] : NULL;

	if (!e)
		return -ENOMEM;
	e->function = f->function;
	e->module = f->module;
	e->file = f->file;
	e->line = f->line;
	e->offset = offset;
	weight_count(&e->weight, s, a->events, is_self);
	return 0;
}

/* Inlined code is code of the real function: what runs there runs at its offset. */
static int annotate_add_frames(struct gather *g, const struct sample *s)
{
	const struct stack *stack = model_stack_at(g->model, s->stack);
	int is_leaf_code = 1, rc = 0;

	for (uint32_t i = 0; i < stack->count && !rc; i++) {
		const struct frame *f = &stack->frames[i];
		int match = f->function ? match_of(g, f->function) : ANNOTATE_NO_MATCH;

		if (match < 0)
			return -ENOMEM;
		if (match != ANNOTATE_NO_MATCH) {
			const struct frame function = {.function = f->function,
						       .module = f->module};

			rc = add_place(g->a, &g->a->functions, s, &function, -1, i == 0);
			if (!rc)
				rc = add_place(g->a, &g->a->lines, s, f, -1, i == 0);
			if (!rc && !f->inlined)
				rc = add_place(g->a, &g->a->offsets, s, f, f->offset, is_leaf_code);
		}
		is_leaf_code &= f->inlined != 0;
	}
	return rc;
}

static int annotate_add_sample(const struct sample *s, void *arg)
{
	struct gather *g = arg;
	struct annotate *a = g->a;

	a->read += s->times;
	if (!where_all_hold(a->wheres, a->where_count, g->model, s))
		return 0;
	a->events++;
	amount_count(&a->whole, s);
	return annotate_add_frames(g, s);
}

/* ---- choosing and sorting */

static int annotate_name_order(const struct model *m, uint32_t a, uint32_t b)
{
	return a == b ? 0 : strcmp(names_text(&m->names, a), names_text(&m->names, b));
}

static int function_order(const void *left, const void *right, void *arg)
{
	const struct annotate_place *a = left, *b = right;
	int by = amount_order(&a->weight.total, &b->weight.total);

	if (!by)
		by = annotate_name_order(arg, a->function, b->function);
	return by ? by : annotate_name_order(arg, a->module, b->module);
}

static int line_order(const void *left, const void *right, void *arg)
{
	const struct annotate_place *a = left, *b = right;

	if (a->function != b->function)
		return a->function < b->function ? -1 : 1;
	if (a->module != b->module)
		return a->module < b->module ? -1 : 1;
	if (a->file != b->file)
		return annotate_name_order(arg, a->file, b->file);
	return (a->line > b->line) - (a->line < b->line);
}

static int offset_order(const void *left, const void *right)
{
	const struct annotate_place *a = left, *b = right;

	return (a->offset > b->offset) - (a->offset < b->offset);
}

static void annotate_choose(struct annotate *a, const struct model *m, const uint8_t *match)
{
	struct annotate_places *f = &a->functions;
	uint32_t kept = 0;
	int best = 0;

	for (uint32_t i = 0; i < f->count; i++)
		if (match[f->item[i].function] > best)
			best = match[f->item[i].function];
	for (uint32_t i = 0; i < f->count; i++)
		if (match[f->item[i].function] == best)
			f->item[kept++] = f->item[i];
	f->count = kept;
	if (kept)
		qsort_r(f->item, kept, sizeof(*f->item), function_order, (void *)m);
	if (a->lines.count)
		qsort_r(a->lines.item, a->lines.count, sizeof(*a->lines.item), line_order,
			(void *)m);
	if (a->offsets.count)
		qsort(a->offsets.item, a->offsets.count, sizeof(*a->offsets.item), offset_order);
}

static int annotate_gather(struct annotate *a, const struct annotate_query *q)
{
	struct gather g = {.a = a, .wanted = q->function};
	int rc;

	g.model = source_model(a->source);
	a->is_sampled = source_is_sampled(a->source);
	a->wheres = where_bound(q->wheres, q->where_count, g.model);
	a->where_count = q->where_count;
	if (!a->wheres)
		return -ENOMEM;
	source_set_detail(a->source,
			  DECODE_LINES | DECODE_OFFSETS | (q->no_inlines ? DECODE_NO_INLINES : 0u));
	rc = source_read(a->source, SAMPLE_COUNTED, annotate_add_sample, &g);
	if (!rc)
		annotate_choose(a, g.model, g.match);
	free(g.match);
	return rc;
}

int annotate_run(struct annotate **out, const struct annotate_query *query)
{
	struct annotate *a = calloc(1, sizeof(*a));
	int rc;

	if (!a)
		return -ENOMEM;
	a->path = query->path;
	rc = source_open(&a->source, query->path, query->events);
	if (!rc)
		rc = annotate_gather(a, query);
	if (rc) {
		annotate_free(a);
		return rc;
	}
	*out = a;
	return 0;
}

static void places_free(struct annotate_places *p)
{
	map_free(p->index);
	free(p->item);
}

void annotate_free(struct annotate *a)
{
	if (!a)
		return;
	places_free(&a->functions);
	places_free(&a->lines);
	places_free(&a->offsets);
	source_free(a->source);
	free(a->wheres);
	free(a);
}

int annotate_is_of(const struct annotate_place *p, const struct annotate_place *function)
{
	return p->function == function->function && p->module == function->module;
}

/* ---- similar names */

static int is_offered(const char *const *out, size_t count, const char *name)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(out[i], name) == 0)
			return 1;
	return 0;
}

static void annotate_offer(struct nearest *search, const char *name)
{
	char part[NEAREST_NAME_MAX + 1];
	size_t end = without_arguments(name), from = last_part(name, end);
	const char *before = search->best;

	nearest_offer(search, name);
	if (end - from >= sizeof(part) || (from == 0 && !name[end]))
		return;
	memcpy(part, name + from, end - from);
	part[end - from] = '\0';
	nearest_offer(search, part);
	if (search->best != before && search->best == part)
		search->best = name;
}

/* Distinct functions of all stacks: 1 at the index of each; NULL: out of memory. */
static uint8_t *functions_met(const struct model *m)
{
	uint8_t *met = calloc((size_t)m->names.count + 1, 1);

	for (uint32_t s = 1; met && s < m->stack_count; s++)
		for (uint32_t i = 0; i < m->stacks[s].count; i++)
			met[m->stacks[s].frames[i].function] = 1;
	return met;
}

size_t annotate_nearest(const struct annotate *a, const char *wanted, const char **out, size_t max)
{
	const struct model *m = source_model(a->source);
	uint8_t *met = functions_met(m);
	size_t found = 0;

	while (met && found < max) {
		struct nearest search = {wanted, NULL, 0};

		for (uint32_t id = 1; id < m->names.count; id++)
			if (met[id] && !is_offered(out, found, names_text(&m->names, id)))
				annotate_offer(&search, names_text(&m->names, id));
		if (!search.best)
			break;
		out[found++] = search.best;
	}
	free(met);
	return found;
}
