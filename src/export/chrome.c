/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chrome's trace event format (JSON object form), for ui.perfetto.dev and chrome://tracing.
 * Source: "Trace Event Format" of the Catapult project. Runs are complete events (X) that nest
 * on their thread, joined by flows (bind_id); the longest waits are async events (b, e), a track
 * for each coroutine; counters are C. Times are microseconds with three decimals.
 */
#include "base/text/json_write.h"
#include "export/sink.h"
#include "coro/look/timeline.h"

#include <errno.h>
#include <stdlib.h>

/* Ids that no process has (pids end at 2^22). */
#define PID_COUNTERS 2147483647u
#define PID_UNKNOWN 2147483646u

struct coro_sink {
	struct output *output;
	struct coro_timeline *timeline;
	struct sink text;
	struct json_writer json;
};

/* An event a line, not indented. */
static const struct json_shape chrome_events = {.comma = ",", .colon = ":", .has_lines = 1};

static int chrome_open(struct coro_sink **out, const struct coro_sink_options *options)
{
	struct coro_sink *sink = calloc(1, sizeof(*sink));
	int rc = sink ? coro_timeline_new(&sink->timeline, options->longest) : -ENOMEM;

	if (!rc)
		rc = sink_output(&sink->output, options);
	if (rc) {
		if (sink)
			coro_timeline_free(sink->timeline);
		free(sink);
		return rc;
	}
	*out = sink;
	return 0;
}

static int chrome_put(struct coro_sink *sink, const struct coro_event *event)
{
	return coro_timeline_event(sink->timeline, event);
}

/* What all events have: begins one, which the caller ends. */
static struct json_writer *chrome_begin(struct coro_sink *sink, const char *phase,
					const char *category)
{
	json_write_object(&sink->json, NULL);
	json_write_plain(&sink->json, "ph", "%s", phase);
	if (category)
		json_write_plain(&sink->json, "cat", "%s", category);
	return &sink->json;
}

/* Of the arguments, and of the event; the error so far. */
static int chrome_end(struct json_writer *w)
{
	json_write_object_end(w);
	json_write_object_end(w);
	return w->s->rc;
}

static void chrome_put_micros(struct json_writer *w, const char *key, uint64_t ns)
{
	char text[32];
	int n = snprintf(text, sizeof(text), "%" PRIu64 ".%03u", ns / 1000,
			 (unsigned int)(ns % 1000));

	json_write_made(w, key, text, (size_t)n);
}

static uint32_t chrome_pid_of(uint32_t pid)
{
	return pid ? pid : PID_UNKNOWN;
}

/* Viewers take ids as 32-bit numbers; one that is larger is told by the thread's name alone. */
static uint32_t tid_of(const struct coro_thread *thread, uint32_t index)
{
	return thread->tid && thread->tid < (1u << 30) ? (uint32_t)thread->tid : (1u << 30) + index;
}

static int put_process(struct coro_sink *sink, uint32_t pid, const char *name, int sort)
{
	struct json_writer *w = chrome_begin(sink, "M", NULL);

	json_write_plain(w, "name", "process_name");
	json_write_uint(w, "pid", pid);
	json_write_object(w, "args");
	json_write_plain(w, "name", "%s", name);
	if (!sort)
		return chrome_end(w);
	chrome_end(w);
	chrome_begin(sink, "M", NULL);
	json_write_plain(w, "name", "process_sort_index");
	json_write_uint(w, "pid", pid);
	json_write_object(w, "args");
	json_write_int(w, "sort_index", sort);
	return chrome_end(w);
}

static int chrome_put_thread(struct coro_sink *sink, const struct coro_thread *thread,
			     uint32_t index)
{
	struct json_writer *w = chrome_begin(sink, "M", NULL);

	json_write_plain(w, "name", "thread_name");
	json_write_uint(w, "pid", chrome_pid_of(thread->pid));
	json_write_uint(w, "tid", tid_of(thread, index));
	json_write_object(w, "args");
	json_write_plain(w, "name", "thread %" PRIu64, thread->tid);
	return chrome_end(w);
}

static int chrome_put_names(struct coro_sink *sink)
{
	const struct coro_thread *threads;
	size_t count = coro_timeline_threads(sink->timeline, &threads);
	int rc = put_process(sink, PID_COUNTERS, "coroutines", -1);

	for (size_t i = 0; !rc && i < count; i++) {
		char name[32] = "process not in the trace";

		if (threads[i].pid)
			snprintf(name, sizeof(name), "process %u", threads[i].pid);
		rc = put_process(sink, chrome_pid_of(threads[i].pid), name, 0);
		if (!rc)
			rc = chrome_put_thread(sink, &threads[i], (uint32_t)i);
	}
	return rc;
}

static void put_slice_args(struct coro_sink *sink, const struct coro_slice *s)
{
	const struct weft_ctp_context_prefix *context = coro_timeline_context(sink->timeline, s);
	struct json_writer *w = &sink->json;

	json_write_object(w, "args");
	json_write_plain(w, "coroutine", "%" PRIu64, s->life->probe_id);
	if (s->addr)
		json_write_plain(w, "addr", "0x%016" PRIx64, s->addr);
	if (context) {
		json_write_hex(w, "trace_id", "", context->trace_id, sizeof(context->trace_id));
		json_write_hex(w, "span_id", "", context->span_id, sizeof(context->span_id));
	}
	if (s->is_open)
		json_write_plain(w, "end", "not seen");
	if (s->is_cut || s->is_rest)
		json_write_plain(w, "cut", "%s%s", s->is_rest ? "begin" : "",
				 s->is_cut ? "end" : "");
}

static int put_slice(struct coro_sink *sink, const struct coro_slice *s,
		     const struct coro_thread *thread)
{
	struct json_writer *w = chrome_begin(sink, "X", "run");
	char name[CORO_SHORT_BYTES];

	coro_timeline_name(name, s->life);
	json_write_plain(w, "name", "%s", name);
	json_write_uint(w, "pid", chrome_pid_of(thread->pid));
	json_write_uint(w, "tid", tid_of(thread, s->thread));
	chrome_put_micros(w, "ts", s->begin_ns);
	chrome_put_micros(w, "dur", s->end_ns - s->begin_ns);
	if (s->comes || s->goes)
		json_write_plain(w, "bind_id", "0x%" PRIx64, s->flow);
	if (s->comes)
		json_write_bool(w, "flow_in", 1);
	if (s->goes)
		json_write_bool(w, "flow_out", 1);
	put_slice_args(sink, s);
	return chrome_end(w);
}

static int chrome_put_slices(struct coro_sink *sink)
{
	const struct coro_thread *threads;
	const struct coro_slice *slices;
	size_t count = coro_timeline_slices(sink->timeline, &slices);
	int rc = 0;

	coro_timeline_threads(sink->timeline, &threads);
	for (size_t i = 0; !rc && i < count; i++)
		rc = put_slice(sink, &slices[i], &threads[slices[i].thread]);
	return rc;
}

static struct json_writer *chrome_begin_wait(struct coro_sink *sink, const char *phase,
					     const struct coro_wait *w, size_t track, uint64_t ns)
{
	struct json_writer *json = chrome_begin(sink, phase, "wait");
	char name[CORO_SHORT_BYTES];

	coro_timeline_name(name, w->life);
	json_write_plain(json, "id", "%zu", track);
	json_write_plain(json, "name", "wait of %s", name);
	json_write_uint(json, "pid", chrome_pid_of(w->life->pid));
	json_write_uint(json, "tid", 0);
	chrome_put_micros(json, "ts", ns);
	return json;
}

static int chrome_put_wait(struct coro_sink *sink, const struct coro_wait *w, size_t track)
{
	struct json_writer *json = chrome_begin_wait(sink, "b", w, track, w->begin_ns);

	json_write_object(json, "args");
	json_write_plain(json, "coroutine", "%" PRIu64, w->life->probe_id);
	json_write_plain(json, "addr", "0x%016" PRIx64, w->addr);
	if (w->is_open)
		json_write_plain(json, "end", "not resumed");
	if (w->is_first)
		json_write_plain(json, "begin", "birth");
	chrome_end(json);
	json_write_object_end(chrome_begin_wait(sink, "e", w, track, w->end_ns));
	return sink->text.rc;
}

static int chrome_put_waits(struct coro_sink *sink)
{
	const struct coro_wait *waits;
	size_t count = coro_timeline_waits(sink->timeline, &waits), track = 0;
	int rc = 0;

	for (size_t i = 0; !rc && i < count; i++) {
		track += i == 0 || waits[i].life != waits[i - 1].life;
		rc = chrome_put_wait(sink, &waits[i], track);
	}
	return rc;
}

static struct json_writer *chrome_begin_counter(struct coro_sink *sink, const char *name,
						uint64_t ns)
{
	struct json_writer *w = chrome_begin(sink, "C", NULL);

	json_write_plain(w, "name", "%s", name);
	json_write_uint(w, "pid", PID_COUNTERS);
	chrome_put_micros(w, "ts", ns);
	json_write_object(w, "args");
	return w;
}

static int chrome_put_counters(void *arg, uint64_t ns, const int64_t *now, unsigned int changed)
{
	struct coro_sink *sink = arg;
	struct json_writer *w;

	if (changed & (1u << CORO_RUNNING | 1u << CORO_SUSPENDED)) {
		w = chrome_begin_counter(sink, "coroutines", ns);
		json_write_int(w, "running", now[CORO_RUNNING]);
		json_write_int(w, "suspended", now[CORO_SUSPENDED]);
		chrome_end(w);
	}
	if (changed & 1u << CORO_LIVE) {
		w = chrome_begin_counter(sink, "live coroutines", ns);
		json_write_int(w, "live", now[CORO_LIVE]);
		chrome_end(w);
	}
	if (changed & 1u << CORO_LOST) {
		w = chrome_begin_counter(sink, "lost events", ns);
		json_write_int(w, "lost", now[CORO_LOST]);
		chrome_end(w);
	}
	return sink->text.rc;
}

static int chrome_put_events(struct coro_sink *sink)
{
	int rc = chrome_put_names(sink);

	if (!rc)
		rc = chrome_put_slices(sink);
	if (!rc)
		rc = chrome_put_waits(sink);
	return rc ? rc : coro_timeline_counters(sink->timeline, chrome_put_counters, sink);
}

static int chrome_put_all(struct coro_sink *sink)
{
	struct json_writer *w = &sink->json;
	int rc;

	*w = (struct json_writer){
		.s = &sink->text, .object = &json_shape_flat, .array = &chrome_events};
	json_write_root(w);
	json_write_object(w, NULL);
	json_write_plain(w, "displayTimeUnit", "ns");
	json_write_object(w, "otherData");
	json_write_plain(w, "clock", "CLOCK_MONOTONIC");
	json_write_plain(w, "lost events", "%" PRIu64, coro_timeline_lost(sink->timeline));
	json_write_object_end(w);
	json_write_array(w, "traceEvents");
	rc = chrome_put_events(sink);
	json_write_array_end(w);
	json_write_object_end(w);
	sink_char(w->s, '\n');
	return rc ? rc : sink_flush(w->s);
}

static int chrome_finish(struct coro_sink *sink, const struct coro_books *books)
{
	struct output *output = sink->output;
	int rc = coro_timeline_finish(sink->timeline, books);

	if (!rc)
		rc = sink_open(&sink->text, output);
	if (!rc)
		rc = chrome_put_all(sink);
	if (rc)
		return rc;
	sink->output = NULL;
	return output_commit(output);
}

static void chrome_close(struct coro_sink *sink)
{
	coro_timeline_free(sink->timeline);
	output_abandon(sink->output);
	sink_close(&sink->text);
	free(sink);
}

const struct coro_sink_ops coro_sink_chrome = {
	.open = chrome_open,
	.put = chrome_put,
	.finish = chrome_finish,
	.close = chrome_close,
};
