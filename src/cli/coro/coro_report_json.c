/* SPDX-License-Identifier: Apache-2.0 */
/* A report on coroutines for programs: the same numbers as the text, all rows. */
#include "cli/coro/coro_json.h"
#include "cli/coro/coro_report.h"

#include <string.h>

static void put_times(struct json_writer *w, const char *key, const struct coro_times *t)
{
	json_write_object(w, key);
	coro_json_number(w, "count", t->count);
	coro_json_number(w, "total_ns", t->sum_ns);
	coro_json_number(w, "p50_ns", coro_times_quantile(t, 500));
	coro_json_number(w, "p90_ns", coro_times_quantile(t, 900));
	coro_json_number(w, "p99_ns", coro_times_quantile(t, 990));
	coro_json_number(w, "max_ns", t->max_ns);
	json_write_object_end(w);
}

static void put_group(struct json_writer *w, const struct coro_report_show *show, enum coro_by by,
		      const struct coro_group *g)
{
	char name[CORO_NAME_BYTES];

	json_write_object(w, NULL);
	if (by == CORO_BY_SITE) {
		coro_json_address(w, "addr", g->key);
		json_write_text(w, "name", coro_group_text(show, by, g, name));
	} else if (by == CORO_BY_LABEL) {
		json_write_text(w, "value", g->label);
	} else {
		coro_json_number(w, by == CORO_BY_THREAD ? "tid" : "probe_id", g->key);
	}
	if (g->pid)
		coro_json_number(w, "pid", g->pid);
	put_times(w, "run", &g->run);
	put_times(w, "wait", &g->wait);
	coro_json_number(w, "waiting", g->waiting);
	if (g->waiting)
		coro_json_number(w, "oldest_ns", g->oldest_ns);
	json_write_object_end(w);
}

static void put_groups(struct json_writer *w, struct coro_report *r,
		       const struct coro_report_show *show)
{
	const struct coro_groups *all = &r->groups[CORO_BY_ALL];

	json_write_object(w, "by");
	for (unsigned int by = CORO_BY_SITE; by < CORO_BYS; by++) {
		const struct coro_group *g;

		if (!(show->by & 1u << by))
			continue;
		g = coro_groups_sorted(&r->groups[by]);
		json_write_array(w, coro_by_text[by]);
		for (size_t i = 0; i < r->groups[by].count; i++)
			put_group(w, show, by, &g[i]);
		json_write_array_end(w);
	}
	if (all->count) {
		json_write_object(w, "all");
		put_times(w, "run", &all->group[0].run);
		put_times(w, "wait", &all->group[0].wait);
		json_write_object_end(w);
	}
	json_write_object_end(w);
}

static void put_place(struct json_writer *w, const char *key, const struct coro_report_show *show,
		      const struct coro_suspect *s, uint64_t addr)
{
	char name[CORO_NAME_BYTES];

	coro_json_place(w, key, addr, coro_names_text(show->names, s->pid, addr, name));
}

static void put_if_known(struct json_writer *w, const char *key, uint64_t number)
{
	if (number)
		coro_json_number(w, key, number);
	else
		json_write_null(w, key);
}

static void coro_report_json_suspect(struct json_writer *w, const struct coro_report_show *show,
				     const struct coro_suspect *s)
{
	json_write_object(w, NULL);
	coro_json_number(w, "probe_id", s->probe_id);
	if (s->knows_identity)
		coro_json_number(w, "pid", s->pid);
	if (s->knows_identity && strcmp(show->kind, "recording") != 0) {
		coro_json_number(w, "station", s->station);
		coro_json_number(w, "generation", s->generation);
	}
	coro_json_number(w, "tid", s->tid);
	coro_json_number(w, "since_ns", s->since_ns);
	coro_json_number(w, "for_ns", s->for_ns);
	json_write_bool(w, "is_open", s->is_open);
	put_place(w, "where", show, s, s->addr);
	put_place(w, "created_at", show, s, s->site);
	put_if_known(w, "created_by", s->parent_id);
	coro_json_number(w, "resumes", s->resumes);
	coro_json_number(w, "max_wait_ns", s->max_wait_ns);
	coro_json_number(w, "wakes", s->wakes);
	put_if_known(w, "last_wake_ns", s->last_wake_ns);
	coro_json_number(w, "moves", s->moves);
	coro_json_number(w, "returns", s->returns);
	if (s->has_context)
		coro_json_context(w, &s->context, s->station_context);
	if (s->reason_count)
		json_write_text(w, "confidence", coro_confidence_text[s->confidence]);
	json_write_array(w, "because");
	for (unsigned int i = 0; i < s->reason_count; i++)
		json_write_text(w, NULL, s->reason[i]);
	json_write_array_end(w);
	json_write_object_end(w);
}

static void put_findings(struct json_writer *w, const struct coro_report *r,
			 const struct coro_report_show *show)
{
	static const char *const names[CORO_FINDINGS] = {
		[CORO_STUCK] = "stuck",
		[CORO_WOKEN] = "woken",
		[CORO_NEVER_RESUMED] = "never_resumed",
		[CORO_NOT_YIELDING] = "not_yielding",
		[CORO_PING_PONG] = "ping_pong",
	};

	json_write_object(w, "findings");
	for (unsigned int f = 0; f < CORO_FINDINGS; f++) {
		if ((f == CORO_STUCK || f == CORO_WOKEN) && !r->query.stuck_ns)
			continue;
		json_write_array(w, names[f]);
		for (size_t i = 0; i < r->found[f].count; i++)
			coro_report_json_suspect(w, show, &r->found[f].suspect[i]);
		json_write_array_end(w);
	}
	json_write_object_end(w);
}

static void put_growth(struct json_writer *w, const struct coro_leak *l)
{
	json_write_object(w, "growth");
	json_write_bool(w, "is_judged", l->is_judged);
	if (l->is_judged) {
		json_write_bool(w, "is_growing", l->is_growing);
		json_write_array(w, "least_live");
		for (unsigned int q = 0; q < CORO_PARTS; q++)
			coro_json_number(w, NULL, l->least[q]);
		json_write_array_end(w);
		coro_json_number(w, "seen", l->born);
		coro_json_number(w, "ended", l->ended);
	} else {
		json_write_text(w, "why_not", l->why_not);
	}
	json_write_object_end(w);
}

static void put_counts(struct json_writer *w, const struct coro_report *r)
{
	json_write_object(w, "coroutines");
	coro_json_number(w, "seen", r->coroutines);
	coro_json_number(w, "running", r->running);
	coro_json_number(w, "suspended", r->suspended);
	if (r->is_file) {
		coro_json_number(w, "ready", r->ready);
		coro_json_number(w, "created", r->created);
		coro_json_number(w, "legacy", r->legacy);
	}
	coro_json_number(w, "ended", r->dead);
	json_write_object_end(w);
}

static void put_untold(struct json_writer *w, const struct coro_report *r)
{
	json_write_object(w, "not_recorded");
	for (int i = 0; i < CORO_UNTOLD; i++)
		coro_json_number(w, coro_untold_names[i], r->untold[i]);
	json_write_object_end(w);
}

int coro_report_json(struct coro_report *r, const struct coro_report_show *show)
{
	struct coro_json j;
	struct json_writer *w = &j.w;
	int rc = coro_json_open(&j, &json_shape_lines);

	if (rc)
		return rc;
	json_write_text(w, "source", show->path);
	json_write_text(w, "kind", show->kind);
	coro_json_number(w, "first_ns", r->first_ns);
	coro_json_number(w, "last_ns", r->last_ns);
	coro_json_number(w, "now_ns", r->now_ns);
	coro_json_number(w, "events", r->events);
	coro_json_number(w, "lost", r->lost);
	coro_json_number(w, "gaps", r->gaps);
	if (r->is_recording)
		put_untold(w, r);
	coro_json_number(w, "threads", r->threads);
	coro_json_number(w, "processes", r->processes);
	json_write_bool(w, "knows_deaths", r->knows_deaths);
	put_counts(w, r);
	put_groups(w, r, show);
	put_findings(w, r, show);
	put_growth(w, &r->leak);
	return coro_json_close(&j);
}
