/* SPDX-License-Identifier: Apache-2.0 */
#include "recordings.h"
#include "recordings_make.h"

#include "base/recording.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum thread { W1, W2, MAIN, CHILD, THREADS };
enum stack { HASH, CHECKOUT, WALK, IDLE, FOREIGN, PUSH, POP, STACKS };

struct maker {
	struct weft_jfr_writer *w;
	uint64_t thread[THREADS], stack[STACKS];
	struct weft_jfr_type *sample, *setting, *span, *counter, *histogram, *process;
	int error;
};

/* ---- values */

static struct weft_jfr_value at(uint64_t offset_ns)
{
	return number(START_MONO + offset_ns);
}

static void put(struct maker *m, const struct weft_jfr_type *type,
		const struct weft_jfr_value *values, size_t count)
{
	int rc = weft_jfr_event(m->w, type, values, count);

	if (rc < 0 && !m->error)
		m->error = rc;
}

/* ---- what there is */

static void make_threads(struct maker *m)
{
	static const struct weft_jfr_thread threads[THREADS] = {
		[W1] = {.os_id = 101, .name = "worker", .group = "shop [100]"},
		[W2] = {.os_id = 102, .name = "worker", .group = "shop [100]"},
		[MAIN] = {.os_id = 100, .name = "shop", .group = "shop [100]"},
		[CHILD] = {.os_id = 200, .name = "child", .group = "child [200]"},
	};

	for (size_t i = 0; i < THREADS; i++)
		m->thread[i] = weft_jfr_thread(m->w, &threads[i], 0);
}

/* Leaf first, as stacks are written. */
static void make_stacks(struct maker *m)
{
	static const struct {
		const char *module, *function;
	} frames[STACKS][7] = {
		[HASH] = {{"libcrypto.so.3", "hash"},
			  {"shop", "checkout"},
			  {"shop", "serve"},
			  {"shop", "main"}},
		[CHECKOUT] = {{"shop", "checkout"}, {"shop", "serve"}, {"shop", "main"}},
		[WALK] = {{"shop", "walk"},
			  {"shop", "walk"},
			  {"shop", "walk"},
			  {"shop", "search<a;b>"},
			  {"shop", "serve"},
			  {"shop", "main"}},
		[IDLE] = {{"shop", "idle"}, {"shop", "main"}},
		[FOREIGN] = {{"libfoo.so", "libfoo.so+0x10"}},
		[PUSH] = {{"libweft-waits.so", "lock"},
			  {"libweft-waits.so", "pthread_mutex_lock"},
			  {"shop", "push"},
			  {"shop", "serve"},
			  {"shop", "main"}},
		[POP] = {{"libweft-waits.so", "pthread_mutex_lock"},
			 {"shop", "pop"},
			 {"shop", "main"}},
	};

	for (size_t i = 0; i < STACKS; i++) {
		struct weft_jfr_frame out[7] = {{0}};
		size_t n = 0;

		for (; frames[i][n].module; n++)
			out[n] = (struct weft_jfr_frame){
				.method = weft_jfr_method(m->w, frames[i][n].module,
							  frames[i][n].function),
				.type = WEFT_JFR_FRAME_NATIVE,
			};
		m->stack[i] = weft_jfr_stack(m->w, out, n, i == FOREIGN);
	}
}

static const struct weft_jfr_field span_fields[] = {
	{.name = "startTime", .kind = WEFT_JFR_LONG, .flags = WEFT_JFR_TIMESTAMP},
	{.name = "duration", .kind = WEFT_JFR_LONG, .flags = WEFT_JFR_TIMESPAN},
	{.name = "eventThread", .kind = WEFT_JFR_THREAD},
	{.name = RECORDING_FIELD_TRACE, .kind = WEFT_JFR_STRING, .flags = WEFT_JFR_CONTEXTUAL},
	{.name = RECORDING_FIELD_SPAN, .kind = WEFT_JFR_STRING, .flags = WEFT_JFR_CONTEXTUAL},
	{.name = RECORDING_FIELD_ROOT_SPAN, .kind = WEFT_JFR_STRING, .flags = WEFT_JFR_CONTEXTUAL},
	{.name = "route", .kind = WEFT_JFR_STRING, .flags = WEFT_JFR_CONTEXTUAL},
};

static const struct weft_jfr_field counter_fields[] = {
	{.name = "startTime", .kind = WEFT_JFR_LONG, .flags = WEFT_JFR_TIMESTAMP},
	{.name = RECORDING_FIELD_PROCESS, .kind = WEFT_JFR_STRING},
	{.name = RECORDING_FIELD_NAME, .kind = WEFT_JFR_STRING},
	{.name = RECORDING_FIELD_KIND, .kind = WEFT_JFR_STRING},
	{.name = RECORDING_FIELD_VALUE, .kind = WEFT_JFR_LONG},
};

static const struct weft_jfr_field histogram_fields[] = {
	{.name = "startTime", .kind = WEFT_JFR_LONG, .flags = WEFT_JFR_TIMESTAMP},
	{.name = RECORDING_FIELD_PROCESS, .kind = WEFT_JFR_STRING},
	{.name = RECORDING_FIELD_NAME, .kind = WEFT_JFR_STRING},
	{.name = RECORDING_FIELD_UP_TO, .kind = WEFT_JFR_LONG},
	{.name = RECORDING_FIELD_VALUE, .kind = WEFT_JFR_LONG},
};

static const struct weft_jfr_field process_fields[] = {
	{.name = "startTime", .kind = WEFT_JFR_LONG, .flags = WEFT_JFR_TIMESTAMP},
	{.name = "duration", .kind = WEFT_JFR_LONG, .flags = WEFT_JFR_TIMESPAN},
	{.name = RECORDING_FIELD_ID, .kind = WEFT_JFR_STRING},
	{.name = RECORDING_FIELD_PROCESS, .kind = WEFT_JFR_STRING},
	{.name = RECORDING_FIELD_COMMAND_LINE, .kind = WEFT_JFR_STRING},
	{.name = RECORDING_FIELD_END, .kind = WEFT_JFR_STRING},
};

static int open_maker(struct maker *m, const char *path)
{
	memset(m, 0, sizeof(*m));
	m->w = make_writer(path);
	if (!m->w)
		return -errno;
	m->sample = weft_jfr_standard_type(m->w, WEFT_JFR_EXECUTION_SAMPLE);
	m->setting = weft_jfr_standard_type(m->w, WEFT_JFR_ACTIVE_SETTING);
	m->span = make_type(m->w, RECORDING_SPAN, span_fields, COUNT(span_fields),
			    WEFT_JFR_TYPE_CONTEXTUAL);
	m->counter = make_type(m->w, RECORDING_COUNTER, counter_fields, COUNT(counter_fields), 0);
	m->histogram =
		make_type(m->w, RECORDING_HISTOGRAM, histogram_fields, COUNT(histogram_fields), 0);
	m->process = make_type(m->w, RECORDING_PROCESS, process_fields, COUNT(process_fields), 0);
	make_threads(m);
	make_stacks(m);
	return 0;
}

static int close_maker(struct maker *m)
{
	int rc = weft_jfr_close(m->w);

	return m->error ? m->error : rc;
}

/* ---- events */

static void setting(struct maker *m, int64_t type, const char *name, const char *value)
{
	struct weft_jfr_value v[] = {at(0), number((uint64_t)type), text(name), text(value)};

	put(m, m->setting, v, COUNT(v));
}

static void sample(struct maker *m, enum thread thread, uint64_t offset_ns, enum stack stack)
{
	struct weft_jfr_value v[] = {at(offset_ns), number(m->thread[thread]),
				     number(m->stack[stack]), number(WEFT_JFR_STATE_RUNNABLE)};

	put(m, m->sample, v, COUNT(v));
}

static void span(struct maker *m, enum thread thread, uint64_t from_ns, uint64_t to_ns,
		 const char *trace, const char *id, const char *root, const char *route)
{
	struct weft_jfr_value v[] = {at(from_ns),
				     number(to_ns - from_ns),
				     number(m->thread[thread]),
				     text(trace),
				     text(id),
				     text(root),
				     text(route)};

	put(m, m->span, v, COUNT(v));
}

static void counter(struct maker *m, const char *process, const char *name, const char *kind,
		    uint64_t value)
{
	struct weft_jfr_value v[] = {at(0), text(process), text(name), text(kind), number(value)};

	put(m, m->counter, v, COUNT(v));
}

static void histogram(struct maker *m, uint64_t up_to, uint64_t value)
{
	struct weft_jfr_value v[] = {at(0), text("shop [100]"), text(RECORDING_HISTOGRAM_HANDLER),
				     number(up_to), number(value)};

	put(m, m->histogram, v, COUNT(v));
}

static void process(struct maker *m, uint64_t duration_ns, const char *id, const char *name,
		    const char *command_line, const char *end)
{
	struct weft_jfr_value v[] = {at(0),      number(duration_ns), text(id),
				     text(name), text(command_line),  text(end)};

	put(m, m->process, v, COUNT(v));
}

static const char TRACE_A[] = "0af7651916cd43dd8448eb211c80319c";
static const char TRACE_B[] = "0af7651916cd43dd8448eb211c80319d";

/*
 * 13 samples of 5 ms. On worker 101 span a1 (/checkout) ends in the nanosecond in which b1
 * (/search) begins, and b1 ends where a sample without context is. Spans stand in the
 * second chunk, behind all their samples. Counters are split over chunks and processes.
 */
static void fill_shop(struct maker *m)
{
	setting(m, weft_jfr_type_id(m->sample), RECORDING_SETTING_ENABLED, "true");
	setting(m, weft_jfr_type_id(m->sample), RECORDING_SETTING_PERIOD, "5000000 ns");
	process(m, 100 * MS, "aaaaaaaaaaaaaaaa", "shop [100]", "./shop -p 80", "running");
	sample(m, W1, 10 * MS, HASH);
	sample(m, W1, 20 * MS, HASH);
	sample(m, W1, 100 * MS - 1, CHECKOUT);
	sample(m, W1, 100 * MS, WALK);
	sample(m, W1, 150 * MS, WALK);
	sample(m, W1, 200 * MS - 1, WALK);
	sample(m, W1, 200 * MS, IDLE);
	sample(m, W2, 50 * MS, HASH);
	sample(m, W2, 60 * MS, HASH);
	counter(m, "shop [100]", "attempted", "book", 12);
	counter(m, "shop [100]", "delivered", "book", 10);
	counter(m, "shop [100]", "ring_full", "lost", 2);
	counter(m, "shop [100]", "primed_hook", "info", 2);
	histogram(m, 1024, 8);
	weft_jfr_rotate(m->w, START_MONO + 180 * MS, 1);
	sample(m, W2, 149 * MS, HASH);
	sample(m, W2, 160 * MS, IDLE);
	sample(m, MAIN, 30 * MS, IDLE);
	sample(m, CHILD, 40 * MS, FOREIGN);
	span(m, W1, 0, 100 * MS, TRACE_A, "00000000000000a1", "00000000000000aa", "/checkout");
	span(m, W1, 100 * MS, 200 * MS, TRACE_B, "00000000000000b1", "00000000000000bb", "/search");
	span(m, W2, 50 * MS, 150 * MS, TRACE_A, "00000000000000a2", "00000000000000aa",
	     "/checkout");
	counter(m, "child [200]", "attempted", "book", 5);
	counter(m, "child [200]", "delivered", "book", 3);
	counter(m, "child [200]", "generations", "info", 3);
	counter(m, "child [200]", "ring_full", "lost", 1);
	counter(m, "child [200]", "no_slot", "lost", 1);
	counter(m, "child [200]", "cut_no_module", "cut", 1);
	counter(m, "shop [100]", "ctx_bad_checksum", "ctx", 1);
	counter(m, "shop [100]", "primed_hook", "info", 1);
	counter(m, "shop [100]", "slots_high", "info", 3);
	counter(m, "shop [100]", "threads", "info", 3);
	counter(m, "child [200]", "threads", "info", 1);
	counter(m, "weft [99]", "collector_cpu", "info", 1500000);
	counter(m, "weft [99]", "collector_memory", "level", 12500000);
	counter(m, "weft [99]", "collector_memory_high", "level", 25000000);
	counter(m, "child [200]", "threads_no_timer", "info", 1);
	histogram(m, 2048, 4);
	histogram(m, 1024, 1);
	process(m, 200 * MS, "aaaaaaaaaaaaaaaa", "shop [100]", "./shop -p 80", "exited");
	process(m, 200 * MS, "bbbbbbbbbbbbbbbb", "child [200]", "./child", "running");
	weft_jfr_rotate(m->w, START_MONO + 250 * MS, 0);
}

static const struct weft_jfr_field inline_fields[] = {
	{.name = "startTime", .kind = WEFT_JFR_LONG, .flags = WEFT_JFR_TIMESTAMP},
	{.name = "eventThread", .kind = WEFT_JFR_THREAD},
	{.name = "stackTrace", .kind = WEFT_JFR_STACK},
	{.name = "state", .kind = WEFT_JFR_STATE},
	{.name = RECORDING_FIELD_TRACE, .kind = WEFT_JFR_STRING},
	{.name = RECORDING_FIELD_SPAN, .kind = WEFT_JFR_STRING},
	{.name = RECORDING_FIELD_ROOT_SPAN, .kind = WEFT_JFR_STRING},
	{.name = "route", .kind = WEFT_JFR_STRING},
};

static void inline_sample(struct maker *m, struct weft_jfr_type *type, uint64_t offset_ns,
			  const char *trace, const char *id, const char *route)
{
	struct weft_jfr_value v[] = {at(offset_ns),
				     number(m->thread[W1]),
				     number(m->stack[HASH]),
				     number(WEFT_JFR_STATE_RUNNABLE),
				     text(trace),
				     text(id),
				     text(id),
				     text(route)};

	put(m, type, v, COUNT(v));
}

/* Context inside the samples: 2 of /checkout, 1 of /search, 1 without. */
static void fill_inline(struct maker *m)
{
	struct weft_jfr_type *type =
		make_type(m->w, RECORDING_INLINE_SAMPLE, inline_fields, COUNT(inline_fields), 0);

	setting(m, weft_jfr_type_id(type), RECORDING_SETTING_PERIOD, "5 ms");
	inline_sample(m, type, 10 * MS, TRACE_A, "00000000000000a1", "/checkout");
	inline_sample(m, type, 20 * MS, TRACE_A, "00000000000000a1", "/checkout");
	inline_sample(m, type, 30 * MS, TRACE_B, "00000000000000b1", "/search");
	inline_sample(m, type, 40 * MS, NULL, NULL, NULL);
}

static const struct weft_jfr_field numbered_fields[] = {
	{.name = "startTime", .kind = WEFT_JFR_LONG, .flags = WEFT_JFR_TIMESTAMP},
	{.name = "eventThread", .kind = WEFT_JFR_THREAD},
	{.name = "stackTrace", .kind = WEFT_JFR_STACK},
	{.name = "weight", .kind = WEFT_JFR_LONG},
	{.name = "spanId", .kind = WEFT_JFR_LONG},
	{.name = "localRootSpanId", .kind = WEFT_JFR_LONG},
};

static const struct weft_jfr_field order_fields[] = {
	{.name = "startTime", .kind = WEFT_JFR_LONG, .flags = WEFT_JFR_TIMESTAMP},
	{.name = "duration", .kind = WEFT_JFR_LONG, .flags = WEFT_JFR_TIMESPAN},
	{.name = "eventThread", .kind = WEFT_JFR_THREAD},
	{.name = "id", .kind = WEFT_JFR_LONG, .flags = WEFT_JFR_CONTEXTUAL},
	{.name = "note", .kind = WEFT_JFR_STRING}, /* not contextual: no tag */
};

/*
 * What other programs write: datadog.ExecutionSample with ids as numbers and a weight,
 * profiler.WallClockSample of several samples each, a contextual app.Order with a number.
 */
static void fill_foreign(struct maker *m)
{
	struct weft_jfr_type *wall = weft_jfr_standard_type(m->w, WEFT_JFR_WALL_CLOCK_SAMPLE);
	struct weft_jfr_type *numbered = make_type(m->w, "datadog.ExecutionSample", numbered_fields,
						   COUNT(numbered_fields), 0);
	struct weft_jfr_type *order =
		make_type(m->w, "app.Order", order_fields, COUNT(order_fields), 0);
	struct weft_jfr_value w[] = {at(10 * MS), number(m->thread[W2]), number(m->stack[IDLE]),
				     number(WEFT_JFR_STATE_SLEEPING), number(7)};
	struct weft_jfr_value d[] = {
		at(20 * MS), number(m->thread[W1]),       number(m->stack[HASH]),
		number(3),   number(0xFFFFFFFFFFFFFFFEu), number(0x10)};
	struct weft_jfr_value none[] = {
		at(90 * MS), number(m->thread[W1]), number(m->stack[IDLE]), number(1), number(0),
		number(0)};
	struct weft_jfr_value o[] = {at(15 * MS), number(10 * MS), number(m->thread[W1]),
				     number(42), text("ignored")};

	setting(m, weft_jfr_type_id(m->sample), "wall", "20000000");
	setting(m, weft_jfr_type_id(numbered), "period", "10 ms");
	put(m, wall, w, COUNT(w));
	put(m, numbered, d, COUNT(d));
	put(m, numbered, none, COUNT(none));
	put(m, order, o, COUNT(o));
}

static const struct weft_jfr_field cpu_time_fields[] = {
	{.name = "startTime", .kind = WEFT_JFR_LONG, .flags = WEFT_JFR_TIMESTAMP},
	{.name = "stackTrace", .kind = WEFT_JFR_STACK},
	{.name = "eventThread", .kind = WEFT_JFR_THREAD},
	{.name = "samplingPeriod", .kind = WEFT_JFR_LONG, .flags = WEFT_JFR_TIMESPAN},
};

/* A JVM that samples in both ways: 2 CPU-time samples of 10 ms, 1 execution sample. */
static void fill_twice(struct maker *m)
{
	struct weft_jfr_type *type =
		make_type(m->w, "jdk.CPUTimeSample", cpu_time_fields, COUNT(cpu_time_fields), 0);
	struct weft_jfr_value v[] = {at(10 * MS), number(m->stack[HASH]), number(m->thread[W1]),
				     number(10 * MS)};

	setting(m, weft_jfr_type_id(m->sample), RECORDING_SETTING_PERIOD, "20 ms");
	put(m, type, v, COUNT(v));
	v[0] = at(20 * MS);
	put(m, type, v, COUNT(v));
	sample(m, W1, 15 * MS, HASH);
}

static void fill_weightless(struct maker *m)
{
	sample(m, W1, 10 * MS, HASH);
	sample(m, W1, 20 * MS, HASH);
	sample(m, W1, 30 * MS, IDLE);
}

static void fill_empty(struct maker *m)
{
	setting(m, weft_jfr_type_id(m->sample), RECORDING_SETTING_PERIOD, "5000000 ns");
}

/* Names that would drive a terminal: ESC, and CSI as one character. */
static void fill_escapes(struct maker *m)
{
	static const char bad[] = "x\033[31m\xC2\x9B";

	process(m, 0, "1/100", bad, bad, bad);
	counter(m, bad, bad, "lost", 1);
	counter(m, bad, "y", bad, 1);
	sample(m, W1, 10 * MS, HASH);
	span(m, W1, 0, 20 * MS, TRACE_A, "a1", "a1", bad);
}

/* ---- lines: frames with files, offsets and inlined functions */

static const struct weft_jfr_field module_fields[] = {
	{.name = "startTime", .kind = WEFT_JFR_LONG, .flags = WEFT_JFR_TIMESTAMP},
	{.name = RECORDING_FIELD_PROCESS, .kind = WEFT_JFR_STRING},
	{.name = RECORDING_FIELD_NAME, .kind = WEFT_JFR_STRING},
	{.name = RECORDING_FIELD_PATH, .kind = WEFT_JFR_STRING},
	{.name = RECORDING_FIELD_BUILD_ID, .kind = WEFT_JFR_STRING},
};

struct frame_recipe {
	const char *module, *function, *file;
	int line, offset;
	enum weft_jfr_frame_type type;
};

#define MAIN_AT(line)                                                                              \
	{                                                                                          \
		"app", "main", "/src/app/main.c", line, 16, WEFT_JFR_FRAME_NATIVE                  \
	}
#define NATIVE WEFT_JFR_FRAME_NATIVE
#define INLINED WEFT_JFR_FRAME_INLINED
#define CPP WEFT_JFR_FRAME_CPP

/* 15 samples: parse() with skip() inlined into it, called by itself, too; two static helpers of
 * one name; overloads; a second parse() without lines; a file of an odd name. */
static const struct {
	int times;
	struct frame_recipe frames[4];
} line_stacks[] = {
	{4,
	 {{"app", "skip", "/src/app/skip.h", 3, 0x14, INLINED},
	  {"app", "parse", "/src/app/parse.c", 5, 0x14, NATIVE},
	  MAIN_AT(10)}},
	{2, {{"app", "parse", "/src/app/parse.c", 7, 0x20, NATIVE}, MAIN_AT(10)}},
	{2,
	 {{"app", "parse", "/src/app/parse.c", 5, 0x10, NATIVE},
	  {"app", "parse", "/src/app/parse.c", 8, 0x2B, NATIVE},
	  MAIN_AT(10)}},
	{1, {{"app", "helper", "/src/app/a.c", 5, 1, NATIVE}, MAIN_AT(11)}},
	{2, {{"app", "helper", "/src/app/b.c", 5, 1, NATIVE}, MAIN_AT(12)}},
	{1, {{"app", "ns::stack<int>::push(int)", "/src/app/s.cc", 9, 2, CPP}, MAIN_AT(13)}},
	{1, {{"app", "ns::stack<long>::push(long)", "/src/app/s.cc", 9, 2, CPP}, MAIN_AT(13)}},
	{1, {{"libother.so", "parse", NULL, 0, 64, NATIVE}, MAIN_AT(14)}},
	{1, {{"app", "made", "gen (v2);100%.c", 7, 3, NATIVE}, MAIN_AT(15)}},
};

/* Two files of one name, whose functions have one name, too. */
static const struct frame_recipe double_stacks[][4] = {
	{{"app", "spin", "/src/a/util.c", 2, 0, NATIVE}, MAIN_AT(10)},
	{{"app", "spin", "/src/b/util.c", 2, 0, NATIVE}, MAIN_AT(11)},
	{{"app", "spin", "/src/b/util.c", 3, 8, NATIVE}, MAIN_AT(11)},
};

static uint64_t line_stack(struct maker *m, const struct frame_recipe *r)
{
	struct weft_jfr_frame out[4];
	size_t n = 0;

	for (; n < 4 && r[n].module; n++)
		out[n] = (struct weft_jfr_frame){
			weft_jfr_method_in(m->w, r[n].module, r[n].function, r[n].file), r[n].line,
			r[n].offset, r[n].type};
	return weft_jfr_stack(m->w, out, n, 0);
}

static void fill_lines(struct maker *m)
{
	struct weft_jfr_type *module =
		make_type(m->w, RECORDING_MODULE, module_fields, COUNT(module_fields), 0);
	struct weft_jfr_value row[] = {at(0), text("app [100]"), text("app"), text("/src/app/app"),
				       text("00ff")};
	uint64_t now = 0;

	setting(m, weft_jfr_type_id(m->sample), RECORDING_SETTING_PERIOD, "5000000 ns");
	for (size_t i = 0; i < COUNT(line_stacks); i++) {
		for (int n = 0; n < line_stacks[i].times; n++) {
			struct weft_jfr_value v[] = {at(now += 10 * MS), number(m->thread[MAIN]),
						     number(line_stack(m, line_stacks[i].frames)),
						     number(WEFT_JFR_STATE_RUNNABLE)};

			put(m, m->sample, v, COUNT(v));
		}
		/* in the next chunk the same frames have other keys of stacks */
		if (i == 3)
			weft_jfr_rotate(m->w, START_MONO + now + MS, 1);
		if (i == 3 && weft_jfr_forget_stacks(m->w))
			m->error = -EBUSY;
	}
	span(m, MAIN, 10 * MS, 41 * MS, TRACE_A, "00000000000000a1", "00000000000000aa", "/parse");
	put(m, module, row, COUNT(row));
	put(m, module, row, COUNT(row));
}

static void wall_sample(struct maker *m, const struct weft_jfr_type *type, enum thread thread,
			uint64_t offset_ns, enum stack stack, enum weft_jfr_thread_state state,
			uint64_t times)
{
	struct weft_jfr_value v[] = {at(offset_ns), number(m->thread[thread]),
				     number(m->stack[stack]), number(state), number(times)};

	put(m, type, v, COUNT(v));
}

/*
 * Both engines: worker 101 serves /checkout, which runs 100 ms, sleeps 600 ms, waits for the disk
 * 200 ms and for a CPU 50 ms, in the spans of one request; worker 102 idles for 1 s.
 */
static void fill_waits(struct maker *m)
{
	struct weft_jfr_type *wall = weft_jfr_standard_type(m->w, WEFT_JFR_WALL_CLOCK_SAMPLE);

	setting(m, weft_jfr_type_id(m->sample), RECORDING_SETTING_PERIOD, "10 ms");
	setting(m, weft_jfr_type_id(wall), RECORDING_SETTING_PERIOD, "50000000 ns");
	for (uint64_t i = 1; i <= 10; i++)
		sample(m, W1, i * 10 * MS, HASH);
	wall_sample(m, wall, W1, 50 * MS, HASH, WEFT_JFR_STATE_RUNNABLE, 1);
	wall_sample(m, wall, W1, 100 * MS, HASH, WEFT_JFR_STATE_RUNNABLE, 1);
	wall_sample(m, wall, W1, 110 * MS, CHECKOUT, WEFT_JFR_STATE_SLEEPING, 12);
	wall_sample(m, wall, W1, 710 * MS, WALK, WEFT_JFR_STATE_UNINTERRUPTIBLE, 4);
	wall_sample(m, wall, W1, 910 * MS, WALK, WEFT_JFR_STATE_WAITING_FOR_CPU, 1);
	wall_sample(m, wall, W2, 10 * MS, IDLE, WEFT_JFR_STATE_SLEEPING, 20);
	span(m, W1, 5 * MS, 1000 * MS, TRACE_A, "00000000000000a1", "00000000000000a1",
	     "/checkout");
}

static void fill_doubles(struct maker *m)
{
	uint64_t now = 0;

	setting(m, weft_jfr_type_id(m->sample), RECORDING_SETTING_PERIOD, "5000000 ns");
	for (size_t i = 0; i < COUNT(double_stacks); i++) {
		struct weft_jfr_value v[] = {at(now += 10 * MS), number(m->thread[MAIN]),
					     number(line_stack(m, double_stacks[i])),
					     number(WEFT_JFR_STATE_RUNNABLE)};

		put(m, m->sample, v, COUNT(v));
	}
}

/* ---- labels: three fields of them, and a tag that is called as one of them is */

#define LABEL (WEFT_JFR_CONTEXTUAL | WEFT_JFR_KEY)

static const struct weft_jfr_field work_fields[] = {
	{.name = "startTime", .kind = WEFT_JFR_LONG, .flags = WEFT_JFR_TIMESTAMP},
	{.name = "duration", .kind = WEFT_JFR_LONG, .flags = WEFT_JFR_TIMESPAN},
	{.name = "eventThread", .kind = WEFT_JFR_THREAD},
	{.name = "route", .kind = WEFT_JFR_STRING, .flags = WEFT_JFR_CONTEXTUAL},
	{.name = "label_route", .kind = WEFT_JFR_STRING, .flags = LABEL, .label = "route"},
	{.name = "http_route", .kind = WEFT_JFR_STRING, .flags = LABEL, .label = "http.route"},
	{.name = "tenant", .kind = WEFT_JFR_STRING, .flags = LABEL, .label = "tenant"},
};

static void work(struct maker *m, const struct weft_jfr_type *type, uint64_t from_ns,
		 uint64_t to_ns, const char *const values[4])
{
	struct weft_jfr_value v[] = {
		at(from_ns),     number(to_ns - from_ns), number(m->thread[W1]), text(values[0]),
		text(values[1]), text(values[2]),         text(values[3])};

	put(m, type, v, COUNT(v));
}

static void fill_labels(struct maker *m)
{
	struct weft_jfr_type *type = make_type(m->w, "shop.Work", work_fields, COUNT(work_fields),
					       WEFT_JFR_TYPE_CONTEXTUAL);

	setting(m, weft_jfr_type_id(m->sample), RECORDING_SETTING_PERIOD, "5000000 ns");
	for (uint64_t i = 1; i <= 7; i++)
		sample(m, W1, i * 10 * MS, i % 2 ? HASH : IDLE);
	work(m, type, 10 * MS, 35 * MS, (const char *[]){"tag", "R1", "/a=b", "acme"});
	work(m, type, 40 * MS, 45 * MS, (const char *[]){NULL, NULL, "/c", "beta"});
	work(m, type, 50 * MS, 55 * MS, (const char *[]){NULL, NULL, NULL, ""});
	work(m, type, 60 * MS, 65 * MS, (const char *[]){"tag", NULL, NULL, NULL});
	weft_jfr_rotate(m->w, START_MONO + 100 * MS, 0);
}

/* ---- keys of labels that nobody should print as they are, and many */

#define ODD_LABELS 40
#define ODD_KEY_BYTES 64

static void fill_odd_labels(struct maker *m)
{
	static char key[ODD_LABELS][ODD_KEY_BYTES], name[ODD_LABELS][ODD_KEY_BYTES];
	struct weft_jfr_field field[3 + ODD_LABELS];
	struct weft_jfr_value v[3 + ODD_LABELS] = {at(10 * MS), number(15 * MS),
						   number(m->thread[W1])};

	memcpy(field, work_fields, 3 * sizeof(*field));
	for (int i = 0; i < ODD_LABELS; i++) {
		snprintf(key[i], ODD_KEY_BYTES, "key \x1b[31m\n%d %042d", i, i);
		snprintf(name[i], ODD_KEY_BYTES, "label_%d", i);
		field[3 + i] = (struct weft_jfr_field){
			.name = name[i], .kind = WEFT_JFR_STRING, .flags = LABEL, .label = key[i]};
		v[3 + i] = text(i ? NULL : "red\x1b[31m");
	}
	for (uint64_t i = 1; i <= 2; i++)
		sample(m, W1, i * 10 * MS, HASH);
	put(m, make_type(m->w, "shop.Work", field, COUNT(field), WEFT_JFR_TYPE_CONTEXTUAL), v,
	    COUNT(v));
	weft_jfr_rotate(m->w, START_MONO + 100 * MS, 0);
}

/* ---- waits in spans, and out of them */

static const struct weft_jfr_field lock_fields[] = {
	{.name = "startTime", .kind = WEFT_JFR_LONG, .flags = WEFT_JFR_TIMESTAMP},
	{.name = "duration", .kind = WEFT_JFR_LONG, .flags = WEFT_JFR_TIMESPAN},
	{.name = "eventThread", .kind = WEFT_JFR_THREAD},
	{.name = "stackTrace", .kind = WEFT_JFR_STACK},
	{.name = "address", .kind = WEFT_JFR_LONG, .flags = WEFT_JFR_ADDRESS},
	{.name = "kind", .kind = WEFT_JFR_STRING},
	{.name = "holder", .kind = WEFT_JFR_THREAD},
};

static const struct weft_jfr_field io_fields[] = {
	{.name = "startTime", .kind = WEFT_JFR_LONG, .flags = WEFT_JFR_TIMESTAMP},
	{.name = "duration", .kind = WEFT_JFR_LONG, .flags = WEFT_JFR_TIMESPAN},
	{.name = "eventThread", .kind = WEFT_JFR_THREAD},
	{.name = "stackTrace", .kind = WEFT_JFR_STACK},
	{.name = "operation", .kind = WEFT_JFR_STRING},
	{.name = "fd", .kind = WEFT_JFR_INT},
};

static const struct weft_jfr_field step_fields[] = {
	{.name = "startTime", .kind = WEFT_JFR_LONG, .flags = WEFT_JFR_TIMESTAMP},
	{.name = "duration", .kind = WEFT_JFR_LONG, .flags = WEFT_JFR_TIMESPAN},
	{.name = "eventThread", .kind = WEFT_JFR_THREAD},
	{.name = "step", .kind = WEFT_JFR_STRING, .flags = WEFT_JFR_CONTEXTUAL},
	{.name = "number", .kind = WEFT_JFR_INT, .flags = WEFT_JFR_CONTEXTUAL},
};

struct lock {
	enum thread thread;
	uint64_t from_ms, to_ms;
	enum stack stack;
	uint64_t address;
	const char *kind;
	enum thread holder; /* THREADS: null */
};

static void lock(struct maker *m, struct weft_jfr_type *type, const struct lock *l)
{
	struct weft_jfr_value v[] = {
		at(l->from_ms * MS),
		number((l->to_ms - l->from_ms) * MS),
		number(m->thread[l->thread]),
		number(m->stack[l->stack]),
		number(l->address),
		text(l->kind),
		number(l->holder == THREADS ? 0 : m->thread[l->holder]),
	};

	put(m, type, v, COUNT(v));
}

static void io(struct maker *m, struct weft_jfr_type *type, enum thread thread, uint64_t from_ms,
	       uint64_t to_ms, const char *operation)
{
	struct weft_jfr_value v[] = {
		at(from_ms * MS),          number((to_ms - from_ms) * MS),
		number(m->thread[thread]), number(m->stack[IDLE]),
		text(operation),           number(3),
	};

	put(m, type, v, COUNT(v));
}

/*
 * Of worker 101 a step of 5..45 ms is inside the span of 0..100, another span follows; the
 * last wait of 102 is outside of all. One poll begins in 101's first span and ends in the
 * second: it is that one's; one read of 102 outlives its span.
 */
static void fill_queue_of(struct maker *m, uint64_t until_ms)
{
	static const struct lock locks[] = {
		{W2, 200, 202, PUSH, 0x1000, "mutex", W1},
		{W1, 10, 20, PUSH, 0x1000, "mutex", W2},
		{W1, 30, 34, PUSH, 0x1000, "mutex", W2},
		{W1, 110, 111, POP, 0x1000, "mutex", MAIN},
		{W2, 60, 90, PUSH, 0x2000, "rwlock-read", THREADS},
	};
	struct weft_jfr_type *step = make_type(m->w, "app.Step", step_fields, COUNT(step_fields),
					       WEFT_JFR_TYPE_CONTEXTUAL);
	struct weft_jfr_type *lock_type =
		make_type(m->w, "weft.LockWait", lock_fields, COUNT(lock_fields), 0);
	struct weft_jfr_type *io_type =
		make_type(m->w, "weft.IOWait", io_fields, COUNT(io_fields), 0);
	struct weft_jfr_value sort[] = {at(5 * MS), number(40 * MS), number(m->thread[W1]),
					text("sort"), number(7)};

	setting(m, weft_jfr_type_id(m->sample), RECORDING_SETTING_PERIOD, "5000000 ns");
	sample(m, W1, 15 * MS, HASH);
	sample(m, W1, 120 * MS, WALK);
	sample(m, W2, 70 * MS, HASH);
	put(m, step, sort, COUNT(sort));
	for (size_t i = 0; i < COUNT(locks); i++)
		lock(m, lock_type, &locks[until_ms == 250 ? i : COUNT(locks) - 1 - i]);
	io(m, io_type, W1, 95, 105, "poll");
	io(m, io_type, W2, 140, 160, "read");
	span(m, W1, 0, 100 * MS, TRACE_A, "00000000000000a1", "00000000000000aa", "/checkout");
	span(m, W1, 100 * MS, 200 * MS, TRACE_B, "00000000000000b1", "00000000000000bb", "/search");
	span(m, W2, 50 * MS, 150 * MS, TRACE_A, "00000000000000a2", "00000000000000aa",
	     "/checkout");
	weft_jfr_rotate(m->w, START_MONO + until_ms * MS, 0);
}

static void fill_queue(struct maker *m)
{
	fill_queue_of(m, 250);
}

static void fill_long_queue(struct maker *m) /* in twice the time, backwards */
{
	fill_queue_of(m, 500);
}

/* A span inside another one that says the same; a sample in both, one in the outer alone. */
static void fill_nested(struct maker *m)
{
	setting(m, weft_jfr_type_id(m->sample), RECORDING_SETTING_PERIOD, "5000000 ns");
	sample(m, W1, 10 * MS, HASH);
	sample(m, W1, 30 * MS, HASH);
	span(m, W1, 20 * MS, 40 * MS, TRACE_A, "00000000000000a2", "00000000000000aa", "/checkout");
	span(m, W1, 0, 100 * MS, TRACE_A, "00000000000000a1", "00000000000000aa", "/checkout");
}

int recordings_write(const char *name, const char *path)
{
	static const struct {
		const char *name;
		void (*fill)(struct maker *m);
	} known[] = {
		{"shop", fill_shop},
		{"inline", fill_inline},
		{"foreign", fill_foreign},
		{"weightless", fill_weightless},
		{"empty", fill_empty},
		{"twice", fill_twice},
		{"escapes", fill_escapes},
		{"lines", fill_lines},
		{"doubles", fill_doubles},
		{"waits", fill_waits},
		{"queue", fill_queue},
		{"long_queue", fill_long_queue},
		{"nested", fill_nested},
		{"labels", fill_labels},
		{"odd_labels", fill_odd_labels},
	};
	struct maker m;
	int rc;

	for (size_t i = 0; i < COUNT(known); i++) {
		if (strcmp(known[i].name, name) != 0)
			continue;
		rc = open_maker(&m, path);
		if (rc)
			return rc;
		known[i].fill(&m);
		return close_maker(&m);
	}
	return recordings_write_clock(name, path);
}
