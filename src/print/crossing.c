/* SPDX-License-Identifier: Apache-2.0 */
#include "print/crossing.h"

#include "base/array.h"

#include <errno.h>
#include <stdlib.h>

/* While the second pass goes on. */
struct search {
	struct crossings *x;
	const struct form *form;
	struct weft_jfr_reader *reader;
	struct walk w;
	struct common_time common;
	struct sink text;
};

void crossings_free(struct crossings *x)
{
	for (size_t i = 0; i < x->count; i++)
		free((void *)(uintptr_t)x->items[i].printed.text);
	free(x->items);
	chunk_ends_free(&x->ends);
	*x = (struct crossings){0};
}

/* ---------------------------------------------------------------- the first pass */

static int decode_none(const struct weft_jfr_class *type, void *arg)
{
	(void)type;
	(void)arg;
	return 0;
}

static void crossing_enter(struct common_time *t, struct weft_jfr_chunk_view *chunk,
			   const struct weft_jfr_reader *r, uint64_t number)
{
	if (number != chunk->number && weft_jfr_chunk(r, chunk) == 0)
		common_time_enter(t, chunk);
}

/* Also whether there is anything to look for: 1, 0, -errno. */
static int crossing_first_pass(struct crossings *x, struct weft_jfr_reader *r,
			       struct plan_table *plans, const struct form *form)
{
	struct weft_jfr_chunk_view chunk = {.number = UINT64_MAX};
	struct common_time common = {0};
	struct weft_jfr_event_view e;
	int found = 0;

	(void)form;
	weft_jfr_filter(r, decode_none, NULL);
	while (weft_jfr_next(r, &e) == 1) {
		const struct plan *p = plan_of(plans, e.type);

		if (!p)
			return -ENOMEM;
		crossing_enter(&common, &chunk, r, e.chunk);
		found |= p->is_contextual;
		if (e.start_ns != INT64_MIN &&
		    chunk_ends_add(&x->ends, e.chunk, common_time_end(&common, &e)))
			return -ENOMEM;
	}
	chunk_ends_seal(&x->ends);
	return found && x->ends.count > 1;
}

/* ---------------------------------------------------------------- the second pass */

static int decode_contextual(const struct weft_jfr_class *type, void *arg)
{
	struct search *s = arg;
	const struct plan *p = plan_of(s->w.plans, type);

	return p && p->is_contextual;
}

static int crossing_keep(struct search *s, struct plan *p, const struct weft_jfr_event_view *e)
{
	struct crossings *x = s->x;
	struct crossing *bigger = array_grown(x->items, x->count + 1, &x->room, sizeof(*bigger));
	char *text;

	if (!bigger)
		return -ENOMEM;
	x->items = bigger;
	x->bytes += s->text.used;
	text = malloc(s->text.used + 1);
	if (!text)
		return -ENOMEM;
	memcpy(text, s->text.data, s->text.used);
	x->items[x->count++] = (struct crossing){
		.chunk = e->chunk,
		.thread = e->fields[p->thread].pool_key,
		.start_ns = common_time_start(&s->common, e),
		.end_ns = common_time_end(&s->common, e),
		.printed = {.offset = e->offset,
			    .is_kept = 1,
			    .text = text,
			    .text_bytes = s->text.used},
	};
	return 0;
}

static int crossing_write_context(struct search *s, struct plan *p,
				  const struct weft_jfr_event_view *e)
{
	sink_clear(&s->text);
	s->w.budget = CONTEXT_VALUES;
	s->form->context(&s->w, p, e);
	return s->text.rc;
}

static int crossing_look_at(struct search *s, const struct weft_jfr_event_view *e)
{
	struct plan *p = plan_of(s->w.plans, e->type);
	int rc;

	if (!p)
		return -ENOMEM;
	/* chunks without contextual events count for the common time too */
	crossing_enter(&s->common, &s->w.chunk, s->reader, e->chunk);
	if (!p->is_contextual || !e->fields || p->thread < 0 || e->start_ns == INT64_MIN)
		return 0;
	if (common_time_start(&s->common, e) > chunk_ends_before(&s->x->ends, e->chunk) &&
	    common_time_end(&s->common, e) < chunk_ends_from(&s->x->ends, e->chunk + 1))
		return 0;
	rc = crossing_write_context(s, p, e);
	if (rc == -EFBIG || s->x->count >= CROSSINGS_MOST || s->x->bytes >= CROSSINGS_BYTES) {
		s->x->left_out++;
		return 0;
	}
	return rc ? rc : crossing_keep(s, p, e);
}

static int crossing_search(struct search *s)
{
	struct weft_jfr_event_view e;
	int rc = sink_open(&s->text, NULL);

	s->text.limit = CONTEXT_BYTES;
	s->w.s = &s->text;
	weft_jfr_filter(s->reader, decode_contextual, s);
	while (!rc && weft_jfr_next(s->reader, &e) == 1)
		rc = crossing_look_at(s, &e);
	sink_close(&s->text);
	return rc;
}

/* Plans hold classes, which are their reader's: a table for each. */
static int crossing_pass(struct crossings *x, const struct form *form, struct weft_jfr_reader *r,
			 int (*work)(struct crossings *x, struct weft_jfr_reader *r,
				     struct plan_table *plans, const struct form *form))
{
	int rc = r ? -ENOMEM : -errno;
	struct plan_table *plans = plan_table_new(form->key, NULL, NULL);

	if (r && plans)
		rc = work(x, r, plans, form);
	plan_table_free(plans);
	weft_jfr_reader_free(r);
	return rc;
}

static int second_pass(struct crossings *x, struct weft_jfr_reader *r, struct plan_table *plans,
		       const struct form *form)
{
	struct search s = {.x = x,
			   .form = form,
			   .reader = r,
			   .w = {.plans = plans, .chunk = {.number = UINT64_MAX}}};

	return crossing_search(&s);
}

int crossings_find(struct crossings *x, const struct form *form,
		   struct weft_jfr_reader *(*open)(const void *arg), const void *arg)
{
	int rc = crossing_pass(x, form, open(arg), crossing_first_pass);

	return rc > 0 ? crossing_pass(x, form, open(arg), second_pass) : rc;
}

int crossings_add(const struct crossings *x, uint64_t chunk, struct contexts *c)
{
	int64_t to_ns = chunk_ends_before(&x->ends, chunk + 1);
	int64_t from_ns = chunk_ends_from(&x->ends, chunk);
	int rc = 0;

	for (size_t i = 0; i < x->count && !rc; i++) {
		const struct crossing *item = &x->items[i];

		if (item->chunk != chunk && item->start_ns <= to_ns && item->end_ns >= from_ns)
			rc = contexts_add(c, item->thread, item->start_ns, item->end_ns,
					  &item->printed);
	}
	return rc;
}
