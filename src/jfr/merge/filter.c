/* SPDX-License-Identifier: Apache-2.0 */
/* The readings of a recording before it is copied, and the answers while it is. */
#include "base/map.h"
#include "jfr/merge/filter_private.h"
#include "jfr/read/reader.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Does some line ask for what can only be decided in order of time? */
static int asks_for_order(const char *lines)
{
	int asks = 0;

	for (const char *at = lines; *at && !asks;) {
		const char *end = strchr(at, '\n'), *hash = strchr(at, '#');
		const char *equals = hash ? strchr(hash, '=') : NULL;
		struct event_settings s = {0};
		int setting;

		if (!end || !equals || equals > end)
			break;
		setting = weft_setting_find(hash + 1, (size_t)(equals - hash - 1));
		if (setting >= 0)
			(void)weft_setting_put(&s, (enum event_setting)setting, equals + 1,
					       (size_t)(end - equals - 1));
		asks = s.select != SELECT_ALL || s.throttle_window_ns;
		at = end + 1;
	}
	return asks;
}

struct filter *filter_new(const char *lines, void (*wrong_select)(const char *event, void *arg),
			  void *arg)
{
	struct filter *f = calloc(1, sizeof(*f));

	if (!f)
		return NULL;
	f->lines = lines;
	f->line_bytes = strlen(lines);
	f->wrong_select = wrong_select;
	f->arg = arg;
	f->needs_order = asks_for_order(lines);
	f->rules = map_new();
	f->rates = map_new();
	f->threads = map_new();
	if (f->rules && f->rates && f->threads)
		return f;
	filter_free(f);
	return NULL;
}

void filter_free(struct filter *f)
{
	if (!f)
		return;
	filter_forget_rules(f);
	map_free(f->rules);
	map_free(f->rates);
	map_free(f->threads);
	while (f->all_rates) {
		struct filter_rate *next = f->all_rates->next;

		free(f->all_rates);
		f->all_rates = next;
	}
	free(f->chunks);
	free(f->across.span);
	free(f->recent.span);
	free(f->spans.span);
	free(f->fresh.event);
	free(f->waiting.event);
	free(f->thread);
	free(f->wanted);
	free(f);
}

/* ---- both readings */

static int filter_no_fields(const struct weft_jfr_class *type, void *arg)
{
	(void)type;
	(void)arg;
	return 0;
}

/* Damage ends a reading as the file's end does: the copy stops there, too. */
static int read_chunks(struct filter *f, const char *path,
		       int (*chunk)(struct filter *f, struct weft_jfr_reader *r, size_t number))
{
	struct weft_jfr_reader *r = weft_jfr_open(path);
	int err = 0;

	if (!r)
		return -errno;
	weft_jfr_filter(r, filter_no_fields, NULL);
	for (size_t i = 0; !err && reader_next_chunk(r) > 0; i++)
		err = chunk(f, r, i);
	if (!err)
		err = filter_decide(f, INT64_MAX, 1);
	if (!err && r->rc == -ENOMEM)
		err = -ENOMEM;
	weft_jfr_reader_free(r);
	filter_forget_rules(f);
	return err || f->rules ? err : -ENOMEM;
}

/* 1: an event. 0: the chunk's end. -ENOMEM. */
static int filter_next_event(struct filter *f, struct weft_jfr_reader *r, struct filter_event *e)
{
	struct weft_jfr_event_view view;

	if (weft_jfr_next_here(r, &view) > 0) {
		e->rule = filter_rule(f, r, view.type);
		if (!e->rule)
			return -ENOMEM;
		e->number = f->event_count++;
		e->begin = view.start_ns;
		e->end = view.start_ns; /* INT64_MIN: it has no time, and so no context */
		if (view.duration_ns > 0 &&
		    __builtin_add_overflow(view.start_ns, view.duration_ns, &e->end))
			e->end = INT64_MAX;
		e->thread = filter_thread_key(r, e->rule, &view);
		e->in_context = 0;
		return 1;
	}
	return 0;
}

static int is_context(const struct filter_event *e)
{
	return e->rule->contextual && e->rule->settings.enabled && e->thread;
}

/* ---- the first: where chunks' events lie in time */

static struct filter_chunk *new_chunk(struct filter *f)
{
	if (f->chunk_count == f->chunk_room) {
		size_t room = f->chunk_room ? f->chunk_room * 2 : 64;
		struct filter_chunk *grown = realloc(f->chunks, room * sizeof(*grown));

		if (!grown)
			return NULL;
		f->chunks = grown;
		f->chunk_room = room;
	}
	f->chunks[f->chunk_count] = (struct filter_chunk){INT64_MAX, INT64_MIN};
	return &f->chunks[f->chunk_count++];
}

static int filter_survey(struct filter *f, struct weft_jfr_reader *r, size_t number)
{
	struct filter_chunk *chunk = new_chunk(f);
	int64_t before = number ? f->chunks[number - 1].last_end : INT64_MIN;
	struct filter_event e;
	int rc = chunk ? 0 : -ENOMEM;

	while (!rc && (rc = filter_next_event(f, r, &e)) > 0) {
		rc = 0;
		if (e.end == INT64_MIN || (!e.thread && !e.rule->settings.throttle_window_ns))
			continue; /* matters to nothing else */
		if (e.end < chunk->first_end)
			chunk->first_end = e.end;
		if (e.end > chunk->last_end)
			chunk->last_end = e.end;
		if (is_context(&e) && e.begin <= before)
			rc = filter_spans_add(&f->across, e.thread, e.begin, e.end);
	}
	/* of this one and all before it */
	if (chunk && chunk->last_end < before)
		chunk->last_end = before;
	return rc;
}

/* ---- the second: decisions */

static int filter_add_event(struct filter *f, const struct filter_event *e)
{
	int err = filter_events_add(&f->fresh, e);

	if (!err && is_context(e))
		err = filter_spans_add(&f->recent, e->thread, e->begin, e->end);
	return err;
}

static int gather_spans(struct filter *f, int64_t from)
{
	int err = 0;

	f->spans.count = 0;
	for (size_t i = 0; !err && i < f->across.count; i++) {
		const struct filter_span *s = &f->across.span[i];

		if (s->end >= from)
			err = filter_spans_add(&f->spans, s->thread, s->begin, s->end);
	}
	for (size_t i = 0; !err && i < f->recent.count; i++) {
		const struct filter_span *s = &f->recent.span[i];

		err = filter_spans_add(&f->spans, s->thread, s->begin, s->end);
	}
	filter_spans_settle(&f->spans);
	return err;
}

static void forget_spans(struct filter *f, int64_t before)
{
	size_t count = 0;

	for (size_t i = 0; i < f->recent.count; i++)
		if (f->recent.span[i].end >= before)
			f->recent.span[count++] = f->recent.span[i];
	f->recent.count = count;
}

static int filter_judge(struct filter *f, struct weft_jfr_reader *r, size_t number)
{
	struct filter_event e;
	int64_t next;
	int rc;

	f->fresh.count = 0;
	while ((rc = filter_next_event(f, r, &e)) > 0)
		if (filter_add_event(f, &e))
			return -ENOMEM;
	if (rc || number >= f->chunk_count || gather_spans(f, f->chunks[number].first_end))
		return -ENOMEM;
	for (size_t i = 0; i < f->fresh.count; i++) {
		struct filter_event *event = &f->fresh.event[i];

		event->in_context = event->thread && event->end != INT64_MIN &&
				    filter_spans_have(&f->spans, event->thread, event->end);
		if (filter_wait(f, event))
			return -ENOMEM;
	}
	next = number + 1 < f->chunk_count ? f->chunks[number + 1].first_end : INT64_MAX;
	forget_spans(f, next);
	return filter_decide(f, next, 0);
}

/* From the last chunk to the first: nothing comes later that ends before first_end. */
static void settle_chunks(struct filter *f)
{
	for (size_t i = f->chunk_count; i-- > 1;)
		if (f->chunks[i - 1].first_end > f->chunks[i].first_end)
			f->chunks[i - 1].first_end = f->chunks[i].first_end;
}

int filter_prepare(struct filter *f, const char *path)
{
	int err;

	if (!f->needs_order)
		return 0;
	err = read_chunks(f, path, filter_survey);
	if (err)
		return err;
	settle_chunks(f);
	f->wanted_bytes = f->event_count / 8 + 1;
	f->wanted = calloc(f->wanted_bytes, 1);
	if (!f->wanted)
		return -ENOMEM;
	f->event_count = 0;
	return read_chunks(f, path, filter_judge);
}

/* ---- answers */

static int is_wanted_by_itself(const struct filter_rule *rule,
			       const struct weft_jfr_event_view *view)
{
	const struct event_settings *s = &rule->settings;

	return s->enabled && (!rule->lasts || (view->duration_ns > 0 ? (uint64_t)view->duration_ns
								     : 0) >= s->threshold_ns);
}

int filter_wants(struct filter *f, const struct weft_jfr_reader *r,
		 const struct weft_jfr_event_view *view, int *without_stack)
{
	struct filter_rule *rule = filter_rule(f, r, view->type);
	uint64_t number = f->number++;

	if (!rule)
		return -ENOMEM;
	*without_stack = !rule->settings.stack_trace;
	if (!f->needs_order)
		return is_wanted_by_itself(rule, view);
	return number / 8 < f->wanted_bytes && (f->wanted[number / 8] >> (number % 8) & 1);
}

const struct event_settings *filter_settings(struct filter *f, const struct weft_jfr_reader *r,
					     const struct weft_jfr_class *class)
{
	const struct filter_rule *rule = filter_rule(f, r, class);

	return rule ? &rule->settings : NULL;
}
