/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chrome's trace event format (JSON object form), for ui.perfetto.dev and chrome://tracing.
 * Source: "Trace Event Format" of the Catapult project. Runs are complete events (X) that nest
 * on their thread, joined by flows (bind_id); the longest waits are async events (b, e), a track
 * for each coroutine; counters are C. Times are microseconds with three decimals.
 */
#include "export/export.h"

#include "base/text/json_write.h"

#include <inttypes.h>
#include <stdio.h>

/* Ids that no process has (pids end at 2^22). */
#define PID_COUNTERS 2147483647u
#define PID_UNKNOWN 2147483646u

struct chrome {
	struct sink text;
	struct json_writer json;
};

/* An event a line, not indented. */
static const struct json_shape chrome_events = {.comma = ",", .colon = ":", .has_lines = 1};

/* Begins an event with what all of them have; the caller ends it. */
static struct json_writer *chrome_open_event(struct export_job *x, const char *phase,
					     const char *category)
{
	struct json_writer *w = &((struct chrome *)x->state)->json;

	json_write_object(w, NULL);
	json_write_plain(w, "ph", "%s", phase);
	if (category)
		json_write_plain(w, "cat", "%s", category);
	return w;
}

/* Ends the arguments and the event. The first error so far. */
static int chrome_close_event(struct json_writer *w)
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
static uint32_t chrome_tid_of(const struct coro_thread *thread, uint32_t index)
{
	return thread->tid && thread->tid < (1u << 30) ? (uint32_t)thread->tid : (1u << 30) + index;
}

static int chrome_put_process(struct export_job *x, uint32_t pid, const char *name, int sort)
{
	struct json_writer *w = chrome_open_event(x, "M", NULL);

	json_write_plain(w, "name", "process_name");
	json_write_uint(w, "pid", pid);
	json_write_object(w, "args");
	json_write_plain(w, "name", "%s", name);
	if (!sort)
		return chrome_close_event(w);
	chrome_close_event(w);
	chrome_open_event(x, "M", NULL);
	json_write_plain(w, "name", "process_sort_index");
	json_write_uint(w, "pid", pid);
	json_write_object(w, "args");
	json_write_int(w, "sort_index", sort);
	return chrome_close_event(w);
}

static int chrome_thread(struct export_job *x, const struct coro_thread *thread, uint32_t index)
{
	char name[32] = "process not in the trace";
	struct json_writer *w;

	if (thread->pid)
		snprintf(name, sizeof(name), "process %u", thread->pid);
	chrome_put_process(x, chrome_pid_of(thread->pid), name, 0);
	w = chrome_open_event(x, "M", NULL);
	json_write_plain(w, "name", "thread_name");
	json_write_uint(w, "pid", chrome_pid_of(thread->pid));
	json_write_uint(w, "tid", chrome_tid_of(thread, index));
	json_write_object(w, "args");
	json_write_plain(w, "name", "thread %" PRIu64, thread->tid);
	return chrome_close_event(w);
}

static void chrome_put_slice_args(struct json_writer *w, const struct coro_slice *s,
				  const struct weft_ctp_context_prefix *context)
{
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

static int chrome_slice(struct export_job *x, const struct coro_slice *s,
			const struct coro_thread *thread)
{
	struct json_writer *w = chrome_open_event(x, "X", "run");
	char name[CORO_SHORT_BYTES];

	coro_timeline_name(name, s->life);
	json_write_plain(w, "name", "%s", name);
	json_write_uint(w, "pid", chrome_pid_of(thread->pid));
	json_write_uint(w, "tid", chrome_tid_of(thread, s->thread));
	chrome_put_micros(w, "ts", s->begin_ns);
	chrome_put_micros(w, "dur", s->end_ns - s->begin_ns);
	if (s->comes || s->goes)
		json_write_plain(w, "bind_id", "0x%" PRIx64, s->flow);
	if (s->comes)
		json_write_bool(w, "flow_in", 1);
	if (s->goes)
		json_write_bool(w, "flow_out", 1);
	chrome_put_slice_args(w, s, coro_timeline_context(x->timeline, s));
	return chrome_close_event(w);
}

static struct json_writer *chrome_open_wait(struct export_job *x, const char *phase,
					    const struct coro_wait *w, size_t track, uint64_t ns)
{
	struct json_writer *json = chrome_open_event(x, phase, "wait");
	char name[CORO_SHORT_BYTES];

	coro_timeline_name(name, w->life);
	json_write_plain(json, "id", "%zu", track);
	json_write_plain(json, "name", "wait of %s", name);
	json_write_uint(json, "pid", chrome_pid_of(w->life->pid));
	json_write_uint(json, "tid", 0);
	chrome_put_micros(json, "ts", ns);
	return json;
}

static int chrome_wait(struct export_job *x, const struct coro_wait *w, size_t track)
{
	struct json_writer *json = chrome_open_wait(x, "b", w, track, w->begin_ns);

	json_write_object(json, "args");
	json_write_plain(json, "coroutine", "%" PRIu64, w->life->probe_id);
	json_write_plain(json, "addr", "0x%016" PRIx64, w->addr);
	if (w->is_open)
		json_write_plain(json, "end", "not resumed");
	if (w->is_first)
		json_write_plain(json, "begin", "birth");
	chrome_close_event(json);
	json = chrome_open_wait(x, "e", w, track, w->end_ns);
	json_write_object_end(json);
	return json->s->rc;
}

static struct json_writer *chrome_open_counter(struct export_job *x, const char *name, uint64_t ns)
{
	struct json_writer *w = chrome_open_event(x, "C", NULL);

	json_write_plain(w, "name", "%s", name);
	json_write_uint(w, "pid", PID_COUNTERS);
	chrome_put_micros(w, "ts", ns);
	json_write_object(w, "args");
	return w;
}

static int chrome_put_counters(void *arg, uint64_t ns, const int64_t *now, unsigned int changed)
{
	struct export_job *x = arg;
	struct json_writer *w;
	int rc = 0;

	if (changed & (1u << CORO_RUNNING | 1u << CORO_SUSPENDED)) {
		w = chrome_open_counter(x, "coroutines", ns);
		json_write_int(w, "running", now[CORO_RUNNING]);
		json_write_int(w, "suspended", now[CORO_SUSPENDED]);
		rc = chrome_close_event(w);
	}
	if (changed & 1u << CORO_LIVE) {
		w = chrome_open_counter(x, "live coroutines", ns);
		json_write_int(w, "live", now[CORO_LIVE]);
		rc = chrome_close_event(w);
	}
	if (changed & 1u << CORO_LOST) {
		w = chrome_open_counter(x, "lost events", ns);
		json_write_int(w, "lost", now[CORO_LOST]);
		rc = chrome_close_event(w);
	}
	return rc;
}

static int chrome_begin(struct export_job *x)
{
	struct chrome *c = x->state;
	struct json_writer *w = &c->json;
	int rc = sink_open(&c->text, x->output);

	if (rc)
		return rc;
	*w = (struct json_writer){
		.s = &c->text, .object = &json_shape_flat, .array = &chrome_events};
	json_write_root(w);
	json_write_object(w, NULL);
	json_write_plain(w, "displayTimeUnit", "ns");
	return 0;
}

static int chrome_lost(struct export_job *x, uint64_t events)
{
	struct json_writer *w = &((struct chrome *)x->state)->json;

	json_write_object(w, "otherData");
	json_write_plain(w, "clock", "CLOCK_MONOTONIC");
	json_write_plain(w, "lost events", "%" PRIu64, events);
	json_write_object_end(w);
	json_write_array(w, "traceEvents");
	return chrome_put_process(x, PID_COUNTERS, "coroutines", -1);
}

static int chrome_end(struct export_job *x)
{
	struct json_writer *w = &((struct chrome *)x->state)->json;
	int rc = coro_timeline_counters(x->timeline, chrome_put_counters, x);

	json_write_array_end(w);
	json_write_object_end(w);
	sink_char(w->s, '\n');
	return rc ? rc : sink_flush(w->s);
}

static void chrome_free(struct export_job *x)
{
	sink_close(&((struct chrome *)x->state)->text);
}

const struct exporter_ops exporter_chrome = {
	.state_bytes = sizeof(struct chrome),
	.begin = chrome_begin,
	.lost = chrome_lost,
	.thread = chrome_thread,
	.slice = chrome_slice,
	.wait = chrome_wait,
	.end = chrome_end,
	.free = chrome_free,
};
