/* SPDX-License-Identifier: Apache-2.0 */
/* A report on coroutines for programs: the same numbers as the text, all rows. */
#include "cli/coro/coro_report.h"

#include "cli/coro/coro_source.h"
#include "report/show/json_value.h"

#include <errno.h>
#include <string.h>

/* Takes @value; a NULL one stays missing and is told by json_dumpf's caller. */
static int coro_report_json_put(json_t *object, const char *key, json_t *value)
{
	return json_object_set_new(object, key, value);
}

static int coro_report_json_put_number(json_t *object, const char *key, uint64_t value)
{
	return coro_report_json_put(object, key, json_number(value));
}

static json_t *coro_report_json_address(uint64_t value)
{
	char text[24];

	snprintf(text, sizeof(text), "0x%016llx", (unsigned long long)value);
	return json_string(text);
}

static json_t *times(struct coro_times *t)
{
	json_t *o = json_object();

	coro_report_json_put_number(o, "count", t->count);
	coro_report_json_put_number(o, "total_ns", t->sum_ns);
	coro_report_json_put_number(o, "p50_ns", coro_times_quantile(t, 500));
	coro_report_json_put_number(o, "p90_ns", coro_times_quantile(t, 900));
	coro_report_json_put_number(o, "p99_ns", coro_times_quantile(t, 990));
	coro_report_json_put_number(o, "max_ns", t->max_ns);
	return o;
}

static json_t *group(const struct coro_report_show *show, enum coro_by by, struct coro_group *g)
{
	char name[CORO_NAME_BYTES];
	json_t *o = json_object();

	if (by == CORO_BY_SITE)
		coro_report_json_put(o, "addr", coro_report_json_address(g->key));
	else if (by == CORO_BY_THREAD)
		coro_report_json_put_number(o, "tid", g->key);
	else if (by == CORO_BY_COROUTINE)
		coro_report_json_put_number(o, "probe_id", g->key);
	else if (by == CORO_BY_LABEL)
		coro_report_json_put(o, "value", json_text(g->label));
	if (by == CORO_BY_SITE)
		coro_report_json_put(o, "name", json_text(coro_group_text(show, by, g, name)));
	if (g->pid)
		coro_report_json_put_number(o, "pid", g->pid);
	coro_report_json_put(o, "run", times(&g->run));
	coro_report_json_put(o, "wait", times(&g->wait));
	coro_report_json_put_number(o, "waiting", g->waiting);
	if (g->waiting)
		coro_report_json_put_number(o, "oldest_ns", g->oldest_ns);
	return o;
}

static json_t *groups(struct coro_report *r, const struct coro_report_show *show)
{
	json_t *all = json_object();

	for (unsigned int by = CORO_BY_SITE; by < CORO_BYS; by++) {
		struct coro_group *g = coro_groups_sorted(&r->groups[by]);
		json_t *list;

		if (!(show->by & 1u << by))
			continue;
		list = json_array();
		for (size_t i = 0; i < r->groups[by].count; i++)
			json_array_append_new(list, group(show, by, &g[i]));
		coro_report_json_put(all, coro_by_text(by), list);
	}
	if (r->groups[CORO_BY_ALL].count) {
		coro_report_json_put(all, "all",
				     json_pack("{s:o, s:o}", "run",
					       times(&r->groups[CORO_BY_ALL].group[0].run), "wait",
					       times(&r->groups[CORO_BY_ALL].group[0].wait)));
	}
	return all;
}

static void put_place(const struct coro_report_show *show, const struct coro_suspect *s, json_t *o,
		      const char *key, uint64_t addr)
{
	char name[CORO_NAME_BYTES];

	coro_report_json_put(
		o, key,
		addr ? json_pack("{s:o, s:o}", "addr", coro_report_json_address(addr), "name",
				 json_text(coro_names_text(show->names, s->pid, addr, name)))
		     : json_null());
}

static void coro_report_json_put_context(const struct coro_suspect *s, json_t *o)
{
	char trace[33], span[17], text[CORO_CONTEXT_BYTES];

	if (!s->has_context)
		return;
	coro_hex(s->context.trace_id, sizeof(s->context.trace_id), trace);
	coro_hex(s->context.span_id, sizeof(s->context.span_id), span);
	coro_report_json_put(o, "trace_id", json_string(trace));
	coro_report_json_put(o, "span_id", json_string(span));
	coro_report_json_put(o, "context",
			     json_text(coro_context_text(&s->context, s->station_context, text)));
}

static json_t *coro_report_json_suspect(const struct coro_report_show *show,
					const struct coro_suspect *s)
{
	json_t *o = json_object(), *reasons = json_array();

	coro_report_json_put_number(o, "probe_id", s->probe_id);
	if (s->knows_identity) {
		coro_report_json_put_number(o, "pid", s->pid);
	}
	if (s->knows_identity && strcmp(show->kind, "recording") != 0) {
		coro_report_json_put_number(o, "station", s->station);
		coro_report_json_put_number(o, "generation", s->generation);
	}
	coro_report_json_put_number(o, "tid", s->tid);
	coro_report_json_put_number(o, "since_ns", s->since_ns);
	coro_report_json_put_number(o, "for_ns", s->for_ns);
	coro_report_json_put(o, "is_open", json_boolean(s->is_open));
	put_place(show, s, o, "where", s->addr);
	put_place(show, s, o, "created_at", s->site);
	coro_report_json_put(o, "created_by",
			     s->parent_id ? json_number(s->parent_id) : json_null());
	coro_report_json_put_number(o, "resumes", s->resumes);
	coro_report_json_put_number(o, "max_wait_ns", s->max_wait_ns);
	coro_report_json_put_number(o, "wakes", s->wakes);
	coro_report_json_put(o, "last_wake_ns",
			     s->last_wake_ns ? json_number(s->last_wake_ns) : json_null());
	coro_report_json_put_number(o, "moves", s->moves);
	coro_report_json_put_number(o, "returns", s->returns);
	coro_report_json_put_context(s, o);
	for (unsigned int i = 0; i < s->reason_count; i++)
		json_array_append_new(reasons, json_string(s->reason[i]));
	if (s->reason_count)
		coro_report_json_put(o, "confidence",
				     json_string(coro_confidence_text(s->confidence)));
	coro_report_json_put(o, "because", reasons);
	return o;
}

static json_t *findings(const struct coro_report *r, const struct coro_report_show *show)
{
	static const char *const names[CORO_FINDINGS] = {
		[CORO_STUCK] = "stuck",
		[CORO_WOKEN] = "woken",
		[CORO_NEVER_RESUMED] = "never_resumed",
		[CORO_NOT_YIELDING] = "not_yielding",
		[CORO_PING_PONG] = "ping_pong",
	};
	json_t *all = json_object();

	for (unsigned int f = 0; f < CORO_FINDINGS; f++) {
		json_t *list = json_array();

		if ((f == CORO_STUCK || f == CORO_WOKEN) && !r->query.stuck_ns) {
			json_decref(list);
			continue;
		}
		for (size_t i = 0; i < r->found[f].count; i++)
			json_array_append_new(
				list, coro_report_json_suspect(show, &r->found[f].suspect[i]));
		coro_report_json_put(all, names[f], list);
	}
	return all;
}

static json_t *growth(const struct coro_report *r)
{
	const struct coro_leak *l = &r->leak;
	json_t *o, *least;

	if (!l->is_judged)
		return json_pack("{s:b, s:o}", "is_judged", 0, "why_not", json_text(l->why_not));
	least = json_array();
	for (unsigned int q = 0; q < CORO_PARTS; q++)
		json_array_append_new(least, json_number(l->least[q]));
	o = json_pack("{s:b, s:b, s:o}", "is_judged", 1, "is_growing", (int)l->is_growing,
		      "least_live", least);
	coro_report_json_put_number(o, "seen", l->born);
	coro_report_json_put_number(o, "ended", l->ended);
	return o;
}

static json_t *counts(const struct coro_report *r)
{
	json_t *o = json_object();

	coro_report_json_put_number(o, "seen", r->coroutines);
	coro_report_json_put_number(o, "running", r->running);
	coro_report_json_put_number(o, "suspended", r->suspended);
	if (r->is_file) {
		coro_report_json_put_number(o, "ready", r->ready);
		coro_report_json_put_number(o, "created", r->created);
		coro_report_json_put_number(o, "legacy", r->legacy);
	}
	coro_report_json_put_number(o, "ended", r->dead);
	return o;
}

static json_t *untold(const struct coro_report *r)
{
	json_t *o = json_object();

	for (int i = 0; i < CORO_UNTOLD; i++)
		coro_report_json_put_number(o, coro_untold_names[i], r->untold[i]);
	return o;
}

int coro_report_json(struct coro_report *r, const struct coro_report_show *show, FILE *out)
{
	json_t *o = json_object();

	coro_report_json_put_number(o, "version", 1);
	coro_report_json_put(o, "source", json_text(show->path));
	coro_report_json_put(o, "kind", json_string(show->kind));
	coro_report_json_put_number(o, "first_ns", r->first_ns);
	coro_report_json_put_number(o, "last_ns", r->last_ns);
	coro_report_json_put_number(o, "now_ns", r->now_ns);
	coro_report_json_put_number(o, "events", r->events);
	coro_report_json_put_number(o, "lost", r->lost);
	coro_report_json_put_number(o, "gaps", r->gaps);
	if (r->is_recording)
		coro_report_json_put(o, "not_recorded", untold(r));
	coro_report_json_put_number(o, "threads", r->threads);
	coro_report_json_put_number(o, "processes", r->processes);
	coro_report_json_put(o, "knows_deaths", json_boolean(r->knows_deaths));
	coro_report_json_put(o, "coroutines", counts(r));
	coro_report_json_put(o, "by", groups(r, show));
	coro_report_json_put(o, "findings", findings(r, show));
	coro_report_json_put(o, "growth", growth(r));
	return json_emit(o, out, JSON_INDENT(2));
}
