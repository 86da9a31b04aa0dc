/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recordings that tell their clock and the kernel's account of CPU time, and such as have many
 * samples: rows of the tables below, in one chunk each. Period 5 ms unless a row says more.
 */
#include "recordings.h"
#include "recordings_make.h"

#include "base/recording.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define ROWS 8

static const char APP[] = "app [10]", CHILD[] = "child [20]";

enum thread { MAIN, WORKER, TIMER, CHILDS, REST, THREADS };

struct clock_row {
	const char *process, *clock, *reason;
	uint64_t period_ns, tick_ns;
	const char *misjudged; /* 40 % by ticks, 30 % by 5000 looks */
};

struct cpu_row {
	enum thread thread;
	const char *process;
	uint64_t used_ms, seen_ms, samples;
};

/* So many samples of a thread in a function, a period apart, within one app.Work. */
struct work_row {
	uint64_t samples;
	enum thread thread;
	const char *function;
	const char *route, *handler, *kind; /* of app.Work; NULL: no context */
};

struct recipe {
	const char *name;
	const char *period; /* as the setting says */
	uint64_t period_ns;
	struct clock_row clock[ROWS];
	struct cpu_row cpu[ROWS];
	struct work_row work[ROWS];
};

static const char DENIED[] = "perf_event_open: Permission denied";

static const struct recipe recipes[] = {
	/* 2.0 s of 2.05 s; a standard error of 101 ms. The first row of a process does not stand.
	 */
	{"hrtimer",
	 "5000000 ns",
	 5 * MS,
	 {{APP, "ticks", DENIED, 5 * MS, 4 * MS, NULL},
	  {APP, "hrtimer", NULL, 5 * MS, 4 * MS, NULL}},
	 {{MAIN, APP, 1000, 990, 198},
	  {WORKER, APP, 1000, 1010, 202},
	  {MAIN, APP, 20, 0, 0},
	  {REST, APP, 30, 0, 0}},
	 {{198, MAIN, "hot", "/a", "a", "x"}, {202, WORKER, "cold", "/b", "b", "x"}}},
	/* Four events a signal: 100 signals. A thread of 3 s was never seen. */
	{"ticks",
	 "1000000 ns",
	 1 * MS,
	 {{APP, "ticks", DENIED, 1 * MS, 4 * MS, NULL}},
	 {{MAIN, APP, 400, 400, 100}, {TIMER, APP, 3000, 0, 0}, {WORKER, APP, 1, 0, 0}},
	 {{200, MAIN, "hot", "/a", "a", "x"}, {200, MAIN, "cold", "/b", "b", "x"}}},
	/* The whole is as expected, and yet a thread that used 200 ms has no sample. */
	{"silent",
	 "5000000 ns",
	 5 * MS,
	 {{APP, "hrtimer", NULL, 5 * MS, 4 * MS, NULL},
	  {CHILD, "ticks", DENIED, 5 * MS, 4 * MS, NULL}},
	 {{MAIN, APP, 2000, 2000, 400}, {TIMER, APP, 200, 0, 0}, {CHILDS, CHILD, 10, 5, 1}},
	 {{400, MAIN, "hot", "/a", "a", "x"}, {1, CHILDS, "cold", NULL, NULL, NULL}}},
	{"lockstep",
	 "5000000 ns",
	 5 * MS,
	 {{APP, "ticks", DENIED, 5 * MS, 4 * MS, "work=on-B"}},
	 {{MAIN, APP, 2000, 2000, 400}},
	 {{400, MAIN, "hot", "/a", "a", "x"}}},
	/* Routes and handlers are the same but for one sample of 200; kinds are not. */
	{"alike",
	 "5000000 ns",
	 5 * MS,
	 {{.process = NULL}},
	 {{0}},
	 {{60, MAIN, "hot", "/a", "a", "x"},
	  {40, MAIN, "hot", "/a", "a", "y"},
	  {50, MAIN, "cold", "/b", "b", "x"},
	  {49, MAIN, "cold", "/b", "b", "y"},
	  {1, MAIN, "cold", "/b", "a", "y"}}},
	/* To be compared: hot is half as much in the second, cold is not. */
	{"many",
	 "5000000 ns",
	 5 * MS,
	 {{.process = NULL}},
	 {{0}},
	 {{400, MAIN, "hot", "/a", "a", "x"}, {100, MAIN, "cold", "/b", "b", "x"}}},
	{"fewer",
	 "5000000 ns",
	 5 * MS,
	 {{.process = NULL}},
	 {{0}},
	 {{200, MAIN, "hot", "/a", "a", "x"},
	  {90, MAIN, "cold", "/b", "b", "x"},
	  {210, WORKER, "new", "/b", "b", "x"}}},
};

/* ---- types */

static const struct weft_jfr_field clock_fields[] = {
	{.name = "startTime", .kind = WEFT_JFR_LONG, .flags = WEFT_JFR_TIMESTAMP},
	{.name = RECORDING_FIELD_PROCESS, .kind = WEFT_JFR_STRING},
	{.name = RECORDING_FIELD_CLOCK, .kind = WEFT_JFR_STRING},
	{.name = RECORDING_FIELD_REASON, .kind = WEFT_JFR_STRING},
	{.name = RECORDING_FIELD_PERIOD, .kind = WEFT_JFR_LONG},
	{.name = RECORDING_FIELD_TICK, .kind = WEFT_JFR_LONG},
	{.name = RECORDING_FIELD_LOOKS, .kind = WEFT_JFR_LONG},
	{.name = RECORDING_FIELD_MISJUDGED, .kind = WEFT_JFR_STRING},
	{.name = RECORDING_FIELD_TICK_SHARE, .kind = WEFT_JFR_DOUBLE},
	{.name = RECORDING_FIELD_LOOK_SHARE, .kind = WEFT_JFR_DOUBLE},
	{.name = RECORDING_FIELD_CHANCE, .kind = WEFT_JFR_DOUBLE},
};

static const struct weft_jfr_field cpu_fields[] = {
	{.name = "startTime", .kind = WEFT_JFR_LONG, .flags = WEFT_JFR_TIMESTAMP},
	{.name = "eventThread", .kind = WEFT_JFR_THREAD},
	{.name = RECORDING_FIELD_PROCESS, .kind = WEFT_JFR_STRING},
	{.name = RECORDING_FIELD_USED, .kind = WEFT_JFR_LONG},
	{.name = RECORDING_FIELD_SEEN, .kind = WEFT_JFR_LONG},
	{.name = RECORDING_FIELD_SAMPLES, .kind = WEFT_JFR_LONG},
	{.name = RECORDING_FIELD_SOURCE, .kind = WEFT_JFR_STRING},
};

static const struct weft_jfr_field work_fields[] = {
	{.name = "startTime", .kind = WEFT_JFR_LONG, .flags = WEFT_JFR_TIMESTAMP},
	{.name = "duration", .kind = WEFT_JFR_LONG, .flags = WEFT_JFR_TIMESPAN},
	{.name = "eventThread", .kind = WEFT_JFR_THREAD},
	{.name = "route", .kind = WEFT_JFR_STRING, .flags = WEFT_JFR_CONTEXTUAL},
	{.name = "handler", .kind = WEFT_JFR_STRING, .flags = WEFT_JFR_CONTEXTUAL},
	{.name = "kind", .kind = WEFT_JFR_STRING, .flags = WEFT_JFR_CONTEXTUAL},
};

struct maker {
	struct weft_jfr_writer *w;
	const struct recipe *recipe;
	uint64_t thread[THREADS], now_ns[THREADS];
	struct weft_jfr_type *sample, *setting, *clock, *cpu, *work;
	int error;
};

static void put(struct maker *m, const struct weft_jfr_type *type,
		const struct weft_jfr_value *values, size_t count)
{
	int rc = weft_jfr_event(m->w, type, values, count);

	if (rc < 0 && !m->error)
		m->error = rc;
}

static void make_threads(struct maker *m)
{
	static const struct weft_jfr_thread threads[REST] = {
		[MAIN] = {.os_id = 10, .name = "main", .group = "app [10]"},
		[WORKER] = {.os_id = 11, .name = "worker", .group = "app [10]"},
		[TIMER] = {.os_id = 12, .name = "timer", .group = "app [10]"},
		[CHILDS] = {.os_id = 20, .name = "child", .group = "child [20]"},
	};

	for (size_t i = 0; i < REST; i++) {
		m->thread[i] = weft_jfr_thread(m->w, &threads[i], 0);
		m->now_ns[i] = START_MONO;
	}
}

/* ---- events */

static void put_clock(struct maker *m, const struct clock_row *r)
{
	struct weft_jfr_value v[] = {number(START_MONO),
				     text(r->process),
				     text(r->clock),
				     text(r->reason),
				     number(r->period_ns),
				     number(r->tick_ns),
				     number(r->misjudged ? 5000 : 0),
				     text(r->misjudged),
				     {.real = 0.4},
				     {.real = 0.3},
				     {.real = r->misjudged ? 1e-9 : 1}};

	put(m, m->clock, v, COUNT(v));
}

static void put_cpu(struct maker *m, const struct cpu_row *r)
{
	struct weft_jfr_value v[] = {number(START_MONO),
				     number(m->thread[r->thread]),
				     text(r->process),
				     number(r->used_ms * MS),
				     number(r->seen_ms * MS),
				     number(r->samples),
				     text(r->thread == REST ? "process" : "schedstat")};

	put(m, m->cpu, v, COUNT(v));
}

static void put_work(struct maker *m, const struct work_row *r)
{
	struct weft_jfr_frame frame = {.method = weft_jfr_method(m->w, "app", r->function),
				       .type = WEFT_JFR_FRAME_NATIVE};
	uint64_t stack = weft_jfr_stack(m->w, &frame, 1, 0);
	uint64_t from_ns = m->now_ns[r->thread];
	struct weft_jfr_value work[] = {number(from_ns),
					number(r->samples * m->recipe->period_ns),
					number(m->thread[r->thread]),
					text(r->route),
					text(r->handler),
					text(r->kind)};

	for (uint64_t i = 0; i < r->samples; i++) {
		struct weft_jfr_value v[] = {number(m->now_ns[r->thread]),
					     number(m->thread[r->thread]), number(stack),
					     number(WEFT_JFR_STATE_RUNNABLE)};

		put(m, m->sample, v, COUNT(v));
		m->now_ns[r->thread] += m->recipe->period_ns;
	}
	if (r->route)
		put(m, m->work, work, COUNT(work));
}

static void fill(struct maker *m)
{
	const struct recipe *r = m->recipe;
	struct weft_jfr_value period[] = {number(START_MONO),
					  number((uint64_t)weft_jfr_type_id(m->sample)),
					  text(RECORDING_SETTING_PERIOD), text(r->period)};

	put(m, m->setting, period, COUNT(period));
	for (size_t i = 0; i < ROWS && r->clock[i].process; i++)
		put_clock(m, &r->clock[i]);
	for (size_t i = 0; i < ROWS && r->cpu[i].process; i++)
		put_cpu(m, &r->cpu[i]);
	for (size_t i = 0; i < ROWS && r->work[i].samples; i++)
		put_work(m, &r->work[i]);
	weft_jfr_rotate(m->w, START_MONO + 4000 * MS, 0);
}

static int write_recipe(const struct recipe *recipe, const char *path)
{
	struct maker m = {.recipe = recipe};
	int rc;

	m.w = make_writer(path);
	if (!m.w)
		return -errno;
	m.sample = weft_jfr_standard_type(m.w, WEFT_JFR_EXECUTION_SAMPLE);
	m.setting = weft_jfr_standard_type(m.w, WEFT_JFR_ACTIVE_SETTING);
	m.clock = make_type(m.w, RECORDING_CLOCK, clock_fields, COUNT(clock_fields), 0);
	m.cpu = make_type(m.w, RECORDING_THREAD_CPU, cpu_fields, COUNT(cpu_fields), 0);
	m.work = make_type(m.w, "app.Work", work_fields, COUNT(work_fields), 0);
	make_threads(&m);
	fill(&m);
	rc = weft_jfr_close(m.w);
	return m.error ? m.error : rc;
}

int recordings_write_clock(const char *name, const char *path)
{
	for (size_t i = 0; i < COUNT(recipes); i++)
		if (strcmp(recipes[i].name, name) == 0)
			return write_recipe(&recipes[i], path);
	return strcmp(name, "odd") == 0 ? recordings_write_odd(path) : -EINVAL;
}
