/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A Perfetto trace: protobuf, written by hand, for a message is a tag, a length and bytes.
 * Source: perfetto's protos/perfetto/trace/. Fields used are those of tests/cli/perfetto.proto.
 *
 * One packet sequence; no packet leans on an earlier one (names are in full), so each may say that
 * something was lost before it without spoiling what follows. A track for each thread, for each
 * coroutine of the longest waits, for each counter. Times are CLOCK_MONOTONIC where a snapshot of
 * the clocks can be given, else the trace's own.
 */
#include "base/buf.h"
#include "base/hash.h"
#include "export/sink.h"
#include "coro/look/timeline.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum packet_field {
	TRACE_PACKET = 1,
	PACKET_CLOCK_SNAPSHOT = 6,
	PACKET_TIMESTAMP = 8,
	PACKET_SEQUENCE = 10,
	PACKET_TRACK_EVENT = 11,
	PACKET_SEQUENCE_FLAGS = 13,
	PACKET_TRACE_STATS = 35,
	PACKET_PREVIOUS_DROPPED = 42,
	PACKET_CLOCK = 58,
	PACKET_TRACK_DESCRIPTOR = 60,
};

enum event_field {
	EVENT_ANNOTATION = 4,
	EVENT_TYPE = 9,
	EVENT_TRACK = 11,
	EVENT_CATEGORY = 22,
	EVENT_NAME = 23,
	EVENT_COUNTER_VALUE = 30,
	EVENT_FLOW = 47,
	EVENT_LAST_FLOW = 48,
};

enum track_field {
	TRACK_UUID = 1,
	TRACK_NAME = 2,
	TRACK_PROCESS = 3,
	TRACK_THREAD = 4,
	TRACK_PARENT = 5,
	TRACK_COUNTER = 8,
};

enum event_type { SLICE_BEGIN = 1, SLICE_END = 2, COUNTER = 4 };
enum { CLOCK_REAL = 1, CLOCK_MONO = 3, CLOCK_BOOT = 6 };
#define STATE_CLEARED 1
#define SEQUENCE 1

enum track_kind { OF_PROCESS = 1, OF_THREAD, OF_WAITS, OF_WAIT, OF_COUNTERS, OF_COUNTER };

struct coro_sink {
	struct output *output;
	struct coro_timeline *timeline;
	struct buf packet, message, part, length;
	uint64_t mono_ns, real_ns, boot_ns;
};

static void perfetto_put_number(struct buf *b, unsigned int field, uint64_t value)
{
	buf_put_varint(b, (uint64_t)field << 3);
	buf_put_varint(b, value);
}

static void put_fixed64(struct buf *b, unsigned int field, uint64_t value)
{
	uint8_t bytes[8];

	for (int i = 0; i < 8; i++)
		bytes[i] = (uint8_t)(value >> (8 * i));
	buf_put_varint(b, (uint64_t)field << 3 | 1);
	buf_put(b, bytes, sizeof(bytes));
}

static void perfetto_put_bytes(struct buf *b, unsigned int field, const void *data, size_t bytes)
{
	buf_put_varint(b, (uint64_t)field << 3 | 2);
	buf_put_varint(b, bytes);
	buf_put(b, data, bytes);
}

static void perfetto_put_text(struct buf *b, unsigned int field, const char *text)
{
	perfetto_put_bytes(b, field, text, strlen(text));
}

static void put_message(struct buf *b, unsigned int field, const struct buf *message)
{
	b->failed |= message->failed;
	perfetto_put_bytes(b, field, message->data ? message->data : (const uint8_t *)"",
			   message->size);
}

/* The packet that lies in sink->packet goes out. */
static int send_packet(struct coro_sink *sink)
{
	int rc;

	perfetto_put_number(&sink->packet, PACKET_SEQUENCE, SEQUENCE);
	buf_clear(&sink->length);
	put_message(&sink->length, TRACE_PACKET, &sink->packet);
	buf_clear(&sink->packet);
	if (sink->length.failed)
		return -ENOMEM;
	rc = output_write(sink->output, sink->length.data, sink->length.size);
	return rc;
}

/* Spread, so that traces put together do not share any. */
static uint64_t uuid(enum track_kind kind, uint64_t index)
{
	return hash_mix((uint64_t)kind << 56 | (index + 1));
}

/* A track whose own part (process, thread, counter) lies in sink->part; field 0: has none. */
static int put_track(struct coro_sink *sink, uint64_t id, uint64_t parent, const char *name,
		     enum track_field field)
{
	buf_clear(&sink->message);
	perfetto_put_number(&sink->message, TRACK_UUID, id);
	if (parent)
		perfetto_put_number(&sink->message, TRACK_PARENT, parent);
	if (name)
		perfetto_put_text(&sink->message, TRACK_NAME, name);
	if (field)
		put_message(&sink->message, field, &sink->part);
	buf_clear(&sink->part);
	put_message(&sink->packet, PACKET_TRACK_DESCRIPTOR, &sink->message);
	return send_packet(sink);
}

static int has_ids(const struct coro_thread *thread)
{
	return thread->pid && thread->pid <= INT32_MAX && thread->tid <= INT32_MAX;
}

static int perfetto_put_thread(struct coro_sink *sink, const struct coro_thread *thread,
			       size_t index)
{
	char name[40];
	int rc;

	snprintf(name, sizeof(name), "thread %" PRIu64, thread->tid);
	if (!has_ids(thread))
		return put_track(sink, uuid(OF_THREAD, index), 0, name, 0);
	perfetto_put_number(&sink->part, 1, thread->pid);
	rc = put_track(sink, uuid(OF_PROCESS, thread->pid), 0, NULL, TRACK_PROCESS);
	if (rc)
		return rc;
	perfetto_put_number(&sink->part, 1, thread->pid);
	perfetto_put_number(&sink->part, 2, thread->tid);
	perfetto_put_text(&sink->part, 5, name);
	return put_track(sink, uuid(OF_THREAD, index), uuid(OF_PROCESS, thread->pid), NULL,
			 TRACK_THREAD);
}

static int perfetto_put_threads(struct coro_sink *sink)
{
	const struct coro_thread *threads;
	size_t count = coro_timeline_threads(sink->timeline, &threads);
	int rc = 0;

	for (size_t i = 0; !rc && i < count; i++)
		rc = perfetto_put_thread(sink, &threads[i], i);
	return rc;
}

static void perfetto_put_annotation(struct coro_sink *sink, const char *name, unsigned int field,
				    uint64_t number, const char *text)
{
	buf_clear(&sink->part);
	perfetto_put_text(&sink->part, 10, name);
	if (text)
		perfetto_put_text(&sink->part, 6, text);
	else
		perfetto_put_number(&sink->part, field, number);
	put_message(&sink->message, EVENT_ANNOTATION, &sink->part);
	buf_clear(&sink->part);
}

#define ANNOTATE_NUMBER 3
#define ANNOTATE_POINTER 7

static void begin_event(struct coro_sink *sink, enum event_type type, uint64_t track)
{
	buf_clear(&sink->message);
	perfetto_put_number(&sink->message, EVENT_TYPE, type);
	perfetto_put_number(&sink->message, EVENT_TRACK, track);
}

static int end_event(struct coro_sink *sink, uint64_t ns)
{
	perfetto_put_number(&sink->packet, PACKET_TIMESTAMP, ns);
	if (sink->mono_ns)
		perfetto_put_number(&sink->packet, PACKET_CLOCK, CLOCK_MONO);
	put_message(&sink->packet, PACKET_TRACK_EVENT, &sink->message);
	return send_packet(sink);
}

static void annotate_context(struct coro_sink *sink, const struct weft_ctp_context_prefix *c)
{
	char hex[33];

	for (size_t i = 0; i < sizeof(c->trace_id); i++)
		sprintf(hex + 2 * i, "%02x", c->trace_id[i]);
	perfetto_put_annotation(sink, "trace_id", 0, 0, hex);
	for (size_t i = 0; i < sizeof(c->span_id); i++)
		sprintf(hex + 2 * i, "%02x", c->span_id[i]);
	perfetto_put_annotation(sink, "span_id", 0, 0, hex);
}

static int slice_begins(struct coro_sink *sink, const struct coro_slice *s)
{
	const struct weft_ctp_context_prefix *context = coro_timeline_context(sink->timeline, s);
	char name[CORO_SHORT_BYTES];

	begin_event(sink, SLICE_BEGIN, uuid(OF_THREAD, s->thread));
	coro_timeline_name(name, s->life);
	perfetto_put_text(&sink->message, EVENT_CATEGORY, "run");
	perfetto_put_text(&sink->message, EVENT_NAME, name);
	if (s->goes)
		put_fixed64(&sink->message, EVENT_FLOW, s->flow);
	else if (s->comes)
		put_fixed64(&sink->message, EVENT_LAST_FLOW, s->flow);
	perfetto_put_annotation(sink, "coroutine", ANNOTATE_NUMBER, s->life->probe_id, NULL);
	if (s->addr)
		perfetto_put_annotation(sink, "addr", ANNOTATE_POINTER, s->addr, NULL);
	if (context)
		annotate_context(sink, context);
	if (s->is_open)
		perfetto_put_annotation(sink, "end", 0, 0, "not seen");
	if (s->is_cut || s->is_rest)
		perfetto_put_annotation(sink, "cut", 0, 0, s->is_cut ? "end" : "begin");
	return end_event(sink, s->begin_ns);
}

static int slice_ends(struct coro_sink *sink, uint64_t track, uint64_t ns)
{
	begin_event(sink, SLICE_END, track);
	return end_event(sink, ns);
}

/* Ends what ended before @next begins (NULL: all). @open: slices, innermost last. */
static int end_slices(struct coro_sink *sink, const struct coro_slice **open, size_t *depth,
		      const struct coro_slice *next)
{
	int rc = 0;

	while (!rc && *depth) {
		const struct coro_slice *last = open[*depth - 1];

		if (next && last->thread == next->thread && last->end_ns > next->begin_ns)
			break;
		rc = slice_ends(sink, uuid(OF_THREAD, last->thread), last->end_ns);
		--*depth;
	}
	return rc;
}

static int perfetto_put_slices(struct coro_sink *sink)
{
	const struct coro_slice *slices, **open;
	size_t count = coro_timeline_slices(sink->timeline, &slices), depth = 0;
	int rc = 0;

	open = calloc(count + 1, sizeof(struct coro_slice *));
	if (!open)
		return -ENOMEM;
	for (size_t i = 0; !rc && i < count; i++) {
		rc = end_slices(sink, open, &depth, &slices[i]);
		if (!rc)
			rc = slice_begins(sink, &slices[i]);
		open[depth++] = &slices[i];
	}
	if (!rc)
		rc = end_slices(sink, open, &depth, NULL);
	free(open);
	return rc;
}

static int perfetto_put_wait(struct coro_sink *sink, const struct coro_wait *w, uint64_t track)
{
	int rc;

	begin_event(sink, SLICE_BEGIN, track);
	perfetto_put_text(&sink->message, EVENT_CATEGORY, "wait");
	perfetto_put_text(&sink->message, EVENT_NAME, w->is_open ? "wait, not resumed" : "wait");
	perfetto_put_annotation(sink, "coroutine", ANNOTATE_NUMBER, w->life->probe_id, NULL);
	if (w->addr)
		perfetto_put_annotation(sink, "addr", ANNOTATE_POINTER, w->addr, NULL);
	if (w->is_first)
		perfetto_put_annotation(sink, "begin", 0, 0, "birth");
	rc = end_event(sink, w->begin_ns);
	return rc ? rc : slice_ends(sink, track, w->end_ns);
}

static int perfetto_put_waits(struct coro_sink *sink)
{
	const struct coro_wait *waits;
	size_t count = coro_timeline_waits(sink->timeline, &waits), track = 0;
	uint64_t group = uuid(OF_WAITS, 0);
	int rc = count ? put_track(sink, group, 0, "longest waits", 0) : 0;

	for (size_t i = 0; !rc && i < count; i++) {
		char name[CORO_SHORT_BYTES];

		if (i == 0 || waits[i].life != waits[i - 1].life) {
			coro_timeline_name(name, waits[i].life);
			rc = put_track(sink, uuid(OF_WAIT, ++track), group, name, 0);
		}
		if (!rc)
			rc = perfetto_put_wait(sink, &waits[i], uuid(OF_WAIT, track));
	}
	return rc;
}

static const char *const counter_names[CORO_COUNTERS] = {"running", "suspended", "live",
							 "lost events"};

/* A counter goes up to "lost" from here: what lies before is not whole. */
static int perfetto_put_counter(void *arg, uint64_t ns, const int64_t *now, unsigned int changed)
{
	struct coro_sink *sink = arg;
	int rc = 0;

	for (unsigned int c = 0; !rc && c < CORO_COUNTERS; c++) {
		if (!(changed & 1u << c))
			continue;
		begin_event(sink, COUNTER, uuid(OF_COUNTER, c));
		perfetto_put_number(&sink->message, EVENT_COUNTER_VALUE, (uint64_t)now[c]);
		if (c == CORO_LOST && now[c]) {
			perfetto_put_number(&sink->packet, PACKET_SEQUENCE_FLAGS, STATE_CLEARED);
			perfetto_put_number(&sink->packet, PACKET_PREVIOUS_DROPPED, 1);
		}
		rc = end_event(sink, ns);
	}
	return rc;
}

static int perfetto_put_counters(struct coro_sink *sink)
{
	uint64_t group = uuid(OF_COUNTERS, 0);
	int rc = put_track(sink, group, 0, "coroutines", 0);

	for (unsigned int c = 0; !rc && c < CORO_COUNTERS; c++) {
		perfetto_put_number(&sink->part, 3, 2); /* unit: count */
		rc = put_track(sink, uuid(OF_COUNTER, c), group, counter_names[c], TRACK_COUNTER);
	}
	return rc ? rc : coro_timeline_counters(sink->timeline, perfetto_put_counter, sink);
}

static void put_clock(struct coro_sink *sink, uint64_t clock, uint64_t ns)
{
	buf_clear(&sink->part);
	perfetto_put_number(&sink->part, 1, clock);
	perfetto_put_number(&sink->part, 2, ns);
	put_message(&sink->message, 1, &sink->part);
	buf_clear(&sink->part);
}

/* The first packet: it begins the sequence, and relates the clocks where they are known. */
static int perfetto_put_head(struct coro_sink *sink)
{
	perfetto_put_number(&sink->packet, PACKET_SEQUENCE_FLAGS, STATE_CLEARED);
	if (sink->mono_ns) {
		buf_clear(&sink->message);
		put_clock(sink, CLOCK_REAL, sink->real_ns);
		put_clock(sink, CLOCK_MONO, sink->mono_ns);
		put_clock(sink, CLOCK_BOOT, sink->boot_ns);
		put_message(&sink->packet, PACKET_CLOCK_SNAPSHOT, &sink->message);
	}
	return send_packet(sink);
}

/* By this viewers warn that data was lost. */
static int put_losses(struct coro_sink *sink)
{
	uint64_t lost = coro_timeline_lost(sink->timeline);

	if (!lost)
		return 0;
	perfetto_put_number(&sink->part, 19, lost); /* trace_writer_packet_loss */
	buf_clear(&sink->message);
	put_message(&sink->message, 1, &sink->part);
	buf_clear(&sink->part);
	put_message(&sink->packet, PACKET_TRACE_STATS, &sink->message);
	return send_packet(sink);
}

static int perfetto_put_all(struct coro_sink *sink)
{
	int rc = perfetto_put_head(sink);

	if (!rc)
		rc = perfetto_put_threads(sink);
	if (!rc)
		rc = perfetto_put_slices(sink);
	if (!rc)
		rc = perfetto_put_waits(sink);
	if (!rc)
		rc = perfetto_put_counters(sink);
	return rc ? rc : put_losses(sink);
}

static void perfetto_close(struct coro_sink *sink)
{
	coro_timeline_free(sink->timeline);
	output_abandon(sink->output);
	buf_free(&sink->packet);
	buf_free(&sink->message);
	buf_free(&sink->part);
	buf_free(&sink->length);
	free(sink);
}

static int perfetto_open(struct coro_sink **out, const struct coro_sink_options *options)
{
	struct coro_sink *sink = calloc(1, sizeof(*sink));
	int rc = sink ? coro_timeline_new(&sink->timeline, options->longest) : -ENOMEM;

	if (!rc)
		rc = sink_output(&sink->output, options);
	if (rc) {
		if (sink)
			perfetto_close(sink);
		return rc;
	}
	sink->mono_ns = options->mono_ns;
	sink->real_ns = options->real_ns;
	sink->boot_ns = options->boot_ns;
	*out = sink;
	return 0;
}

static int perfetto_put(struct coro_sink *sink, const struct coro_event *event)
{
	return coro_timeline_event(sink->timeline, event);
}

static int perfetto_finish(struct coro_sink *sink, const struct coro_books *books)
{
	struct output *output = sink->output;
	int rc = coro_timeline_finish(sink->timeline, books);

	if (!rc)
		rc = perfetto_put_all(sink);
	if (rc)
		return rc;
	sink->output = NULL;
	return output_commit(output);
}

const struct coro_sink_ops coro_sink_perfetto = {
	.open = perfetto_open,
	.put = perfetto_put,
	.finish = perfetto_finish,
	.close = perfetto_close,
};
