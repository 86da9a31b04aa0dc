/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A Perfetto trace: the messages of perfetto.proto.
 *
 * One packet sequence; no packet leans on an earlier one (names are in full), so each may say that
 * something was lost before it without spoiling what follows. A track for each thread, for each
 * coroutine of the longest waits, for each counter. Times are CLOCK_MONOTONIC where a snapshot of
 * the clocks can be given, else the trace's own.
 */
#include "export/export.h"

#include "base/hash.h"
#include "perfetto.pb-c.h"

#include <inttypes.h>
#include <stdio.h>

enum { CLOCK_REAL = 1, CLOCK_MONO = 3, CLOCK_BOOT = 6 };
#define STATE_CLEARED 1
#define UNIT_COUNT 2
#define SEQUENCE 1
#define ANNOTATIONS 6     /* of an event, at most */
#define PACKET_BYTES 1024 /* names have up to 40 bytes, values up to 33: none has half of it */

enum track_kind { OF_PROCESS = 1, OF_THREAD, OF_WAITS, OF_WAIT, OF_COUNTERS, OF_COUNTER };

struct perfetto {
	uint64_t lost;
	size_t track; /* of the last wait */
};

/* An event while it is put together. */
struct event {
	TrackEvent event;
	DebugAnnotation annotation[ANNOTATIONS], *annotations[ANNOTATIONS];
	char *category;
};

/* The library does not write to a message's texts. */
#define TEXT(text) ((char *)(uintptr_t)(text))
/* A number is in a message only when it is said to be there. */
#define SET(message, field, value) ((message)->has_##field = 1, (message)->field = (value))

static int perfetto_send(const struct export_job *x, TracePacket *packet)
{
	uint8_t bytes[PACKET_BYTES];
	Trace trace = TRACE__INIT;

	SET(packet, trusted_packet_sequence_id, SEQUENCE);
	trace.packet = &packet;
	trace.n_packet = 1;
	return output_write(x->output, bytes, trace__pack(&trace, bytes));
}

/* Ids are spread, so that two traces in one file do not share any. */
static uint64_t uuid(enum track_kind kind, uint64_t index)
{
	return hash_mix((uint64_t)kind << 56 | (index + 1));
}

static TrackDescriptor perfetto_track(uint64_t id, uint64_t parent, const char *name)
{
	TrackDescriptor track = TRACK_DESCRIPTOR__INIT;

	SET(&track, uuid, id);
	if (parent)
		SET(&track, parent_uuid, parent);
	track.name = TEXT(name);
	return track;
}

static int perfetto_put_track(const struct export_job *x, TrackDescriptor track)
{
	TracePacket packet = TRACE_PACKET__INIT;

	packet.track_descriptor = &track;
	return perfetto_send(x, &packet);
}

static int has_ids(const struct coro_thread *thread)
{
	return thread->pid && thread->pid <= INT32_MAX && thread->tid <= INT32_MAX;
}

static int perfetto_thread(struct export_job *x, const struct coro_thread *thread, uint32_t index)
{
	ProcessDescriptor of_process = PROCESS_DESCRIPTOR__INIT;
	ThreadDescriptor of_thread = THREAD_DESCRIPTOR__INIT;
	uint64_t id = uuid(OF_THREAD, index), parent = uuid(OF_PROCESS, thread->pid);
	TrackDescriptor track = perfetto_track(parent, 0, NULL);
	char name[40];
	int rc;

	snprintf(name, sizeof(name), "thread %" PRIu64, thread->tid);
	if (!has_ids(thread))
		return perfetto_put_track(x, perfetto_track(id, 0, name));
	SET(&of_process, pid, (int32_t)thread->pid);
	track.process = &of_process;
	rc = perfetto_put_track(x, track);
	if (rc)
		return rc;
	SET(&of_thread, pid, (int32_t)thread->pid);
	SET(&of_thread, tid, (int64_t)thread->tid);
	of_thread.thread_name = name;
	track = perfetto_track(id, parent, NULL);
	track.thread = &of_thread;
	return perfetto_put_track(x, track);
}

/* ---- events */

static void event_init(struct event *e, TrackEvent__Type type, uint64_t track, const char *category,
		       const char *name)
{
	track_event__init(&e->event);
	SET(&e->event, type, type);
	SET(&e->event, track_uuid, track);
	e->category = TEXT(category);
	e->event.categories = &e->category;
	e->event.n_categories = 1;
	e->event.name = TEXT(name);
	e->event.debug_annotations = e->annotations;
}

static DebugAnnotation *event_annotate(struct event *e, const char *name)
{
	size_t i = e->event.n_debug_annotations++;

	debug_annotation__init(&e->annotation[i]);
	e->annotation[i].name = TEXT(name);
	return e->annotations[i] = &e->annotation[i];
}

static void event_annotate_text(struct event *e, const char *name, const char *text)
{
	event_annotate(e, name)->string_value = TEXT(text);
}

static void event_annotate_place(struct event *e, const struct coro_life *life, uint64_t addr)
{
	DebugAnnotation *a = event_annotate(e, "coroutine");

	SET(a, uint_value, life->probe_id);
	if (!addr)
		return;
	a = event_annotate(e, "addr");
	SET(a, pointer_value, addr);
}

static int event_send(const struct export_job *x, TrackEvent *event, uint64_t ns, int is_after_loss)
{
	TracePacket packet = TRACE_PACKET__INIT;

	SET(&packet, timestamp, ns);
	if (x->sink.mono_ns)
		SET(&packet, timestamp_clock_id, CLOCK_MONO);
	packet.track_event = event;
	if (is_after_loss) {
		SET(&packet, sequence_flags, STATE_CLEARED);
		SET(&packet, previous_packet_dropped, 1);
	}
	return perfetto_send(x, &packet);
}

static int perfetto_end_slice(const struct export_job *x, uint64_t track, uint64_t ns)
{
	TrackEvent event = TRACK_EVENT__INIT;

	SET(&event, type, TRACK_EVENT__TYPE__SLICE_END);
	SET(&event, track_uuid, track);
	return event_send(x, &event, ns, 0);
}

static int perfetto_slice(struct export_job *x, const struct coro_slice *s,
			  const struct coro_thread *thread)
{
	const struct weft_ctp_context_prefix *context = coro_timeline_context(x->timeline, s);
	char name[CORO_SHORT_BYTES], trace[33], span[17];
	uint64_t flow = s->flow;
	struct event e;

	(void)thread;
	coro_timeline_name(name, s->life);
	event_init(&e, TRACK_EVENT__TYPE__SLICE_BEGIN, uuid(OF_THREAD, s->thread), "run", name);
	e.event.flow_ids = e.event.terminating_flow_ids = &flow;
	e.event.n_flow_ids = s->goes != 0;
	e.event.n_terminating_flow_ids = s->comes && !s->goes;
	event_annotate_place(&e, s->life, s->addr);
	if (context) {
		export_hex(trace, context->trace_id, sizeof(context->trace_id));
		export_hex(span, context->span_id, sizeof(context->span_id));
		event_annotate_text(&e, "trace_id", trace);
		event_annotate_text(&e, "span_id", span);
	}
	if (s->is_open)
		event_annotate_text(&e, "end", "not seen");
	if (s->is_cut || s->is_rest)
		event_annotate_text(&e, "cut", s->is_cut ? "end" : "begin");
	return event_send(x, &e.event, s->begin_ns, 0);
}

static int perfetto_slice_end(struct export_job *x, const struct coro_slice *s)
{
	return perfetto_end_slice(x, uuid(OF_THREAD, s->thread), s->end_ns);
}

/* The track of a coroutine's waits; before the first one, that of all of them. */
static int perfetto_put_wait_track(const struct export_job *x, size_t track,
				   const struct coro_life *life)
{
	uint64_t group = uuid(OF_WAITS, 0);
	char name[CORO_SHORT_BYTES];
	int rc = 0;

	if (track == 1)
		rc = perfetto_put_track(x, perfetto_track(group, 0, "longest waits"));
	coro_timeline_name(name, life);
	return rc ? rc : perfetto_put_track(x, perfetto_track(uuid(OF_WAIT, track), group, name));
}

static int perfetto_wait(struct export_job *x, const struct coro_wait *w, size_t track)
{
	struct perfetto *p = x->state;
	uint64_t id = uuid(OF_WAIT, track);
	struct event e;
	int rc = track != p->track ? perfetto_put_wait_track(x, track, w->life) : 0;

	p->track = track;
	if (rc)
		return rc;
	event_init(&e, TRACK_EVENT__TYPE__SLICE_BEGIN, id, "wait",
		   w->is_open ? "wait, not resumed" : "wait");
	event_annotate_place(&e, w->life, w->addr);
	if (w->is_first)
		event_annotate_text(&e, "begin", "birth");
	rc = event_send(x, &e.event, w->begin_ns, 0);
	return rc ? rc : perfetto_end_slice(x, id, w->end_ns);
}

/* Where more events are lost than before, the packet says that it follows a loss. */
static int perfetto_put_counter(void *arg, uint64_t ns, const int64_t *now, unsigned int changed)
{
	const struct export_job *x = arg;
	int rc = 0;

	for (unsigned int c = 0; !rc && c < CORO_COUNTERS; c++) {
		TrackEvent event = TRACK_EVENT__INIT;

		if (!(changed & 1u << c))
			continue;
		SET(&event, type, TRACK_EVENT__TYPE__COUNTER);
		SET(&event, track_uuid, uuid(OF_COUNTER, c));
		SET(&event, counter_value, now[c]);
		rc = event_send(x, &event, ns, c == CORO_LOST && now[c]);
	}
	return rc;
}

static int perfetto_put_counters(struct export_job *x)
{
	static const char *const names[CORO_COUNTERS] = {"running", "suspended", "live",
							 "lost events"};
	uint64_t group = uuid(OF_COUNTERS, 0);
	int rc = perfetto_put_track(x, perfetto_track(group, 0, "coroutines"));

	for (unsigned int c = 0; !rc && c < CORO_COUNTERS; c++) {
		TrackDescriptor track = perfetto_track(uuid(OF_COUNTER, c), group, names[c]);
		CounterDescriptor counter = COUNTER_DESCRIPTOR__INIT;

		SET(&counter, unit, UNIT_COUNT);
		track.counter = &counter;
		rc = perfetto_put_track(x, track);
	}
	return rc ? rc : coro_timeline_counters(x->timeline, perfetto_put_counter, x);
}

/* ---- the trace */

/* The first packet: it begins the sequence, and relates the clocks where they are known. */
static int perfetto_begin(struct export_job *x)
{
	const uint64_t now[][2] = {{CLOCK_REAL, x->sink.real_ns},
				   {CLOCK_MONO, x->sink.mono_ns},
				   {CLOCK_BOOT, x->sink.boot_ns}};
	ClockSnapshot__Clock clock[3], *clocks[3];
	ClockSnapshot snapshot = CLOCK_SNAPSHOT__INIT;
	TracePacket packet = TRACE_PACKET__INIT;

	for (size_t i = 0; i < 3; i++) {
		clocks[i] = &clock[i];
		clock_snapshot__clock__init(clocks[i]);
		SET(clocks[i], clock_id, (uint32_t)now[i][0]);
		SET(clocks[i], timestamp, now[i][1]);
	}
	snapshot.clocks = clocks;
	snapshot.n_clocks = 3;
	if (x->sink.mono_ns)
		packet.clock_snapshot = &snapshot;
	SET(&packet, sequence_flags, STATE_CLEARED);
	return perfetto_send(x, &packet);
}

static int perfetto_lost(struct export_job *x, uint64_t events)
{
	((struct perfetto *)x->state)->lost = events;
	return 0;
}

/* The statistics by which viewers warn that data was lost. */
static int perfetto_put_losses(const struct export_job *x, uint64_t lost)
{
	TraceStats__BufferStats buffer = TRACE_STATS__BUFFER_STATS__INIT, *buffers = &buffer;
	TraceStats stats = TRACE_STATS__INIT;
	TracePacket packet = TRACE_PACKET__INIT;

	SET(&buffer, trace_writer_packet_loss, lost);
	stats.buffer_stats = &buffers;
	stats.n_buffer_stats = 1;
	packet.trace_stats = &stats;
	return perfetto_send(x, &packet);
}

static int perfetto_end(struct export_job *x)
{
	uint64_t lost = ((struct perfetto *)x->state)->lost;
	int rc = perfetto_put_counters(x);

	return rc || !lost ? rc : perfetto_put_losses(x, lost);
}

const struct exporter_ops exporter_perfetto = {
	.state_bytes = sizeof(struct perfetto),
	.begin = perfetto_begin,
	.lost = perfetto_lost,
	.thread = perfetto_thread,
	.slice = perfetto_slice,
	.slice_end = perfetto_slice_end,
	.wait = perfetto_wait,
	.end = perfetto_end,
};
