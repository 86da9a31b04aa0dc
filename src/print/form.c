/* SPDX-License-Identifier: Apache-2.0 */
/* What the forms have in common. */
#include "print/form.h"

#include "print/decimal.h"

#include <errno.h>

struct plan *walk_plan(struct walk *w, struct plan_field *f, const struct weft_jfr_node *n)
{
	struct plan *p = f && f->class == n->type ? plan_below(w->plans, f) : NULL;

	if (!p)
		p = plan_of(w->plans, n->type);
	if (!p)
		w->s->rc = -ENOMEM;
	return p;
}

size_t walk_shown(const struct walk *w, struct plan_field *f, const struct weft_jfr_node *n)
{
	struct plan *p = plan_below(w->plans, f);

	if (p && p->known == PLAN_FRAME && n->many.count > w->stack_depth)
		return (size_t)w->stack_depth;
	return n->many.count;
}

size_t walk_iso(const struct walk *w, const struct plan_field *f, int64_t number,
		char out[TIMES_ROOM])
{
	if (f->meaning == PLAN_SPAN)
		return times_put_iso_span(out, times_span(&w->chunk, number, f->unit));
	if (f->meaning == PLAN_POINT)
		return times_put_iso_point(out, times_point(&w->chunk, number, f->unit),
					   w->chunk.gmt_offset_s);
	return 0;
}

void walk_number(struct walk *w, const struct plan_field *f, const struct weft_jfr_node *n)
{
	char number[DECIMAL_ROOM];

	if (n->shape == WEFT_JFR_V_REAL)
		sink_put(w->s, number, decimal_shortest(number, n->real, f->kind == PLAN_FLOAT));
	else if (f->kind == PLAN_BOOLEAN)
		sink_text(w->s, n->number ? "true" : "false");
	else
		sink_number(w->s, n->number);
}
