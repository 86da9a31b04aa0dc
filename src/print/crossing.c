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
	int64_t *latest_before;  /* [range_count] end of any event of the chunks before */
	int64_t *earliest_after; /* ... and of those behind */
};

void crossings_free(struct crossings *x)
{
	for (size_t i = 0; i < x->count; i++)
		free((void *)(uintptr_t)x->items[i].interval.text);
	free(x->items);
	free(x->ranges);
	*x = (struct crossings){0};
}

/* ---------------------------------------------------------------- the first pass */

static int decode_none(const struct weft_jfr_class *type, void *arg)
{
	(void)type;
	(void)arg;
	return 0;
}

static struct chunk_range *crossing_range_of(struct crossings *x, uint64_t chunk)
{
	while (x->range_count <= chunk) {
		struct chunk_range *bigger =
			array_grown(x->ranges, x->range_count + 1, &x->range_room, sizeof(*bigger));

		if (!bigger)
			return NULL;
		x->ranges = bigger;
		bigger[x->range_count++] = (struct chunk_range){INT64_MAX, INT64_MIN};
	}
	return &x->ranges[chunk];
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
		struct chunk_range *range = crossing_range_of(x, e.chunk);
		const struct plan *p = plan_of(plans, e.type);
		int64_t end_ns;

		if (!range || !p)
			return -ENOMEM;
		crossing_enter(&common, &chunk, r, e.chunk);
		end_ns = common_time_end(&common, &e);
		found |= p->is_contextual;
		if (e.start_ns == INT64_MIN)
			continue;
		range->from_ns = end_ns < range->from_ns ? end_ns : range->from_ns;
		range->to_ns = end_ns > range->to_ns ? end_ns : range->to_ns;
	}
	return found && x->range_count > 1;
}

/* ---------------------------------------------------------------- the second pass */

static int spread_ranges(struct search *s)
{
	size_t count = s->x->range_count;
	int64_t latest = INT64_MIN, earliest = INT64_MAX;

	s->latest_before = calloc(count + 1, sizeof(*s->latest_before));
	s->earliest_after = calloc(count + 1, sizeof(*s->earliest_after));
	if (!s->latest_before || !s->earliest_after)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		const struct chunk_range *range = &s->x->ranges[i];

		s->latest_before[i] = latest;
		latest = range->to_ns > latest ? range->to_ns : latest;
	}
	for (size_t i = count; i-- > 0;) {
		const struct chunk_range *range = &s->x->ranges[i];

		s->earliest_after[i] = earliest;
		earliest = range->from_ns < earliest ? range->from_ns : earliest;
	}
	return 0;
}

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
		.interval = {.thread = e->fields[p->thread].pool_key,
			     .start_ns = common_time_start(&s->common, e),
			     .end_ns = common_time_end(&s->common, e),
			     .offset = e->offset,
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
	if (!p->is_contextual || !e->fields || p->thread < 0 || e->start_ns == INT64_MIN ||
	    e->chunk >= s->x->range_count)
		return 0;
	if (common_time_start(&s->common, e) > s->latest_before[e->chunk] &&
	    common_time_end(&s->common, e) < s->earliest_after[e->chunk])
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
	int rc = spread_ranges(s);

	if (!rc)
		rc = sink_open(&s->text, NULL);
	s->text.limit = CONTEXT_BYTES;
	s->w.s = &s->text;
	weft_jfr_filter(s->reader, decode_contextual, s);
	while (!rc && weft_jfr_next(s->reader, &e) == 1)
		rc = crossing_look_at(s, &e);
	sink_close(&s->text);
	free(s->latest_before);
	free(s->earliest_after);
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
	int rc = 0;

	if (chunk >= x->range_count)
		return 0;
	for (size_t i = 0; i < x->count && !rc; i++) {
		const struct crossing *item = &x->items[i];

		if (item->chunk != chunk && item->interval.start_ns <= x->ranges[chunk].to_ns &&
		    item->interval.end_ns >= x->ranges[chunk].from_ns)
			rc = contexts_add(c, &item->interval);
	}
	return rc;
}
