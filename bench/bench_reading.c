/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading a recording: a summary (events counted by type, nothing decoded) and a full
 * decode of every field, in bytes of the file per second, beside the JDK's `jfr summary`
 * on the same file (less what `jfr version` takes: starting a JVM).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <weft/jfr.h>

#include "harness.h"

#define FRAMES 24
#define STACKS 500
#define ROUNDS_MAX 16

/* ---- a recording like those that weft makes: a sample, then a span, and so on */

struct maker {
	struct weft_jfr_writer *writer;
	const struct weft_jfr_type *sample, *span;
	uint64_t threads[8], stacks[STACKS];
};

static const struct weft_jfr_type *declare_span(struct weft_jfr_writer *w)
{
	static const struct weft_jfr_field fields[] = {
		{.name = "startTime", .kind = WEFT_JFR_LONG, .flags = WEFT_JFR_TIMESTAMP},
		{.name = "duration", .kind = WEFT_JFR_LONG, .flags = WEFT_JFR_TIMESPAN},
		{.name = "eventThread", .kind = WEFT_JFR_THREAD},
		{.name = "traceId", .kind = WEFT_JFR_STRING, .flags = WEFT_JFR_CONTEXTUAL},
		{.name = "spanId", .kind = WEFT_JFR_STRING, .flags = WEFT_JFR_CONTEXTUAL},
		{.name = "route", .kind = WEFT_JFR_STRING, .flags = WEFT_JFR_CONTEXTUAL},
	};
	static const char *const category[] = {"bench", NULL};

	return weft_jfr_type(w, &(struct weft_jfr_type_def){.name = "bench.Span",
							    .label = "Span",
							    .category = category,
							    .fields = fields,
							    .field_count = 6});
}

static void fill_pools(struct maker *m)
{
	for (unsigned int i = 0; i < 8; i++)
		m->threads[i] = weft_jfr_thread(m->writer,
						&(struct weft_jfr_thread){.os_id = 100 + i,
									  .name = "worker",
									  .group = "bench"},
						0);
	for (unsigned int s = 0; s < STACKS; s++) {
		struct weft_jfr_frame frames[FRAMES];

		for (unsigned int f = 0; f < FRAMES; f++) {
			char name[32];

			snprintf(name, sizeof(name), "function_%u", (s + f * f) % 900);
			frames[f] = (struct weft_jfr_frame){
				.method = weft_jfr_method(m->writer, "libbench.so", name),
				.type = WEFT_JFR_FRAME_NATIVE};
		}
		m->stacks[s] = weft_jfr_stack(m->writer, frames, FRAMES, 0);
	}
}

static int put_pair(struct maker *m, uint64_t i, int64_t now)
{
	char trace[33], span[17];
	struct weft_jfr_value sample[] = {{.number = now},
					  {.number = (int64_t)m->threads[i % 8]},
					  {.number = (int64_t)m->stacks[i % STACKS]},
					  {.number = WEFT_JFR_STATE_RUNNABLE}};
	struct weft_jfr_value values[] = {{.number = now},
					  {.number = 100000},
					  {.number = (int64_t)m->threads[i % 8]},
					  {.string = {trace, 32}},
					  {.string = {span, 16}},
					  {.string = {"/checkout", 9}}};

	snprintf(trace, sizeof(trace), "%032llx", (unsigned long long)i * 0x9e3779b97f4a7c15u);
	snprintf(span, sizeof(span), "%016llx", (unsigned long long)i);
	return weft_jfr_event(m->writer, m->sample, sample, 4) ||
	       weft_jfr_event(m->writer, m->span, values, 6);
}

static int make_recording(const char *path, uint64_t pairs)
{
	struct weft_jfr_options options = {.size = sizeof(options), .path = path};
	struct maker m = {.writer = weft_jfr_create(&options)};
	int64_t now = (int64_t)bench_now_ns();
	int rc = 0;

	if (!m.writer)
		return -1;
	m.sample = weft_jfr_standard_type(m.writer, WEFT_JFR_EXECUTION_SAMPLE);
	m.span = declare_span(m.writer);
	fill_pools(&m);
	for (uint64_t i = 0; i < pairs && !rc; i++)
		rc = put_pair(&m, i, now + (int64_t)i);
	return weft_jfr_close(m.writer) || rc;
}

/* ---- reading it */

static int no_type(const struct weft_jfr_class *type, void *arg)
{
	(void)type;
	(void)arg;
	return 0;
}

/* Nanoseconds to read it all; 0 when it does not read. */
static double read_through(const char *path, bool decode, uint64_t *events)
{
	struct weft_jfr_event_view view;
	struct weft_jfr_reader *r;
	uint64_t start = bench_now_ns();
	int rc;

	r = weft_jfr_open(path);
	if (!r)
		return 0;
	if (!decode)
		weft_jfr_filter(r, no_type, NULL);
	for (*events = 0; (rc = weft_jfr_next(r, &view)) == 1; ++*events)
		bench_keep(&view);
	weft_jfr_reader_free(r);
	return rc ? 0 : (double)(bench_now_ns() - start);
}

static double jdk_summary_ns(const char *path)
{
	const char *version[] = {"jfr", "version", NULL},
		   *summary[] = {"jfr", "summary", path, NULL};
	struct bench_run start, whole;

	if (!bench_have("jfr") || bench_spawn(version, NULL, &start) ||
	    bench_spawn(summary, NULL, &whole) || start.status || whole.status)
		return 0;
	return whole.wall_ns - start.wall_ns;
}

static void add_speed(const char *what, double bytes, double ns, double budget, double jdk_ns)
{
	bench_add(&(struct bench_row){
		.operation = what,
		.unit = "MB/s",
		.measured = bytes * 1e3 / ns,
		.limit = BENCH_AT_LEAST,
		.budget = budget,
		.baseline = jdk_ns > 0 ? "JDK jfr summary" : NULL,
		.base = jdk_ns > 0 ? bytes * 1e3 / jdk_ns : 0,
	});
}

static void measure(const char *path, uint64_t wanted, unsigned int rounds)
{
	double summary[ROUNDS_MAX], decode[ROUNDS_MAX], jdk[ROUNDS_MAX], bytes;
	uint64_t counted = 0, decoded = 0;
	FILE *f = fopen(path, "re");

	if (!f || fseek(f, 0, SEEK_END))
		return;
	bytes = (double)ftell(f);
	fclose(f);
	for (unsigned int i = 0; i < rounds; i++) {
		summary[i] = read_through(path, false, &counted);
		decode[i] = read_through(path, true, &decoded);
		jdk[i] = jdk_summary_ns(path);
	}
	if (counted != wanted || decoded != wanted)
		bench_note("reading: %llu and %llu events read of %llu",
			   (unsigned long long)counted, (unsigned long long)decoded,
			   (unsigned long long)wanted);
	add_speed(bench_text("read .jfr of %.0f MB: summary", bytes / 1e6), bytes,
		  bench_median(summary, rounds), 1000, bench_median(jdk, rounds));
	add_speed(bench_text("read .jfr of %.0f MB: full decode", bytes / 1e6), bytes,
		  bench_median(decode, rounds), 300, bench_median(jdk, rounds));
}

static void run(const struct bench_options *o)
{
	char path[] = "/tmp/weft-bench.XXXXXX.jfr";
	uint64_t pairs = o->quick ? 20000 : 600000;
	int fd = mkstemps(path, 4);

	if (fd < 0)
		return;
	close(fd);
	if (make_recording(path, pairs))
		bench_note("reading: no recording could be written to %s", path);
	else
		measure(path, 2 * pairs, o->quick ? 1 : 5);
	unlink(path);
}

const struct bench_group bench_reading = {
	.name = "reading",
	.text = "reading recordings, beside the JDK",
	.run = run,
};
