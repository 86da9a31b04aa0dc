/* SPDX-License-Identifier: Apache-2.0 */
/* The readings of a recording before it is copied, and the answers while it is. */
#include "base/map.h"
#include "jfr/merge/filter_private.h"
#include "jfr/read/reader.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Does some line ask for what can only be decided in order of time? */
static int asks_for_order(const char *lines, size_t bytes)
{
	struct setting_line line;
	size_t at = 0;
	int asks = 0;

	while (!asks && weft_setting_line(lines, bytes, &at, &line) > 0) {
		int setting = weft_setting_find(line.name.at, line.name.bytes);
		struct event_settings s = {0};

		if (setting >= 0)
			(void)weft_setting_put(&s, (enum event_setting)setting, line.value.at,
					       line.value.bytes);
		asks = s.select != SELECT_ALL || s.throttle_window_ns;
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
	f->needs_order = asks_for_order(lines, f->line_bytes);
	if (filter_forget_rules(f) == 0)
		return f;
	filter_free(f);
	return NULL;
}

void filter_free(struct filter *f)
{
	if (!f)
		return;
	map_free(f->rules);
	map_free(f->rates);
	map_free(f->threads);
	arena_free(&f->memory);
	chunk_ends_free(&f->ends);
	join_free(&f->contexts);
	free(f->fresh.event);
	free(f->waiting.event);
	free(f->wanted);
	free(f);
}

/* ---- both readings */

/* Damage ends a reading as the file's end does: the copy stops there, too. */
static int read_chunks(struct filter *f, const char *path,
		       int (*chunk)(struct filter *f, struct weft_jfr_reader *r, size_t number))
{
	struct weft_jfr_reader *r = weft_jfr_open(path);
	int err = 0;

	if (!r)
		return -errno;
	weft_jfr_filter(r, reader_no_fields, NULL);
	for (size_t i = 0; !err && reader_next_chunk(r) > 0; i++)
		err = chunk(f, r, i);
	if (!err)
		err = filter_decide(f, INT64_MAX, 1);
	if (!err && r->rc == -ENOMEM)
		err = -ENOMEM;
	weft_jfr_reader_free(r);
	return err ? err : filter_forget_rules(f);
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

static int filter_add_context(struct filter *f, const struct filter_event *e)
{
	return join_add(&f->contexts, &(struct join_interval){.thread = e->thread,
							      .start_ns = e->begin,
							      .last_ns = e->end});
}

static int filter_survey(struct filter *f, struct weft_jfr_reader *r, size_t number)
{
	struct filter_event e;
	int rc = 0;

	while (!rc && (rc = filter_next_event(f, r, &e)) > 0) {
		rc = 0;
		if (e.end == INT64_MIN || (!e.thread && !e.rule->settings.throttle_window_ns))
			continue; /* matters to nothing else */
		rc = chunk_ends_add(&f->ends, number, e.end);
		if (!rc && is_context(&e) && e.begin <= chunk_ends_before(&f->ends, number))
			rc = filter_add_context(f, &e);
	}
	return rc;
}

/* ---- the second: decisions */

static int filter_add_event(struct filter *f, const struct filter_event *e, size_t number)
{
	int err = filter_events_add(&f->fresh, e);

	if (!err && is_context(e) && e->begin > chunk_ends_before(&f->ends, number))
		err = filter_add_context(f, e);
	return err;
}

static int filter_judge(struct filter *f, struct weft_jfr_reader *r, size_t number)
{
	int64_t next = chunk_ends_from(&f->ends, number + 1);
	struct filter_event e;
	int rc;

	f->fresh.count = 0;
	while ((rc = filter_next_event(f, r, &e)) > 0)
		if (e.number / 8 >= f->wanted_bytes || filter_add_event(f, &e, number))
			return -ENOMEM;
	if (rc)
		return rc;
	join_seal(&f->contexts);
	for (size_t i = 0; i < f->fresh.count; i++) {
		struct filter_event *event = &f->fresh.event[i];

		event->in_context = event->thread && event->end != INT64_MIN &&
				    join_innermost(&f->contexts, event->thread, event->end);
		if (filter_wait(f, event))
			return -ENOMEM;
	}
	join_forget(&f->contexts, next);
	return filter_decide(f, next, 0);
}

int filter_prepare(struct filter *f, const char *path)
{
	int err;

	if (!f->needs_order)
		return 0;
	err = read_chunks(f, path, filter_survey);
	if (err)
		return err;
	chunk_ends_seal(&f->ends);
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
