/* SPDX-License-Identifier: Apache-2.0 */
/* Samples joined with their spans: see samples.h. */
#include "samples.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <weft/jfr.h>

struct span {
	uint64_t thread_key;
	int64_t start, end;
	char span[20], trace[40], route[64];
};

struct reading {
	struct samples *out;
	size_t sample_room, span_room;
	struct span *span;
	size_t spans;
	char **names; /* interned strings: few different ones */
	size_t name_count, name_room;
};

/* Room for one more; the array of @size-byte items, perhaps moved. Tests may run out. */
static void *grown(void *array, size_t count, size_t *room, size_t size)
{
	if (count < *room)
		return array;
	*room = *room ? *room * 2 : 64;
	array = realloc(array, *room * size);
	if (!array)
		abort();
	return array;
}

static void copy_text(const struct weft_jfr_node *n, char *out, size_t room)
{
	size_t bytes = n && n->shape == WEFT_JFR_V_STRING ? n->string.bytes : 0;

	if (bytes >= room)
		bytes = room - 1;
	if (bytes)
		memcpy(out, n->string.data, bytes);
	out[bytes] = '\0';
}

static const char *intern(struct reading *r, const char *text)
{
	for (size_t i = 0; i < r->name_count; i++)
		if (!strcmp(r->names[i], text))
			return r->names[i];
	r->names = grown(r->names, r->name_count, &r->name_room, sizeof(*r->names));
	r->names[r->name_count] = strdup(text);
	return r->names[r->name_count++];
}

static int64_t number_of(const struct weft_jfr_node *n)
{
	return n && n->shape == WEFT_JFR_V_NUMBER ? n->number : 0;
}

static const struct weft_jfr_node *get(const struct weft_jfr_node *n, const char *field)
{
	return n && n->shape == WEFT_JFR_V_STRUCT ? weft_jfr_get(n, field) : NULL;
}

/* Symbol structs hold their text in "string". */
static void copy_symbol(const struct weft_jfr_node *n, char *out, size_t room)
{
	copy_text(n && n->shape == WEFT_JFR_V_STRUCT ? get(n, "string") : n, out, room);
}

static void take_frames(struct reading *r, const struct weft_jfr_node *stack, struct sample *s)
{
	const struct weft_jfr_node *frames = get(stack, "frames");
	size_t count = frames && frames->shape == WEFT_JFR_V_ARRAY ? frames->many.count : 0;

	s->truncated = number_of(get(stack, "truncated")) != 0;
	for (size_t i = 0; i < count && i < SAMPLE_FRAMES_MAX; i++) {
		const struct weft_jfr_node *method = get(&frames->many.item[i], "method");
		char name[512], module[512];

		copy_symbol(get(method, "name"), name, sizeof(name));
		copy_symbol(get(get(method, "type"), "name"), module, sizeof(module));
		s->frame[s->frames] = intern(r, name);
		s->module[s->frames++] = intern(r, module);
	}
}

static void take_sample(struct reading *r, const struct weft_jfr_event_view *e)
{
	const struct weft_jfr_node *thread = weft_jfr_event_get(e, "eventThread");
	struct samples *out = r->out;
	struct sample *s;

	out->sample = grown(out->sample, out->count, &r->sample_room, sizeof(*s));
	s = &out->sample[out->count++];
	memset(s, 0, sizeof(*s));
	s->time_ns = number_of(weft_jfr_event_get(e, "startTime"));
	s->thread_key = thread ? thread->pool_key : 0;
	s->os_tid = number_of(get(thread, "osThreadId"));
	copy_text(get(thread, "osName"), s->thread, sizeof(s->thread));
	copy_text(get(get(thread, "group"), "name"), s->process, sizeof(s->process));
	take_frames(r, weft_jfr_event_get(e, "stackTrace"), s);
	/* Only in weft.ExecutionSample; joined otherwise. */
	copy_text(weft_jfr_event_get(e, "spanId"), s->span, sizeof(s->span));
	copy_text(weft_jfr_event_get(e, "traceId"), s->trace, sizeof(s->trace));
	copy_text(weft_jfr_event_get(e, SAMPLE_TAG), s->route, sizeof(s->route));
}

static void take_span(struct reading *r, const struct weft_jfr_event_view *e)
{
	const struct weft_jfr_node *thread = weft_jfr_event_get(e, "eventThread");
	struct span *s;

	r->span = grown(r->span, r->spans, &r->span_room, sizeof(*s));
	s = &r->span[r->spans++];
	s->thread_key = thread ? thread->pool_key : 0;
	s->start = number_of(weft_jfr_event_get(e, "startTime"));
	s->end = s->start + number_of(weft_jfr_event_get(e, "duration"));
	copy_text(weft_jfr_event_get(e, "spanId"), s->span, sizeof(s->span));
	copy_text(weft_jfr_event_get(e, "traceId"), s->trace, sizeof(s->trace));
	copy_text(weft_jfr_event_get(e, SAMPLE_TAG), s->route, sizeof(s->route));
}

static int by_thread_and_start(const void *a, const void *b)
{
	const struct span *x = a, *y = b;

	if (x->thread_key != y->thread_key)
		return x->thread_key < y->thread_key ? -1 : 1;
	return (x->start > y->start) - (x->start < y->start);
}

/* The last span of the thread that began at or before the time, if it lasts until then. */
static const struct span *covering(const struct reading *r, const struct sample *s)
{
	size_t low = 0, high = r->spans;

	while (low < high) {
		size_t mid = (low + high) / 2;
		const struct span *at = &r->span[mid];

		if (at->thread_key < s->thread_key ||
		    (at->thread_key == s->thread_key && at->start <= s->time_ns))
			low = mid + 1;
		else
			high = mid;
	}
	if (low == 0 || r->span[low - 1].thread_key != s->thread_key ||
	    r->span[low - 1].end <= s->time_ns)
		return NULL;
	return &r->span[low - 1];
}

static void join(struct reading *r)
{
	if (r->spans)
		qsort(r->span, r->spans, sizeof(*r->span), by_thread_and_start);
	for (size_t i = 0; i < r->out->count; i++) {
		struct sample *s = &r->out->sample[i];
		const struct span *span = covering(r, s);

		if (!span)
			continue;
		memcpy(s->span, span->span, sizeof(s->span));
		memcpy(s->trace, span->trace, sizeof(s->trace));
		memcpy(s->route, span->route, sizeof(s->route));
	}
	r->out->spans = r->spans;
	free(r->span);
	r->out->names = r->names;
	r->out->name_count = r->name_count;
}

static int is_one(const char *name, int wall)
{
	if (wall)
		return !strcmp(name, "profiler.WallClockSample") ||
		       !strcmp(name, "weft.WallClockSample");
	return !strcmp(name, "jdk.ExecutionSample") || !strcmp(name, "weft.ExecutionSample");
}

static int read_all(const char *path, int wall, struct samples *out)
{
	struct reading r = {.out = out};
	struct weft_jfr_event_view e;
	struct weft_jfr_reader *reader = weft_jfr_open(path);
	int rc;

	memset(out, 0, sizeof(*out));
	if (!reader)
		return -errno;
	while ((rc = weft_jfr_next(reader, &e)) == 1) {
		const char *name = weft_jfr_class_name(e.type);

		if (is_one(name, wall))
			take_sample(&r, &e);
		else if (!strcmp(name, "weft.Span"))
			take_span(&r, &e);
	}
	weft_jfr_reader_free(reader);
	join(&r);
	return rc;
}

void samples_free(struct samples *s)
{
	for (size_t i = 0; i < s->name_count; i++)
		free(s->names[i]);
	free(s->names);
	free(s->sample);
	memset(s, 0, sizeof(*s));
}

int samples_read(const char *path, struct samples *out)
{
	return read_all(path, 0, out);
}

int samples_read_wall(const char *path, struct samples *out)
{
	return read_all(path, 1, out);
}
