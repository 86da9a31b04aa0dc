/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of the JDK's types about machine, program and recording: see recording_system.h. */
#include "collector/write/recording_system.h"

#include "base/hash.h"
#include "base/map.h"
#include "base/recording.h"
#include "collector/process/libraries.h"
#include "collector/process/system_read.h"
#include "collector/write/environment.h"
#include "collector/write/recording_private.h"
#include "collector/write/system_load.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define LIBRARY_ROWS_MAX 65536           /* in a chunk */
#define FOREVER INT64_MAX                /* as the JDK has it where nothing was set */
#define LAST_LOAD_NS UINT64_C(100000000) /* a longer time at the end gets one more jdk.CPULoad */
/* Looking at all processes for the load may take at most one part in so many of the time. */
#define LOOK_SHARE 200

struct recording_system {
	struct weft_jfr_type *type[SYSTEM_EVENT_COUNT];
	struct {
		int enabled;
		uint64_t period_ns;
		uint64_t put_ns, put_chunk; /* when it last was, and in which chunk; 0 = never */
	} event[SYSTEM_EVENT_COUNT];
	const char *root;
	char version[512];
	struct machine_processors processors;
	struct system_load load;
	struct system_share share; /* the last that was told */
	uint64_t chunk;            /* number of the open one, from 1 */
	uint64_t look_cost_ns;     /* of the last look at all processes */
	char *environment;         /* of the first process, as the kernel tells it */
	size_t environment_bytes;
	int had_process;
	uint64_t unwritten_bytes, unwritten_total; /* of chunks: not told yet, and of all time */
	uint64_t ended_ns; /* of the program; 0 = it has not, as far as is known */
	char reason[64];
};

static int is_time(uint64_t period_ns)
{
	return period_ns && period_ns < PERIOD_END_CHUNK;
}

static int can_come_by_time(enum system_event event)
{
	return event == SYSTEM_CPU_LOAD || event == SYSTEM_PHYSICAL_MEMORY;
}

void recording_set_system_event(struct recording *r, enum system_event event, int enabled,
				uint64_t period_ns)
{
	store_relaxed(&r->system->event[event].enabled, enabled);
	if (!system_events[event].period_ns || !period_ns)
		return;
	if (is_time(period_ns) && !can_come_by_time(event))
		period_ns = PERIOD_EVERY_CHUNK;
	r->system->event[event].period_ns = period_ns;
}

int recording_system_enabled(const struct recording *r, enum system_event event)
{
	return load_relaxed(&r->system->event[event].enabled);
}

static struct event_settings recording_system_settings(const struct recording *r,
						       enum system_event event)
{
	return (struct event_settings){
		.enabled = recording_system_enabled(r, event),
		.period_ns = r->system->event[event].period_ns,
	};
}

int recording_system_apply(struct recording *r, enum system_event event,
			   const struct settings_text *text)
{
	struct event_settings s = recording_system_settings(r, event), before = s;

	weft_settings_apply(&s, system_events[event].type.name, text->text, text->bytes);
	if (s.enabled == before.enabled && s.period_ns == before.period_ns)
		return 0;
	recording_set_system_event(r, event, s.enabled, s.period_ns);
	return 1;
}

void recording_system_put_settings(struct recording *r, enum system_event event)
{
	struct event_settings s = recording_system_settings(r, event);

	recording_put_one_setting(r, r->system->type[event], &s, SETTING_ENABLED);
	if (s.period_ns)
		recording_put_one_setting(r, r->system->type[event], &s, SETTING_PERIOD);
}

/* With its settings as they are if nobody sets them. */
static struct weft_jfr_type *recording_system_declare(struct recording *r,
						      const struct system_event_row *row)
{
	struct event_settings s = {.enabled = row->enabled, .period_ns = row->period_ns};
	char enabled[16], period[32];
	const struct weft_jfr_type_setting settings[] = {{"enabled", enabled}, {"period", period}};
	struct weft_jfr_type_def def = row->type;

	weft_setting_text(&s, SETTING_ENABLED, enabled, sizeof(enabled));
	weft_setting_text(&s, SETTING_PERIOD, period, sizeof(period));
	def.settings = settings;
	def.setting_count = row->period_ns ? 2 : 1;
	return weft_jfr_type(r->writer, &def);
}

int recording_system_open(struct recording *r, const char *root)
{
	struct recording_system *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	r->system = s;
	s->root = root ? root : "";
	for (int i = 0; i < SYSTEM_EVENT_COUNT; i++) {
		s->event[i].enabled = system_events[i].enabled;
		s->event[i].period_ns = system_events[i].period_ns;
		s->type[i] = recording_system_declare(r, &system_events[i]);
		if (!s->type[i])
			return -errno;
	}
	system_read_version(s->root, s->version, sizeof(s->version));
	system_read_processors(s->root, &s->processors);
	system_load_begin(&s->load, s->root, s->processors.threads, r->start_ns);
	return 0;
}

void recording_system_free(struct recording_system *s)
{
	if (s)
		free(s->environment);
	free(s);
}

/* @v[0], the time, is filled here. */
static void recording_system_put(struct recording *r, enum system_event event, uint64_t now_ns,
				 struct weft_jfr_value *v)
{
	v[0] = (struct weft_jfr_value){.number = (int64_t)now_ns};
	recording_put(r, r->system->type[event], v, system_events[event].type.field_count);
	r->system->event[event].put_ns = now_ns;
	r->system->event[event].put_chunk = r->system->chunk;
}

static int64_t milliseconds(uint64_t ns)
{
	return ns ? (int64_t)(ns / 1000000) : FOREVER;
}

static const char *recording_system_file_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static void put_recording(struct recording *r, uint64_t now_ns)
{
	struct weft_jfr_value v[] = {
		{0},
		{.number = 1},
		{.string = text_value(recording_system_file_name(r->o.path))},
		{.string = text_value(r->o.path)},
		{.number = 1},
		{.number = milliseconds(r->o.max_age_ns)},
		{.number = milliseconds(r->o.chunk_ns)},
		{.number = (int64_t)r->o.max_bytes},
		{.number = (int64_t)(r->start_real_ns / 1000000)},
		{.number = milliseconds(r->o.duration_ns)},
	};

	recording_system_put(r, SYSTEM_ACTIVE_RECORDING, now_ns, v);
}

static void put_version(struct recording *r, uint64_t now_ns)
{
	struct weft_jfr_value v[] = {{0}, {.string = text_value(r->system->version)}};

	recording_system_put(r, SYSTEM_OS_INFORMATION, now_ns, v);
}

static void put_processors(struct recording *r, uint64_t now_ns)
{
	const struct machine_processors *m = &r->system->processors;
	struct weft_jfr_value v[] = {
		{0},
		{.string = text_value(m->model)},
		{.string = text_value(m->description)},
		{.number = m->sockets},
		{.number = m->cores},
		{.number = m->threads},
	};

	recording_system_put(r, SYSTEM_CPU_INFORMATION, now_ns, v);
}

static void put_memory(struct recording *r, uint64_t now_ns)
{
	struct machine_memory memory;

	if (system_read_memory(r->system->root, &memory))
		return;
	recording_system_put(r, SYSTEM_PHYSICAL_MEMORY, now_ns,
			     (struct weft_jfr_value[]){{0},
						       {.number = (int64_t)memory.total_bytes},
						       {.number = (int64_t)memory.used_bytes}});
}

static void look_at_processes(struct recording *r)
{
	struct recording_system *s = r->system;
	uint64_t start_ns = recording_now(r);

	for (struct process *p = r->first; p; p = p->work->next)
		if (!p->work->end)
			system_load_look(&s->load, p, r->first);
	s->look_cost_ns = recording_now(r) - start_ns;
}

static void put_load(struct recording *r, uint64_t now_ns)
{
	struct recording_system *s = r->system;

	look_at_processes(r);
	if (system_load_share(&s->load, s->root, now_ns, &s->share) &&
	    !s->event[SYSTEM_CPU_LOAD].put_ns)
		return;
	recording_system_put(r, SYSTEM_CPU_LOAD, now_ns,
			     (struct weft_jfr_value[]){{0},
						       {.real = s->share.user},
						       {.real = s->share.system},
						       {.real = s->share.machine}});
}

struct variables {
	struct recording *recording;
	uint64_t now_ns;
};

static void put_variable(void *arg, const char *name, size_t bytes, const char *shown)
{
	const struct variables *of = arg;
	struct weft_jfr_value v[] = {{0}, {.string = {name, bytes}}, {.string = text_value(shown)}};

	recording_system_put(of->recording, SYSTEM_ENVIRONMENT, of->now_ns, v);
}

static void put_environment(struct recording *r, uint64_t now_ns)
{
	struct variables of = {r, now_ns};

	if (r->system->environment)
		environment_each(r->system->environment, r->system->environment_bytes, put_variable,
				 &of);
}

/* A forked child has the libraries of its parent: one row for both. */
static int is_fresh(struct map *seen, const struct library *one)
{
	struct {
		uint64_t base, top, path;
	} key = {one->base, one->top, hash_bytes(one->path, strlen(one->path), 0)};
	int fresh = 1;

	return !seen || !map_put(seen, &key, sizeof(key), &fresh) || fresh;
}

static void put_libraries(struct recording *r, uint64_t now_ns)
{
	struct map *seen = map_new();
	size_t rows = 0;

	for (struct process *p = r->first; p; p = p->work->next) {
		process_take_libraries(p);
		for (size_t i = 0; p->work->libraries && i < p->work->libraries->count; i++) {
			const struct library *one = &p->work->libraries->item[i];

			if (rows == LIBRARY_ROWS_MAX || !is_fresh(seen, one))
				continue;
			rows++;
			recording_system_put(
				r, SYSTEM_NATIVE_LIBRARY, now_ns,
				(struct weft_jfr_value[]){{0},
							  {.string = text_value(one->path)},
							  {.number = (int64_t)one->base},
							  {.number = (int64_t)one->top}});
		}
		if (p->work->libraries)
			libraries_settle(p->work->libraries);
	}
	map_free(seen);
}

static void (*const put_event[SYSTEM_EVENT_COUNT])(struct recording *r, uint64_t now_ns) = {
	[SYSTEM_ACTIVE_RECORDING] = put_recording, [SYSTEM_OS_INFORMATION] = put_version,
	[SYSTEM_CPU_INFORMATION] = put_processors, [SYSTEM_CPU_LOAD] = put_load,
	[SYSTEM_PHYSICAL_MEMORY] = put_memory,     [SYSTEM_NATIVE_LIBRARY] = put_libraries,
	[SYSTEM_ENVIRONMENT] = put_environment,
};

/* Events of this period; those of every chunk come at its beginning, but libraries at its end, when
 * all are known. */
static void put_due(struct recording *r, uint64_t period_ns, uint64_t now_ns)
{
	for (int i = 0; i < SYSTEM_EVENT_COUNT; i++) {
		uint64_t has = r->system->event[i].period_ns;
		uint64_t is = i == SYSTEM_NATIVE_LIBRARY ? PERIOD_END_CHUNK : PERIOD_BEGIN_CHUNK;

		if (!put_event[i] || !r->system->event[i].enabled)
			continue;
		if (i == SYSTEM_NATIVE_LIBRARY || has == PERIOD_EVERY_CHUNK)
			has = is;
		if (has == period_ns)
			put_event[i](r, now_ns);
	}
}

void recording_system_begin(struct recording *r, uint64_t now_ns)
{
	r->system->chunk++;
	put_due(r, PERIOD_BEGIN_CHUNK, now_ns);
}

/* What comes by time, if it has not come in this chunk: each chunk has it at least once. */
static void put_missing(struct recording *r, uint64_t now_ns)
{
	uint64_t later_ns = recording_now(r); /* @now_ns was a moment ago */

	for (int i = 0; i < SYSTEM_EVENT_COUNT; i++)
		if (r->system->event[i].enabled && is_time(r->system->event[i].period_ns) &&
		    r->system->event[i].put_chunk != r->system->chunk)
			put_event[i](r, later_ns > now_ns ? later_ns : now_ns);
}

void recording_system_end(struct recording *r, uint64_t now_ns)
{
	put_missing(r, now_ns);
	put_due(r, PERIOD_END_CHUNK, now_ns);
	if (r->system->unwritten_bytes)
		recording_system_loss(r, now_ns, r->system->unwritten_bytes,
				      r->system->unwritten_total);
}

uint64_t recording_tick(struct recording *r, uint64_t now_ns)
{
	uint64_t next_ns = UINT64_MAX;

	for (int i = 0; i < SYSTEM_EVENT_COUNT; i++) {
		uint64_t period_ns = r->system->event[i].period_ns, due_ns;

		if (!r->system->event[i].enabled || !is_time(period_ns))
			continue;
		if (i == SYSTEM_CPU_LOAD && period_ns < LOOK_SHARE * r->system->look_cost_ns)
			period_ns = LOOK_SHARE * r->system->look_cost_ns;
		due_ns = r->system->event[i].put_ns;
		due_ns = (due_ns ? due_ns : r->start_ns) + period_ns;
		if (due_ns <= now_ns) {
			put_event[i](r, now_ns);
			due_ns = now_ns + period_ns;
		}
		next_ns = due_ns < next_ns ? due_ns : next_ns;
	}
	return next_ns;
}

/* The first process's environment, as it was when that joined: it may have ended since. */
static void take_environment(struct recording *r, struct process *p)
{
	struct recording_system *s = r->system;

	if (s->had_process)
		return;
	s->had_process = 1;
	if (!s->event[SYSTEM_ENVIRONMENT].enabled)
		return;
	s->environment = p->work->first_environ;
	s->environment_bytes = p->work->first_environ_bytes;
	p->work->first_environ = NULL;
	if (!s->environment && p->proc_fd >= 0)
		s->environment = process_read_own(p, "environ", &s->environment_bytes);
	put_environment(r, recording_now(r));
}

void recording_system_join(struct recording *r, struct process *p)
{
	system_load_join(p, r->first);
	take_environment(r, p);
}

void recording_system_leave(struct recording *r, struct process *p, uint64_t now_ns)
{
	if (system_load_look(&r->system->load, p, r->first) && p->base)
		system_load_last(&r->system->load, p, load_relaxed(&p->base->exit_cpu_ns));
	process_take_libraries(p);
	if (strcmp(p->work->end, RECORDING_END_EXITED) != 0)
		return;
	system_load_leave(p, r->first);
	if (p->pid == recording_root(r) && !r->system->ended_ns)
		r->system->ended_ns = now_ns;
}

void recording_shutdown(struct recording *r, uint64_t now_ns, const char *reason)
{
	struct recording_system *s = r->system;

	if (!s->ended_ns)
		s->ended_ns = now_ns;
	snprintf(s->reason, sizeof(s->reason), "%s", reason);
}

void recording_system_finish(struct recording *r, uint64_t now_ns)
{
	struct recording_system *s = r->system;
	const char *reason = s->reason[0] ? s->reason : "Exited";
	struct weft_jfr_value v[] = {{0}, {0}, {0}, {.string = text_value(reason)}};

	if (s->event[SYSTEM_CPU_LOAD].enabled && is_time(s->event[SYSTEM_CPU_LOAD].period_ns) &&
	    now_ns >= s->event[SYSTEM_CPU_LOAD].put_ns + LAST_LOAD_NS)
		put_load(r, now_ns);
	if (s->ended_ns && s->event[SYSTEM_SHUTDOWN].enabled)
		recording_system_put(r, SYSTEM_SHUTDOWN, s->ended_ns, v);
}

void recording_system_loss(struct recording *r, uint64_t now_ns, uint64_t bytes, uint64_t total)
{
	struct weft_jfr_value v[] = {{0}, {.number = (int64_t)bytes}, {.number = (int64_t)total}};

	if (r->system->event[SYSTEM_DATA_LOSS].enabled)
		recording_system_put(r, SYSTEM_DATA_LOSS, now_ns, v);
}

void recording_system_settle(struct recording *r, int reached, uint64_t bytes)
{
	struct recording_system *s = r->system;

	if (reached) {
		s->unwritten_bytes = 0;
		return;
	}
	s->unwritten_bytes += bytes;
	s->unwritten_total += bytes;
}

/* ---- threads */

void recording_thread_begin(struct recording *r, const struct process *p, struct process_thread *t,
			    uint64_t since_ns)
{
	struct weft_jfr_value key = {.number = (int64_t)t->key}, v[] = {{0}, key, {0}, key, {0}};

	if (t->begun)
		return;
	t->begun = THREAD_BEGUN;
	if (since_ns < p->opened_ns || !r->system->event[SYSTEM_THREAD_START].enabled)
		return;
	recording_system_put(r, SYSTEM_THREAD_START, since_ns, v);
}

void recording_thread_gone(struct recording *r, struct process_thread *t, uint64_t now_ns)
{
	struct weft_jfr_value key = {.number = (int64_t)t->key}, v[] = {{0}, key, key};
	int begun = t->begun == THREAD_BEGUN;

	if (begun)
		t->begun = THREAD_OVER;
	if (begun && r->system->event[SYSTEM_THREAD_END].enabled)
		recording_system_put(r, SYSTEM_THREAD_END, now_ns, v);
}
