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
#include "export/export.h"

#include "base/buf.h"
#include "base/hash.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
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

struct perfetto {
	struct export *x;
	struct buf packet, message, part, length;
	uint64_t lost;
	size_t track; /* of the last wait */
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

/* The packet that lies in p->packet goes out. */
static int send_packet(struct perfetto *p)
{
	perfetto_put_number(&p->packet, PACKET_SEQUENCE, SEQUENCE);
	buf_clear(&p->length);
	put_message(&p->length, TRACE_PACKET, &p->packet);
	buf_clear(&p->packet);
	if (p->length.failed)
		return -ENOMEM;
	return output_write(p->x->output, p->length.data, p->length.size);
}

/* Spread, so that traces put together do not share any. */
static uint64_t uuid(enum track_kind kind, uint64_t index)
{
	return hash_mix((uint64_t)kind << 56 | (index + 1));
}

/* A track whose own part (process, thread, counter) lies in p->part; field 0: has none. */
static int put_track(struct perfetto *p, uint64_t id, uint64_t parent, const char *name,
		     enum track_field field)
{
	buf_clear(&p->message);
	perfetto_put_number(&p->message, TRACK_UUID, id);
	if (parent)
		perfetto_put_number(&p->message, TRACK_PARENT, parent);
	if (name)
		perfetto_put_text(&p->message, TRACK_NAME, name);
	if (field)
		put_message(&p->message, field, &p->part);
	buf_clear(&p->part);
	put_message(&p->packet, PACKET_TRACK_DESCRIPTOR, &p->message);
	return send_packet(p);
}

static int has_ids(const struct coro_thread *thread)
{
	return thread->pid && thread->pid <= INT32_MAX && thread->tid <= INT32_MAX;
}

static int perfetto_thread(struct export *x, const struct coro_thread *thread, uint32_t index)
{
	struct perfetto *p = x->state;
	char name[40];
	int rc;

	snprintf(name, sizeof(name), "thread %" PRIu64, thread->tid);
	if (!has_ids(thread))
		return put_track(p, uuid(OF_THREAD, index), 0, name, 0);
	perfetto_put_number(&p->part, 1, thread->pid);
	rc = put_track(p, uuid(OF_PROCESS, thread->pid), 0, NULL, TRACK_PROCESS);
	if (rc)
		return rc;
	perfetto_put_number(&p->part, 1, thread->pid);
	perfetto_put_number(&p->part, 2, thread->tid);
	perfetto_put_text(&p->part, 5, name);
	return put_track(p, uuid(OF_THREAD, index), uuid(OF_PROCESS, thread->pid), NULL,
			 TRACK_THREAD);
}

static void perfetto_put_annotation(struct perfetto *p, const char *name, unsigned int field,
				    uint64_t number, const char *text)
{
	buf_clear(&p->part);
	perfetto_put_text(&p->part, 10, name);
	if (text)
		perfetto_put_text(&p->part, 6, text);
	else
		perfetto_put_number(&p->part, field, number);
	put_message(&p->message, EVENT_ANNOTATION, &p->part);
	buf_clear(&p->part);
}

#define ANNOTATE_NUMBER 3
#define ANNOTATE_POINTER 7

static void begin_event(struct perfetto *p, enum event_type type, uint64_t track)
{
	buf_clear(&p->message);
	perfetto_put_number(&p->message, EVENT_TYPE, type);
	perfetto_put_number(&p->message, EVENT_TRACK, track);
}

static int end_event(struct perfetto *p, uint64_t ns)
{
	perfetto_put_number(&p->packet, PACKET_TIMESTAMP, ns);
	if (p->x->sink.mono_ns)
		perfetto_put_number(&p->packet, PACKET_CLOCK, CLOCK_MONO);
	put_message(&p->packet, PACKET_TRACK_EVENT, &p->message);
	return send_packet(p);
}

static void annotate_context(struct perfetto *p, const struct weft_ctp_context_prefix *c)
{
	char hex[33];

	for (size_t i = 0; i < sizeof(c->trace_id); i++)
		sprintf(hex + 2 * i, "%02x", c->trace_id[i]);
	perfetto_put_annotation(p, "trace_id", 0, 0, hex);
	for (size_t i = 0; i < sizeof(c->span_id); i++)
		sprintf(hex + 2 * i, "%02x", c->span_id[i]);
	perfetto_put_annotation(p, "span_id", 0, 0, hex);
}

static int perfetto_slice(struct export *x, const struct coro_slice *s,
			  const struct coro_thread *thread)
{
	const struct weft_ctp_context_prefix *context = coro_timeline_context(x->timeline, s);
	struct perfetto *p = x->state;
	char name[CORO_SHORT_BYTES];

	(void)thread;
	begin_event(p, SLICE_BEGIN, uuid(OF_THREAD, s->thread));
	coro_timeline_name(name, s->life);
	perfetto_put_text(&p->message, EVENT_CATEGORY, "run");
	perfetto_put_text(&p->message, EVENT_NAME, name);
	if (s->goes)
		put_fixed64(&p->message, EVENT_FLOW, s->flow);
	else if (s->comes)
		put_fixed64(&p->message, EVENT_LAST_FLOW, s->flow);
	perfetto_put_annotation(p, "coroutine", ANNOTATE_NUMBER, s->life->probe_id, NULL);
	if (s->addr)
		perfetto_put_annotation(p, "addr", ANNOTATE_POINTER, s->addr, NULL);
	if (context)
		annotate_context(p, context);
	if (s->is_open)
		perfetto_put_annotation(p, "end", 0, 0, "not seen");
	if (s->is_cut || s->is_rest)
		perfetto_put_annotation(p, "cut", 0, 0, s->is_cut ? "end" : "begin");
	return end_event(p, s->begin_ns);
}

static int end_slice(struct perfetto *p, uint64_t track, uint64_t ns)
{
	begin_event(p, SLICE_END, track);
	return end_event(p, ns);
}

static int perfetto_slice_end(struct export *x, const struct coro_slice *s)
{
	return end_slice(x->state, uuid(OF_THREAD, s->thread), s->end_ns);
}

/* The track of a coroutine's waits; before the first one, that of all of them. */
static int perfetto_put_wait_track(struct perfetto *p, const struct coro_life *life)
{
	uint64_t group = uuid(OF_WAITS, 0);
	char name[CORO_SHORT_BYTES];
	int rc = p->track == 1 ? put_track(p, group, 0, "longest waits", 0) : 0;

	coro_timeline_name(name, life);
	return rc ? rc : put_track(p, uuid(OF_WAIT, p->track), group, name, 0);
}

static int perfetto_wait(struct export *x, const struct coro_wait *w, size_t track)
{
	struct perfetto *p = x->state;
	uint64_t id = uuid(OF_WAIT, track);
	int rc = 0;

	if (track != p->track) {
		p->track = track;
		rc = perfetto_put_wait_track(p, w->life);
	}
	if (rc)
		return rc;
	begin_event(p, SLICE_BEGIN, id);
	perfetto_put_text(&p->message, EVENT_CATEGORY, "wait");
	perfetto_put_text(&p->message, EVENT_NAME, w->is_open ? "wait, not resumed" : "wait");
	perfetto_put_annotation(p, "coroutine", ANNOTATE_NUMBER, w->life->probe_id, NULL);
	if (w->addr)
		perfetto_put_annotation(p, "addr", ANNOTATE_POINTER, w->addr, NULL);
	if (w->is_first)
		perfetto_put_annotation(p, "begin", 0, 0, "birth");
	rc = end_event(p, w->begin_ns);
	return rc ? rc : end_slice(p, id, w->end_ns);
}

static const char *const counter_names[CORO_COUNTERS] = {"running", "suspended", "live",
							 "lost events"};

/* A counter goes up to "lost" from here: what lies before is not whole. */
static int perfetto_put_counter(void *arg, uint64_t ns, const int64_t *now, unsigned int changed)
{
	struct perfetto *p = arg;
	int rc = 0;

	for (unsigned int c = 0; !rc && c < CORO_COUNTERS; c++) {
		if (!(changed & 1u << c))
			continue;
		begin_event(p, COUNTER, uuid(OF_COUNTER, c));
		perfetto_put_number(&p->message, EVENT_COUNTER_VALUE, (uint64_t)now[c]);
		if (c == CORO_LOST && now[c]) {
			perfetto_put_number(&p->packet, PACKET_SEQUENCE_FLAGS, STATE_CLEARED);
			perfetto_put_number(&p->packet, PACKET_PREVIOUS_DROPPED, 1);
		}
		rc = end_event(p, ns);
	}
	return rc;
}

static int perfetto_put_counters(struct perfetto *p)
{
	uint64_t group = uuid(OF_COUNTERS, 0);
	int rc = put_track(p, group, 0, "coroutines", 0);

	for (unsigned int c = 0; !rc && c < CORO_COUNTERS; c++) {
		perfetto_put_number(&p->part, 3, 2); /* unit: count */
		rc = put_track(p, uuid(OF_COUNTER, c), group, counter_names[c], TRACK_COUNTER);
	}
	return rc ? rc : coro_timeline_counters(p->x->timeline, perfetto_put_counter, p);
}

static void put_clock(struct perfetto *p, uint64_t clock, uint64_t ns)
{
	buf_clear(&p->part);
	perfetto_put_number(&p->part, 1, clock);
	perfetto_put_number(&p->part, 2, ns);
	put_message(&p->message, 1, &p->part);
	buf_clear(&p->part);
}

/* The first packet: it begins the sequence, and relates the clocks where they are known. */
static int perfetto_begin(struct export *x)
{
	struct perfetto *p = calloc(1, sizeof(*p));

	x->state = p;
	if (!p)
		return -ENOMEM;
	p->x = x;
	perfetto_put_number(&p->packet, PACKET_SEQUENCE_FLAGS, STATE_CLEARED);
	if (x->sink.mono_ns) {
		put_clock(p, CLOCK_REAL, x->sink.real_ns);
		put_clock(p, CLOCK_MONO, x->sink.mono_ns);
		put_clock(p, CLOCK_BOOT, x->sink.boot_ns);
		put_message(&p->packet, PACKET_CLOCK_SNAPSHOT, &p->message);
	}
	return send_packet(p);
}

static int perfetto_lost(struct export *x, uint64_t events)
{
	((struct perfetto *)x->state)->lost = events;
	return 0;
}

/* By this viewers warn that data was lost. */
static int perfetto_put_losses(struct perfetto *p)
{
	if (!p->lost)
		return 0;
	perfetto_put_number(&p->part, 19, p->lost); /* trace_writer_packet_loss */
	buf_clear(&p->message);
	put_message(&p->message, 1, &p->part);
	buf_clear(&p->part);
	put_message(&p->packet, PACKET_TRACE_STATS, &p->message);
	return send_packet(p);
}

static int perfetto_end(struct export *x)
{
	int rc = perfetto_put_counters(x->state);

	return rc ? rc : perfetto_put_losses(x->state);
}

static void perfetto_free(struct export *x)
{
	struct perfetto *p = x->state;

	if (!p)
		return;
	buf_free(&p->packet);
	buf_free(&p->message);
	buf_free(&p->part);
	buf_free(&p->length);
	free(p);
}

const struct exporter_ops exporter_perfetto = {
	.begin = perfetto_begin,
	.lost = perfetto_lost,
	.thread = perfetto_thread,
	.slice = perfetto_slice,
	.slice_end = perfetto_slice_end,
	.wait = perfetto_wait,
	.end = perfetto_end,
	.free = perfetto_free,
};
