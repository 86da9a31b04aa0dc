/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Feeding: events go to lives, whose intervals are sorted into groups here; states give their
 * events to the same lives, and their totals to those groups that totals can speak for.
 */
#include "coro/look/report.h"

#include "base/array.h"
#include "base/map.h"
#include "base/text/hex.h"
#include "coro/engine/order.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- groups */

struct coro_group *coro_groups_get(struct coro_groups *g, const void *key, size_t bytes)
{
	struct coro_group *one;
	uint64_t *index;

	if (!g->index)
		g->index = map_new();
	index = g->index ? map_put(g->index, key, bytes, NULL) : NULL;
	if (!index)
		return NULL;
	if (*index)
		return &g->group[*index - 1];
	one = array_add(&g->group, &g->count, &g->room, sizeof(*one));
	if (!one)
		return NULL;
	memset(one, 0, sizeof(*one));
	*index = g->count;
	return one;
}

static void groups_free(struct coro_groups *g)
{
	for (size_t i = 0; i < g->count; i++) {
		coro_times_free(&g->group[i].run);
		coro_times_free(&g->group[i].wait);
		free(g->group[i].label);
	}
	free(g->group);
	map_free(g->index);
}

struct place {
	uint64_t pid, number;
};

static struct coro_group *report_group_by_number(struct coro_report *r, enum coro_by by,
						 uint32_t pid, uint64_t number, uint64_t shown)
{
	struct place place = {pid, number};
	struct coro_group *g = coro_groups_get(&r->groups[by], &place, sizeof(place));

	if (g) {
		g->key = shown;
		g->pid = pid;
	}
	return g;
}

struct coro_group *coro_report_site(struct coro_report *r, uint32_t pid, uint64_t addr)
{
	return report_group_by_number(r, CORO_BY_SITE, pid, addr, addr);
}

/* Of its station. The first event ends an interval before life->user is set: r->beginning. */
static const struct coro_about *about_of(const struct coro_report *r, const struct coro_life *life)
{
	return life->user ? life->user : r->beginning;
}

/* ---- labels */

/* Value of @key among a station's labels; its length, or -ENOENT. */
static int report_label_in(const struct weft_ctp_context *c, const char *key, const char **value)
{
	size_t at = 0, bytes = c->label_bytes, key_bytes = strlen(key);

	if (bytes > sizeof(c->labels))
		bytes = sizeof(c->labels);
	while (at + 2 <= bytes && at + 2 + c->labels[at] + c->labels[at + 1] <= bytes) {
		const uint8_t *l = &c->labels[at];

		if (l[0] == key_bytes && !memcmp(l + 2, key, key_bytes)) {
			*value = (const char *)l + 2 + l[0];
			return l[1];
		}
		at += 2 + (size_t)l[0] + l[1];
	}
	return -ENOENT;
}

static int hex(const uint8_t *bytes, size_t count, char *out)
{
	int any = 0;

	for (size_t i = 0; i < count; i++)
		any |= bytes[i];
	*hex_put(out, bytes, count) = '\0';
	return any ? (int)(2 * count) : -ENOENT;
}

static int report_label_of(const struct coro_report *r, const struct coro_life *life,
			   const struct coro_about *about, const char **value, char text[33])
{
	*value = text;
	if (!strcmp(r->query.label, "trace-id"))
		return hex(life->context.trace_id, sizeof(life->context.trace_id), text);
	if (!strcmp(r->query.label, "span-id"))
		return hex(life->context.span_id, sizeof(life->context.span_id), text);
	if (r->label_now) {
		*value = r->label_now;
		return (int)strlen(r->label_now);
	}
	if (!about || !about->has_context)
		return -ENOENT;
	return report_label_in(&about->context, r->query.label, value);
}

static struct coro_group *report_group_by_label(struct coro_report *r, const struct coro_life *life)
{
	char text[33] = "";
	const char *value;
	int bytes = report_label_of(r, life, about_of(r, life), &value, text);
	struct coro_group *g;

	/* no label is not the same as an empty one */
	g = bytes < 0 ? coro_groups_get(&r->groups[CORO_BY_LABEL], "\xff", 1)
		      : coro_groups_get(&r->groups[CORO_BY_LABEL], value, (size_t)bytes);
	if (g && bytes >= 0 && !g->label)
		g->label = strndup(value, (size_t)bytes);
	return bytes >= 0 && g && !g->label ? NULL : g;
}

/* ---- intervals */

static struct coro_group *report_group_of(struct coro_report *r, enum coro_by by,
					  const struct coro_life *life, uint64_t addr)
{
	switch (by) {
	case CORO_BY_ALL:
		return report_group_by_number(r, by, 0, 0, 0);
	case CORO_BY_SITE:
		return coro_report_site(r, life->pid, addr);
	case CORO_BY_THREAD:
		return report_group_by_number(r, by, life->pid, life->last_tid, life->last_tid);
	case CORO_BY_LABEL:
		return report_group_by_label(r, life);
	default:
		return report_group_by_number(r, by, life->pid, (uint64_t)(uintptr_t)life,
					      life->probe_id);
	}
}

static int has_totals(const struct coro_report *r, enum coro_by by, const struct coro_life *life)
{
	const struct coro_about *about = about_of(r, life);

	return about && about->totals.resumes &&
	       (by == CORO_BY_ALL || by == CORO_BY_LABEL || by == CORO_BY_COROUTINE);
}

static int report_note(struct coro_group *g, const struct coro_interval *i, int is_counted)
{
	if (i->is_open && i->kind == CORO_WAIT) {
		if (!g->waiting++ || i->begin_ns < g->oldest_ns)
			g->oldest_ns = i->begin_ns;
		return 0;
	}
	if (i->is_open || is_counted)
		return 0;
	return coro_times_add(i->kind == CORO_RUN ? &g->run : &g->wait, i->end_ns - i->begin_ns);
}

struct coro_suspect *coro_report_suspect(struct coro_report *r, enum coro_finding finding)
{
	struct coro_suspects *list = &r->found[finding];
	struct coro_suspect *one =
		array_add(&list->suspect, &list->count, &list->room, sizeof(*one));

	if (one)
		memset(one, 0, sizeof(*one));
	else
		r->error = -ENOMEM;
	return one;
}

static void report_not_yielding(struct coro_report *r, const struct coro_interval *i)
{
	struct coro_suspect *one = coro_report_suspect(r, CORO_NOT_YIELDING);
	const struct coro_life *life = i->life;

	if (!one)
		return;
	*one = (struct coro_suspect){
		.probe_id = life->probe_id,
		.since_ns = i->begin_ns,
		.for_ns = i->end_ns - i->begin_ns,
		.addr = i->addr,
		.tid = i->tid,
		.pid = life->pid,
		.station = life->station,
		.generation = life->generation,
		.knows_identity = life->knows_identity,
		.is_open = i->is_open,
		.has_context = life->has_context,
		.context = life->context,
	};
}

static void report_interval(void *arg, const struct coro_interval *i)
{
	struct coro_report *r = arg;
	struct coro_interval until_now = *i;

	/* a file in use goes on after its last event */
	if (i->is_open && r->now_ns > i->end_ns)
		until_now.end_ns = r->now_ns;
	for (unsigned int by = 0; by < CORO_BYS && !r->error; by++) {
		struct coro_group *g;

		if (!(r->query.by & 1u << by))
			continue;
		g = report_group_of(r, by, i->life, i->addr);
		if (!g || report_note(g, i, has_totals(r, by, i->life)))
			r->error = -ENOMEM;
	}
	if (i->kind == CORO_RUN && r->query.long_run_ns &&
	    until_now.end_ns - until_now.begin_ns >= r->query.long_run_ns)
		report_not_yielding(r, &until_now);
}

/* ---- in and out */

int coro_report_new(struct coro_report **out, const struct coro_report_query *query)
{
	struct coro_report *r = calloc(1, sizeof(*r));

	if (!r)
		return -ENOMEM;
	r->query = *query;
	/* findings compare a coroutine with others at its site */
	r->query.by |= 1u << CORO_BY_ALL | 1u << CORO_BY_SITE;
	r->lives = coro_lives_new(report_interval, r);
	r->pids = map_new();
	r->tids = map_new();
	if (!r->lives || !r->pids || !r->tids) {
		coro_report_free(r);
		return -ENOMEM;
	}
	*out = r;
	return 0;
}

void coro_report_free(struct coro_report *r)
{
	struct coro_about *next;

	if (!r)
		return;
	for (unsigned int by = 0; by < CORO_BYS; by++)
		groups_free(&r->groups[by]);
	for (unsigned int i = 0; i < CORO_FINDINGS; i++)
		free(r->found[i].suspect);
	for (struct coro_about *a = r->abouts; a; a = next) {
		next = a->next;
		free(a);
	}
	coro_lives_free(r->lives);
	map_free(r->pids);
	map_free(r->tids);
	free(r);
}

static int report_note_seen(struct map *map, uint64_t number)
{
	int fresh;

	return map_put(map, &number, sizeof(number), &fresh) ? 0 : -ENOMEM;
}

int coro_report_event(struct coro_report *r, const struct coro_event *e)
{
	int rc = coro_lives_event(r->lives, e);

	r->events++;
	if (rc == 0)
		rc = report_note_seen(r->tids, e->tid);
	if (rc == 0 && e->known & CORO_KNOWS_IDENTITY && e->pid)
		rc = report_note_seen(r->pids, e->pid);
	r->knows_identity |= (e->known & CORO_KNOWS_IDENTITY) != 0;
	r->knows_deaths |= e->known & CORO_KNOWS_DEATH || e->generation;
	return rc ? rc : r->error;
}

const char *const coro_untold_names[CORO_UNTOLD] = {
	"events_ring_full", "events_nested",  "events_stolen",  "events_invalid",
	"events_mistimed",  "events_no_slot", "events_pending", "events_filtered",
};

uint64_t coro_report_untold(const struct coro_report *r)
{
	uint64_t sum = 0;

	for (int i = 0; i < CORO_UNTOLD; i++)
		sum += r->untold[i];
	return sum;
}

/* ---- a trace of JSON lines */

static int report_feed(void *report, const struct coro_event *event)
{
	return coro_report_event(report, event);
}

/* Engines that tell deaths write in order: events that are held back come first. */
static int report_feed_deaths(struct coro_report *r, struct order *order, struct coro_input *in)
{
	struct coro_death death;
	int rc = 0;

	while (rc == 0 && coro_input_death(in, &death)) {
		rc = order_flush(order);
		coro_lives_death(r->lives, &death);
	}
	return rc;
}

int coro_report_jsonl(struct coro_report *r, const char *path, uint64_t *line, char why[128])
{
	struct order order = {.next = report_feed, .arg = r};
	struct coro_event e;
	struct coro_input *in = NULL;
	int rc = coro_input_open(&in, path);

	*line = 0;
	why[0] = '\0';
	if (rc)
		return rc;
	while ((rc = coro_input_next(in, &e)) == 1) {
		rc = order_event(&order, &e);
		if (rc == 0)
			rc = report_feed_deaths(r, &order, in);
		if (rc)
			break;
	}
	if (rc == 0)
		rc = order_flush(&order);
	if (rc == -EBADMSG) {
		*line = coro_input_line(in);
		snprintf(why, 128, "%s", coro_input_why(in));
	}
	coro_input_close(in);
	return rc;
}

/* ---- states */

static struct coro_about *about_new(struct coro_report *r, const struct coro_state *s)
{
	struct coro_about *a = calloc(1, sizeof(*a));

	if (!a)
		return NULL;
	*a = (struct coro_about){.probe_id = s->probe_id,
				 .birth_ns = s->birth_ts,
				 .site = s->site,
				 .last_wake_ns = s->last_wake_ns,
				 .pid = s->pid,
				 .station = s->station,
				 .generation = s->generation,
				 .parent_station = s->parent_station,
				 .parent_generation = s->parent_generation,
				 .state = s->state,
				 .has_context = s->has_context,
				 .totals = s->totals,
				 .context = s->context};
	for (size_t i = 0; i < s->event_count; i++)
		if (s->events[i].is_active)
			a->last_resume_ns = s->events[i].timestamp;
	if (r->last_about)
		r->last_about->next = a;
	else
		r->abouts = a;
	r->last_about = a;
	r->about_count++;
	return a;
}

static int add_totals(struct coro_report *r, const struct coro_life *life,
		      const struct coro_state *s)
{
	for (unsigned int by = 0; by < CORO_BYS; by++) {
		struct coro_group *g;

		if (!(r->query.by & 1u << by) || !has_totals(r, by, life))
			continue;
		g = report_group_of(r, by, life, 0);
		if (!g ||
		    coro_times_add_histogram(&g->run, s->run_histogram, s->totals.run_ns,
					     s->totals.max_run_ns) ||
		    coro_times_add_histogram(&g->wait, s->wait_histogram, s->totals.wait_ns,
					     s->totals.max_wait_ns))
			return -ENOMEM;
	}
	return 0;
}

static void count_state(struct coro_report *r, const struct coro_state *s)
{
	uint64_t *counts[] = {[WEFT_CTP_CREATED] = &r->created,
			      [WEFT_CTP_RUNNING] = &r->running,
			      [WEFT_CTP_SUSPENDED] = &r->suspended,
			      [WEFT_CTP_READY] = &r->ready,
			      [WEFT_CTP_DEAD] = &r->dead};

	if (s->state < sizeof(counts) / sizeof(*counts) && counts[s->state])
		++*counts[s->state];
	r->coroutines++;
	r->legacy += s->dialect == WEFT_CTP_LEGACY;
}

/* Feeds the first event: totals must be there before its intervals are. */
static int begin_life(struct coro_report *r, const struct coro_state *s, struct coro_about *about)
{
	struct coro_event e = coro_state_event(s, 0);
	struct coro_life *life;
	int rc;

	r->beginning = about;
	rc = coro_report_event(r, &e);
	r->beginning = NULL;
	if (rc)
		return rc;
	life = coro_lives_at(r->lives, r->lives->count - 1);
	life->user = about;
	if (about->has_context) {
		life->context = about->context.prefix;
		life->has_context = 1;
	}
	return s->has_totals ? add_totals(r, life, s) : 0;
}

int coro_report_state(struct coro_report *r, const struct coro_state *s)
{
	struct coro_about *about = about_new(r, s);
	int rc = about ? 0 : -ENOMEM;

	r->is_file = r->knows_deaths = 1;
	count_state(r, s);
	if (rc == 0 && s->pid)
		rc = report_note_seen(r->pids, s->pid);
	if (rc == 0 && s->event_count)
		rc = begin_life(r, s, about);
	for (size_t i = 1; rc == 0 && i < s->event_count; i++) {
		struct coro_event e = coro_state_event(s, i);

		rc = coro_report_event(r, &e);
	}
	return rc;
}

int coro_report_end(struct coro_report *r, uint64_t now_ns)
{
	r->first_ns = r->lives->first_ns;
	r->last_ns = r->lives->last_ns;
	r->now_ns = now_ns > r->last_ns ? now_ns : r->last_ns;
	coro_lives_end(r->lives);
	r->processes = map_count(r->pids);
	r->threads = map_count(r->tids);
	return r->error ? r->error : coro_report_judge(r);
}
