/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libFuzzer target: types of events and events from a program that lies. The input is a list of
 * parts, each u8 kind, u16 bytes, bytes: the data of a definition, an event as it stands in the
 * ring, lines of settings, or the order to drain. The collector drains, walks, names and writes, on
 * one thread; in the end the books balance, and the recording can be read to its end.
 */
#include "base/clock.h"
#include "base/recording.h"
#include "base/session_layout.h"
#include "collector/session/session.h"
#include "collector/walk/process_walk.h"
#include "collector/walk/walk.h"
#include "collector/write/worker.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collector/write/process_work.h"
#include "events_parts.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct scene {
	struct session *session;
	struct process *process;
	struct weft_slot *slot;
	struct queue queue, walked;
	struct walker walker;
	struct worker worker;
	struct tsc_clock clock;
	uint64_t logged;
	char path[64];
};

static struct tables tables;
static struct table_cache no_cache = {.fd = -1};
static struct modules *modules;

static struct weft_session_header *header(const struct scene *s)
{
	return s->session->process->base;
}

static struct process *make_process(void)
{
	struct process *p;

	if (process_new(&p, getpid()))
		abort();
	close(p->proc_fd);
	p->proc_fd = -1;
	free(p->walk->first_maps);
	p->walk->first_maps = NULL;
	p->inside_pid = INT32_MAX;
	p->session_id = 1;
	p->opened_ns = clock_mono_ns();
	process_walk_jit(p);
	return p;
}

static void begin(struct scene *s)
{
	struct session_settings settings = {.period_ns = 5000000,
					    .ring_bytes = WEFT_RING_BYTES_MIN,
					    .stack_mode = WEFT_STACK_AUTO,
					    .stack_copy_bytes = 16384,
					    .tables_bytes = tables.bytes};
	struct recording_options options = {.path = s->path,
					    .command_line = "fuzz",
					    .version = "0",
					    .stack_mode = "auto",
					    .period_ns = settings.period_ns};

	tsc_clock_add(&s->clock, &(struct tsc_anchor){1000, clock_mono_ns()});
	tsc_clock_add(&s->clock, &(struct tsc_anchor){2001000, clock_mono_ns() + 1000000});
	settings.events.clock = &s->clock;
	snprintf(s->path, sizeof(s->path), "/dev/shm/weft-fuzz-events-%d.jfr", (int)getpid());
	s->process = make_process();
	if (queue_init(&s->queue, 1 << 24) || queue_init(&s->walked, SIZE_MAX) ||
	    naming_init(&s->worker.naming) || session_new(&s->session, s->process, &settings) ||
	    recording_open(&s->worker.recording, &options))
		abort();
	s->walker = (struct walker){
		.in = &s->queue,
		.out = &s->walked,
		.walking = {.modules = modules, .tables = &tables, .jit_budget = 1 << 20},
	};
	s->worker.queue = &s->walked;
	s->worker.period_ns = settings.period_ns;
	s->worker.naming.writer = recording_writer(s->worker.recording);
	queue_push(&s->queue, batch_new(BATCH_OPEN, s->process, 0));
	s->slot = weft_session_slot(s->session->process->base, &s->session->process->layout, 0);
	s->slot->thread.generation = 1;
	s->slot->thread.tid = 1;
	header(s)->slots_high = 1;
	*weft_session_states(s->session->process->base, &s->session->process->layout) =
		WEFT_STATE_WORD(1, WEFT_SLOT_LIVE);
}

static void work(struct scene *s)
{
	queue_push(&s->queue, batch_new(BATCH_FINISH, NULL, 0));
	walker_run(&s->walker);
	worker_run(&s->worker);
}

static void drain(struct scene *s)
{
	header(s)->fresh[0] = 1;
	session_drain(s->session, &s->queue, DRAIN_RUNNING);
	work(s);
}

static void log_type(struct scene *s, const uint8_t *data, uint32_t bytes)
{
	uint8_t *at = (uint8_t *)s->session->process->base +
		      s->session->process->layout.dict_offset + header(s)->dict_head;
	struct weft_log_record record = {
		.bytes = (uint32_t)sizeof(record) + ((bytes + 7u) & ~7u),
		.type = WEFT_LOG_EVENT_TYPE,
		.id = (uint32_t)(WEFT_EVENT_ROW_FIRST + s->logged),
		.data_bytes = bytes,
	};

	if (header(s)->dict_head + record.bytes > s->session->process->layout.dict_bytes)
		return;
	memcpy(at, &record, sizeof(record));
	memcpy(at + sizeof(record), data, bytes);
	header(s)->dict_head += record.bytes;
	s->logged++;
}

/* Its times are true unless they say something else. */
static void put_event(struct scene *s, const uint8_t *data, uint32_t bytes)
{
	uint8_t *ring = (uint8_t *)s->slot + s->session->process->layout.events_offset;
	uint32_t mask = s->session->process->layout.events_bytes - 1;
	struct weft_event_record r;

	bytes &= ~7u;
	if (bytes < sizeof(r) || bytes > s->session->process->layout.events_bytes / 2)
		return;
	if (s->slot->events_p.head - s->slot->events_c.tail + 2 * (uint64_t)bytes > mask)
		drain(s);
	memcpy(&r, data, sizeof(r));
	r.record.bytes = bytes;
	r.record.type = WEFT_RECORD_EVENT;
	r.record.generation = 1;
	if (!r.end)
		r.begin = r.end = clock_mono_ns();
	for (uint32_t i = 0; i < bytes; i++)
		ring[(s->slot->events_p.head + i) & mask] =
			i < sizeof(r) ? ((const uint8_t *)&r)[i] : data[i];
	s->slot->counters[WEFT_COUNTER_EVENTS_ATTEMPTED]++;
	s->slot->events_p.written++;
	s->slot->events_p.head += bytes;
}

static void nobody(void *arg, const char *name)
{
	(void)arg;
	(void)name;
}

static void step(struct scene *s, uint8_t kind, const uint8_t *data, uint32_t bytes)
{
	switch (kind % EVENTS_PARTS) {
	case EVENTS_PART_TYPE:
		log_type(s, data, bytes);
		break;
	case EVENTS_PART_EVENT:
		put_event(s, data, bytes);
		break;
	case EVENTS_PART_SETTINGS:
		session_events_set(s->session, &s->queue, (const char *)data, bytes, nobody, NULL);
		recording_set(s->worker.recording, (const char *)data, bytes);
		break;
	default:
		drain(s);
		break;
	}
}

static void check_books(const struct session_counts *n)
{
	if (n->counter[WEFT_COUNTER_EVENTS_ATTEMPTED] !=
	    n->events_delivered + n->counter[WEFT_COUNTER_EVENTS_INVALID] +
		    n->counter[WEFT_COUNTER_EVENTS_MISTIMED] + n->events_pending)
		abort();
}

static void finish(struct scene *s)
{
	struct batch *b = batch_new(BATCH_CLOSE, s->process, sizeof(struct session_counts));
	struct recording_written written;

	header(s)->fresh[0] = 1;
	session_drain(s->session, &s->queue, DRAIN_GONE);
	session_count(s->session, (struct session_counts *)(void *)b->data);
	check_books((const struct session_counts *)(const void *)b->data);
	b->end = RECORDING_END_EXITED;
	b->time_ns = clock_mono_ns();
	queue_push(&s->queue, b);
	work(s);
	session_free(s->session);
	recording_close(s->worker.recording, clock_mono_ns(), &written);
	queue_destroy(&s->queue);
	queue_destroy(&s->walked);
	naming_free(&s->worker.naming);
	if (s->walker.error || s->worker.error || written.error)
		abort();
}

static void read_recording(const struct scene *s)
{
	struct weft_jfr_reader *r = weft_jfr_open(s->path);
	struct weft_jfr_event_view view;
	int rc;

	if (!r)
		abort();
	while ((rc = weft_jfr_next(r, &view)) > 0)
		continue;
	if (rc < 0)
		abort();
	weft_jfr_reader_free(r);
	unlink(s->path);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct scene s = {.logged = 0};

	if (!modules) {
		tables_open(&tables, WEFT_TABLES_BYTES);
		modules = modules_new(&tables, &no_cache);
	}
	begin(&s);
	while (size >= 3) {
		uint32_t bytes = (uint32_t)data[1] | (uint32_t)data[2] << 8;

		if (bytes > size - 3)
			bytes = (uint32_t)(size - 3);
		step(&s, data[0], data + 3, bytes);
		data += 3 + bytes;
		size -= 3 + bytes;
	}
	finish(&s);
	read_recording(&s);
	return 0;
}
