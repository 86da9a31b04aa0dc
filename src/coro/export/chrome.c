/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chrome's trace event format (JSON object form), for ui.perfetto.dev and chrome://tracing.
 * Source: "Trace Event Format" of the Catapult project. Runs are complete events (X) that nest
 * on their thread, joined by flows (bind_id); the longest waits are async events (b, e), a track
 * for each coroutine; counters are C. Times are microseconds with three decimals.
 */
#include "coro/export/sink.h"
#include "coro/look/timeline.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>

/* Ids that no process has (pids end at 2^22). */
#define PID_COUNTERS 2147483647u
#define PID_UNKNOWN 2147483646u

struct coro_sink {
	struct output *output;
	struct coro_timeline *timeline;
	int begun; /* an event stands there already */
};

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

static int chrome_print(struct coro_sink *sink, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
static int chrome_print(struct coro_sink *sink, const char *format, ...)
{
	char text[512];
	va_list list;
	int n;

	va_start(list, format);
	n = vsnprintf(text, sizeof(text), format, list);
	va_end(list);
	return output_write(sink->output, text, (size_t)n);
}

/* What stands before an event: the comma of the one before. */
static const char *comma(struct coro_sink *sink)
{
	const char *text = sink->begun ? ",\n" : "\n";

	sink->begun = 1;
	return text;
}

struct micros {
	char text[32];
};

static struct micros micros(uint64_t ns)
{
	struct micros m;

	snprintf(m.text, sizeof(m.text), "%" PRIu64 ".%03u", ns / 1000, (unsigned int)(ns % 1000));
	return m;
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
	int rc = chrome_print(sink,
			      "%s{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":%u,"
			      "\"args\":{\"name\":\"%s\"}}",
			      comma(sink), pid, name);

	if (!rc && sort)
		rc = chrome_print(sink,
				  "%s{\"ph\":\"M\",\"name\":\"process_sort_index\",\"pid\":%u,"
				  "\"args\":{\"sort_index\":%d}}",
				  comma(sink), pid, sort);
	return rc;
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
			rc = chrome_print(
				sink,
				"%s{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":%u,\"tid\":%u,"
				"\"args\":{\"name\":\"thread %" PRIu64 "\"}}",
				comma(sink), chrome_pid_of(threads[i].pid),
				tid_of(&threads[i], (uint32_t)i), threads[i].tid);
	}
	return rc;
}

static int chrome_put_context(struct coro_sink *sink, const struct weft_ctp_context_prefix *context)
{
	char trace[33], span[17];

	for (size_t i = 0; i < sizeof(context->trace_id); i++)
		sprintf(trace + 2 * i, "%02x", context->trace_id[i]);
	for (size_t i = 0; i < sizeof(context->span_id); i++)
		sprintf(span + 2 * i, "%02x", context->span_id[i]);
	return chrome_print(sink, ",\"trace_id\":\"%s\",\"span_id\":\"%s\"", trace, span);
}

static int put_slice_args(struct coro_sink *sink, const struct coro_slice *s)
{
	const struct weft_ctp_context_prefix *context = coro_timeline_context(sink->timeline, s);
	int rc = chrome_print(sink, ",\"args\":{\"coroutine\":\"%" PRIu64 "\"", s->life->probe_id);

	if (!rc && s->addr)
		rc = chrome_print(sink, ",\"addr\":\"0x%016" PRIx64 "\"", s->addr);
	if (!rc && context)
		rc = chrome_put_context(sink, context);
	if (!rc && s->is_open)
		rc = chrome_print(sink, ",\"end\":\"not seen\"");
	if (!rc && (s->is_cut || s->is_rest))
		rc = chrome_print(sink, ",\"cut\":\"%s%s\"", s->is_rest ? "begin" : "",
				  s->is_cut ? "end" : "");
	return rc ? rc : chrome_print(sink, "}}");
}

static int put_slice(struct coro_sink *sink, const struct coro_slice *s,
		     const struct coro_thread *thread)
{
	char name[CORO_SHORT_BYTES];
	int rc;

	coro_timeline_name(name, s->life);
	rc = chrome_print(sink,
			  "%s{\"ph\":\"X\",\"cat\":\"run\",\"name\":\"%s\",\"pid\":%u,\"tid\":%u,"
			  "\"ts\":%s,\"dur\":%s",
			  comma(sink), name, chrome_pid_of(thread->pid), tid_of(thread, s->thread),
			  micros(s->begin_ns).text, micros(s->end_ns - s->begin_ns).text);
	if (!rc && (s->comes || s->goes))
		rc = chrome_print(sink, ",\"bind_id\":\"0x%" PRIx64 "\"%s%s", s->flow,
				  s->comes ? ",\"flow_in\":true" : "",
				  s->goes ? ",\"flow_out\":true" : "");
	return rc ? rc : put_slice_args(sink, s);
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

static int chrome_put_wait(struct coro_sink *sink, const struct coro_wait *w, size_t track)
{
	char name[CORO_SHORT_BYTES];
	int rc;

	coro_timeline_name(name, w->life);
	rc = chrome_print(sink,
			  "%s{\"ph\":\"b\",\"cat\":\"wait\",\"id\":\"%zu\",\"name\":\"wait of %s\","
			  "\"pid\":%u,\"tid\":0,\"ts\":%s,\"args\":{\"coroutine\":\"%" PRIu64
			  "\",\"addr\":\"0x%016" PRIx64 "\"%s%s}}",
			  comma(sink), track, name, chrome_pid_of(w->life->pid),
			  micros(w->begin_ns).text, w->life->probe_id, w->addr,
			  w->is_open ? ",\"end\":\"not resumed\"" : "",
			  w->is_first ? ",\"begin\":\"birth\"" : "");
	return rc ? rc
		  : chrome_print(sink,
				 "%s{\"ph\":\"e\",\"cat\":\"wait\",\"id\":\"%zu\",\"name\":\"wait "
				 "of %s\","
				 "\"pid\":%u,\"tid\":0,\"ts\":%s}",
				 comma(sink), track, name, chrome_pid_of(w->life->pid),
				 micros(w->end_ns).text);
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

static int chrome_put_counters(void *arg, uint64_t ns, const int64_t *now, unsigned int changed)
{
	struct coro_sink *sink = arg;
	struct micros ts = micros(ns);
	int rc = 0;

	if (changed & (1u << CORO_RUNNING | 1u << CORO_SUSPENDED))
		rc = chrome_print(sink,
				  "%s{\"ph\":\"C\",\"name\":\"coroutines\",\"pid\":%u,\"ts\":%s,"
				  "\"args\":{\"running\":%" PRId64 ",\"suspended\":%" PRId64 "}}",
				  comma(sink), PID_COUNTERS, ts.text, now[CORO_RUNNING],
				  now[CORO_SUSPENDED]);
	if (!rc && changed & 1u << CORO_LIVE)
		rc = chrome_print(
			sink,
			"%s{\"ph\":\"C\",\"name\":\"live coroutines\",\"pid\":%u,\"ts\":%s,"
			"\"args\":{\"live\":%" PRId64 "}}",
			comma(sink), PID_COUNTERS, ts.text, now[CORO_LIVE]);
	if (!rc && changed & 1u << CORO_LOST)
		rc = chrome_print(sink,
				  "%s{\"ph\":\"C\",\"name\":\"lost events\",\"pid\":%u,\"ts\":%s,"
				  "\"args\":{\"lost\":%" PRId64 "}}",
				  comma(sink), PID_COUNTERS, ts.text, now[CORO_LOST]);
	return rc;
}

static int chrome_put_all(struct coro_sink *sink)
{
	int rc = chrome_print(
		sink,
		"{\"displayTimeUnit\":\"ns\",\"otherData\":{\"clock\":\"CLOCK_MONOTONIC\","
		"\"lost events\":\"%" PRIu64 "\"},\"traceEvents\":[",
		coro_timeline_lost(sink->timeline));

	if (!rc)
		rc = chrome_put_names(sink);
	if (!rc)
		rc = chrome_put_slices(sink);
	if (!rc)
		rc = chrome_put_waits(sink);
	if (!rc)
		rc = coro_timeline_counters(sink->timeline, chrome_put_counters, sink);
	return rc ? rc : chrome_print(sink, "\n]}\n");
}

static int chrome_finish(struct coro_sink *sink, const struct coro_books *books)
{
	struct output *output = sink->output;
	int rc = coro_timeline_finish(sink->timeline, books);

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
	free(sink);
}

const struct coro_sink_ops coro_sink_chrome = {
	.open = chrome_open,
	.put = chrome_put,
	.finish = chrome_finish,
	.close = chrome_close,
};
