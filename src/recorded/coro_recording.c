/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A recording has whole runs and waits, in no order. They are sorted by coroutine and time, and fed
 * to the report as the events at their beginning and end; where nothing is missing between two, the
 * end of the one is the beginning of the other. Where something is, the events' numbers show a gap,
 * as they do in a trace.
 */
#include "recorded/recorded.h"

#include "base/array.h"
#include "base/map.h"
#include "base/recording.h"
#include "report/read/decode.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <weft/jfr.h>

struct piece {
	uint64_t coroutine, begin_ns, end_ns, addr, tid;
	uint32_t pid;
	uint8_t is_run, is_first, is_last; /* first: from its birth; last: until its death */
	char *label;                       /* of the key of --by label:KEY; NULL = none */
	struct weft_ctp_context_prefix context;
};

struct pieces {
	struct piece *piece;
	size_t count, room;
	struct map *labels; /* texts are shared */
};

/* ---- reading */

static int coro_recording_is_wanted(const struct weft_jfr_class *type, void *arg)
{
	const char *name = weft_jfr_class_name(type);

	(void)arg;
	return !strcmp(name, RECORDING_COROUTINE_RUN) || !strcmp(name, RECORDING_COROUTINE_WAIT) ||
	       !strcmp(name, RECORDING_COUNTER);
}

static uint64_t coro_recording_number(const struct weft_jfr_event_view *e, const char *name)
{
	return (uint64_t)decode_number(weft_jfr_event_get(e, name), 0);
}

static const struct weft_jfr_node *coro_recording_field(const struct weft_jfr_node *n,
							const char *name)
{
	return n && n->shape == WEFT_JFR_V_STRUCT ? weft_jfr_get(n, name) : NULL;
}

static void coro_recording_bytes_of(const struct weft_jfr_event_view *e, const char *name,
				    uint8_t *out, size_t count)
{
	struct weft_jfr_string s = decode_string(weft_jfr_event_get(e, name));

	for (size_t i = 0; s.bytes == 2 * count && i < count; i++) {
		unsigned int byte = 0;

		if (sscanf(s.data + 2 * i, "%2x", &byte) != 1)
			break;
		out[i] = (uint8_t)byte;
	}
}

/* The pid in a thread group's name, "name [pid]". */
static uint32_t coro_recording_pid_of(const struct weft_jfr_node *thread)
{
	struct weft_jfr_string s =
		decode_string(coro_recording_field(coro_recording_field(thread, "group"), "name"));
	const char *bracket = s.bytes ? memrchr(s.data, '[', s.bytes) : NULL;

	return bracket ? (uint32_t)strtoul(bracket + 1, NULL, 10) : 0;
}

static const char *coro_recording_label_field(const struct weft_jfr_event_view *e, const char *key)
{
	for (size_t i = 0; i < weft_jfr_class_fields(e->type); i++) {
		const char *name = weft_jfr_class_field(e->type, i);
		const char *its = weft_jfr_class_annotation(e->type, name, "weft.Key");

		if (its && !strcmp(its, key))
			return name;
	}
	return weft_jfr_class_find(e->type, key) >= 0 ? key : NULL;
}

/* A copy that all pieces of one value share. */
static int coro_recording_label_of(struct pieces *all, const struct weft_jfr_event_view *e,
				   const char *key, char **out)
{
	const char *name = key ? coro_recording_label_field(e, key) : NULL;
	struct weft_jfr_string s = decode_string(name ? weft_jfr_event_get(e, name) : NULL);
	uint64_t *kept;
	int fresh;

	if (!s.bytes)
		return 0;
	kept = map_put(all->labels, s.data, s.bytes, &fresh);
	if (!kept)
		return -ENOMEM;
	if (fresh)
		*kept = (uint64_t)(uintptr_t)strndup(s.data, s.bytes);
	*out = (char *)(uintptr_t)*kept;
	return *out ? 0 : -ENOMEM;
}

/* The stack has one frame, the place where the coroutine suspended. */
static int name_place(struct coro_names *names, const struct weft_jfr_event_view *e, uint64_t addr)
{
	const struct weft_jfr_node *frames =
		coro_recording_field(weft_jfr_event_get(e, "stackTrace"), "frames");
	const struct weft_jfr_node *method;
	struct weft_jfr_string s;

	if (!frames || frames->shape != WEFT_JFR_V_ARRAY || !frames->many.count)
		return 0;
	method = coro_recording_field(&frames->many.item[0], "method");
	s = decode_string(coro_recording_field(method, "name"));
	return s.bytes ? coro_names_say(names, addr, s.data, s.bytes) : 0;
}

static int coro_recording_take(struct pieces *all, const struct weft_jfr_event_view *e,
			       const char *key, struct coro_names *names)
{
	const struct weft_jfr_node *thread = weft_jfr_event_get(e, "eventThread");
	int is_run = !strcmp(weft_jfr_class_name(e->type), RECORDING_COROUTINE_RUN);
	struct piece *added,
		p = {
			.coroutine = coro_recording_number(e, RECORDING_FIELD_COROUTINE),
			.begin_ns = (uint64_t)e->start_ns,
			.end_ns = (uint64_t)(e->start_ns + e->duration_ns),
			.addr = coro_recording_number(e, RECORDING_FIELD_SITE),
			.tid = (uint64_t)decode_number(coro_recording_field(thread, "osThreadId"),
						       0),
			.pid = coro_recording_pid_of(thread),
			.is_run = (uint8_t)is_run,
			.is_first = !is_run && coro_recording_number(e, RECORDING_FIELD_FIRST),
			.is_last = coro_recording_number(e, RECORDING_FIELD_LAST) != 0,
		};
	int rc;

	if (e->start_ns < 0 || e->duration_ns < 0)
		return 0;
	coro_recording_bytes_of(e, RECORDING_FIELD_TRACE, p.context.trace_id,
				sizeof(p.context.trace_id));
	coro_recording_bytes_of(e, RECORDING_FIELD_SPAN, p.context.span_id,
				sizeof(p.context.span_id));
	rc = coro_recording_label_of(all, e, key, &p.label);
	if (rc == 0)
		rc = name_place(names, e, p.addr);
	added = rc ? NULL : array_add(&all->piece, &all->count, &all->room, sizeof(*added));
	if (!added)
		return -ENOMEM;
	*added = p;
	return 0;
}

/* Each row has what was added since the last one. */
static void take_counter(struct coro_report *r, const struct weft_jfr_event_view *e)
{
	struct weft_jfr_string name = decode_string(weft_jfr_event_get(e, RECORDING_FIELD_NAME));

	for (size_t i = 0; i < CORO_UNTOLD; i++)
		if (name.bytes == strlen(coro_untold_names[i]) &&
		    !memcmp(name.data, coro_untold_names[i], name.bytes))
			r->untold[i] += coro_recording_number(e, RECORDING_FIELD_VALUE);
}

static int coro_recording_take_event(struct coro_report *r, struct pieces *all,
				     const struct weft_jfr_event_view *e, struct coro_names *names)
{
	if (!e->fields) /* not wanted */
		return 0;
	if (strcmp(weft_jfr_class_name(e->type), RECORDING_COUNTER) != 0)
		return coro_recording_take(all, e, r->query.label, names);
	take_counter(r, e);
	return 0;
}

/* ---- feeding */

static int coro_recording_compare(const void *a, const void *b)
{
	const struct piece *x = a, *y = b;

	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	if (x->coroutine != y->coroutine)
		return x->coroutine < y->coroutine ? -1 : 1;
	if (x->begin_ns != y->begin_ns)
		return x->begin_ns < y->begin_ns ? -1 : 1;
	return x->end_ns < y->end_ns ? -1 : x->end_ns > y->end_ns;
}

/* The coroutine whose pieces are being fed. */
struct feeding {
	struct coro_report *r;
	struct coro_event last;
	uint32_t number;
};

static int coro_recording_put(struct feeding *f, const struct piece *p, int is_active, uint64_t ns,
			      int is_dead)
{
	f->last = (struct coro_event){
		.probe_id = p->coroutine,
		.tid = p->tid,
		.addr = p->addr,
		.seq = f->last.seq + 2,
		.ts = ns,
		.is_active = (uint8_t)is_active,
		.known = CORO_KNOWS_IDENTITY | CORO_KNOWS_CONTEXT,
		.pid = p->pid,
		.station = f->number,
		.generation = 2,
		.context = p->context,
	};
	if (is_dead)
		f->last.known |= CORO_KNOWS_DEATH;
	if (p->is_first) {
		f->last.known |= CORO_KNOWS_BIRTH;
		f->last.birth_ts = p->begin_ns;
	}
	f->r->label_now = p->label;
	return coro_report_event(f->r, &f->last);
}

static int coro_recording_feed(struct feeding *f, const struct piece *p)
{
	int goes_on = f->last.seq && f->last.ts == p->begin_ns && f->last.is_active == p->is_run;
	int rc = 0;

	if (!goes_on && f->last.seq)
		f->last.seq += 2; /* something is missing */
	if (!goes_on && !p->is_first)
		rc = coro_recording_put(f, p, p->is_run, p->begin_ns, 0);
	if (rc)
		return rc;
	if (p->is_run || !p->is_last)
		return coro_recording_put(f, p, !p->is_run, p->end_ns, p->is_last);
	/* It was destroyed while it was suspended. If it never ran, there is no event of it. */
	if (!p->is_first)
		coro_lives_death(f->r->lives, &(struct coro_death){.pid = p->pid,
								   .station = f->number,
								   .generation = 2,
								   .ts = p->end_ns});
	return 0;
}

static int feed_all(struct coro_report *r, struct pieces *all)
{
	struct feeding f = {.r = r};
	int rc = 0;

	if (all->count)
		qsort(all->piece, all->count, sizeof(*all->piece), coro_recording_compare);
	for (size_t i = 0; rc == 0 && i < all->count; i++) {
		const struct piece *p = &all->piece[i];

		if (i && (p->coroutine != p[-1].coroutine || p->pid != p[-1].pid)) {
			f.last.seq = 0;
			f.number++;
		}
		rc = coro_recording_feed(&f, p);
	}
	return rc;
}

/* ---- all */

int coro_recording_read(struct coro_report *r, const char *path, struct coro_names *names,
			char why[192])
{
	struct weft_jfr_reader *reader = weft_jfr_open(path);
	struct weft_jfr_event_view e;
	struct pieces all = {.labels = map_new()};
	int rc = all.labels ? 0 : -ENOMEM;

	why[0] = '\0';
	r->is_recording = 1;
	if (!reader)
		rc = -errno;
	else
		weft_jfr_filter(reader, coro_recording_is_wanted, NULL);
	while (rc == 0 && (rc = weft_jfr_next(reader, &e)) == 1)
		rc = coro_recording_take_event(r, &all, &e, names);
	if (rc == -EBADMSG && reader)
		snprintf(why, 192, "%s", weft_jfr_error(reader));
	if (rc == 0)
		rc = feed_all(r, &all);
	r->label_now = NULL;
	weft_jfr_reader_free(reader);
	map_free_values(all.labels, free);
	free(all.piece);
	return rc;
}
