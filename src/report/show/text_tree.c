/* SPDX-License-Identifier: Apache-2.0 */
/* The call tree as text: callers above, each level indented further. */
#include "report/show/text.h"

#include "report/show/layout.h"

#define TREE_COLUMNS (28 + 2 * LAYOUT_ERROR)
#define TREE_SHARE 0.01 /* less is left out, unless --top says how much to show */

struct walk {
	const struct report *r;
	const struct text_style *style;
	int step; /* columns of indentation per level */
	int has_errors;
	FILE *out;
};

static void print_node(const struct walk *w, const struct tree_node *n)
{
	const struct report *r = w->r;
	const char *name = names_text(&r->model->names, n->function);
	int used = layout_amount(w->out, &n->weight.total, &r->whole, w->has_errors);

	used += fprintf(w->out, " ");
	used += layout_amount(w->out, &n->weight.self, &r->whole, w->has_errors);
	used += fprintf(w->out, " %9llu  %*s", (unsigned long long)n->weight.total.samples,
			(int)(n->depth - 1) * w->step, "");
	layout_name(w->out, *name ? name : KEY_UNKNOWN_FUNCTION,
		    layout_rest(w->style->columns, used));
	fputc('\n', w->out);
}

/* The next node to be shown among @at and its younger siblings; 0 = none. */
static uint32_t shown_from(const struct tree *t, uint32_t at)
{
	while (at && !t->nodes[at].shown)
		at = t->nodes[at].next;
	return at;
}

/* Without recursion, for stacks may be deep: a node knows its parent. */
static void walk_nodes(const struct walk *w)
{
	const struct tree *t = &w->r->tree;
	uint32_t at = shown_from(t, t->nodes[0].child);

	while (at) {
		uint32_t next = shown_from(t, t->nodes[at].child);

		print_node(w, &t->nodes[at]);
		while (!next && at) {
			next = shown_from(t, t->nodes[at].next);
			at = t->nodes[at].parent;
		}
		at = next;
	}
}

static uint32_t deepest(const struct tree *t)
{
	uint32_t most = 0;

	for (uint32_t i = 1; i < t->count; i++)
		if (t->nodes[i].shown && t->nodes[i].depth > most)
			most = t->nodes[i].depth;
	return most;
}

int text_tree(struct report *r, const struct text_style *s, FILE *out)
{
	struct tree *t = &r->tree;
	struct walk w = {.r = r, .style = s, .out = out};
	int wide;
	int64_t shown = tree_choose(t, s->top_given ? s->top : 0, s->top_given ? 0 : TREE_SHARE);

	if (shown < 0)
		return (int)shown;
	w.step = s->columns && deepest(t) * 2 > (uint32_t)s->columns / 2 ? 1 : 2;
	w.has_errors = text_has_errors(r, s, TREE_COLUMNS + (int)deepest(t) * w.step);
	wide = w.has_errors ? LAYOUT_ERROR : 0;
	fprintf(out, "\n%s%8s%*s %8s%*s %9s  stack%s\n", s->bold, "total", wide, "", "self", wide,
		"", "samples", s->plain);
	walk_nodes(&w);
	if (shown < t->count - 1)
		fprintf(out, "%s... and %lld lighter ones (--top 0)%s\n", s->dim,
			(long long)(t->count - 1 - shown), s->plain);
	if (w.has_errors && t->nodes[0].child)
		text_halving(r, &t->nodes[t->nodes[0].child].weight.total, s, out);
	return 0;
}
