/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading a recording of 400 MB: `weft summary` (events counted by type, nothing decoded) beside
 * the JDK's `jfr summary` (each less what starting it takes), and a full decode of every field
 * beside the JDK's RecordingFile, which measures itself (ReadAll.java); in bytes of the file per
 * second. And how many bytes an event and a sample take in it.
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

/* Nanoseconds to decode it all; 0 when it does not read. */
static double decode_ns(const char *path, uint64_t *events)
{
	struct weft_jfr_event_view view;
	struct weft_jfr_reader *r;
	uint64_t start = bench_now_ns();
	int rc;

	*events = 0;
	r = weft_jfr_open(path);
	if (!r)
		return 0;
	for (; (rc = weft_jfr_next(r, &view)) == 1; ++*events)
		bench_keep(&view);
	weft_jfr_reader_free(r);
	return rc ? 0 : (double)(bench_now_ns() - start);
}

/* What one command takes longer than another; 0 when there is none. */
static double longer_ns(const char *const *longer, const char *const *shorter)
{
	struct bench_run start, whole;

	if (bench_spawn(shorter, NULL, &start) || bench_spawn(longer, NULL, &whole) ||
	    start.status || whole.status)
		return 0;
	return whole.wall_ns - start.wall_ns;
}

static double weft_summary_ns(const char *weft, const char *path)
{
	const char *version[] = {weft, "version", NULL}, *summary[] = {weft, "summary", path, NULL};

	return longer_ns(summary, version);
}

static double jdk_summary_ns(const char *path)
{
	const char *version[] = {"jfr", "version", NULL},
		   *summary[] = {"jfr", "summary", path, NULL};

	return bench_have("jfr") ? longer_ns(summary, version) : 0;
}

/* It prints events and nanoseconds. */
static double jdk_decode_ns(const char *program, const char *path, uint64_t wanted)
{
	const char *java[] = {"java", program, path, NULL};
	unsigned long long events, ns;
	struct bench_run run;

	if (!bench_have("java") || bench_spawn(java, NULL, &run) || run.status ||
	    sscanf(run.output, "%llu %llu", &events, &ns) != 2 || events != wanted)
		return 0;
	return (double)ns;
}

struct timed {
	double ns[ROUNDS_MAX];
	unsigned int count; /* of those that were got at all */
};

static void note_time(struct timed *t, double ns)
{
	if (ns > 0)
		t->ns[t->count++] = ns;
}

static double median_of(struct timed *t)
{
	return t->count ? bench_median(t->ns, t->count) : 0;
}

static void add_speed(const char *what, double bytes, struct timed *ours, double budget,
		      const char *baseline, struct timed *theirs)
{
	double ns = median_of(ours), jdk_ns = median_of(theirs);

	if (ns <= 0)
		return;
	bench_add(&(struct bench_row){
		.operation = what,
		.unit = "MB/s",
		.measured = bytes * 1e3 / ns,
		.limit = BENCH_AT_LEAST,
		.budget = budget,
		.baseline = jdk_ns > 0 ? baseline : NULL,
		.base = jdk_ns > 0 ? bytes * 1e3 / jdk_ns : 0,
	});
}

static void add_sizes(const char *path, double bytes, uint64_t events)
{
	struct weft_jfr_event_view view;
	struct weft_jfr_reader *r = weft_jfr_open(path);
	double samples = 0;

	/* samples and spans take turns: a chunk's worth tells */
	for (int i = 0; r && i < 1000 && weft_jfr_next(r, &view) == 1; i++)
		if (!view.duration_ns)
			samples += (double)view.bytes;
	weft_jfr_reader_free(r);
	bench_add(&(struct bench_row){.operation = "an event of it, pools and types included",
				      .unit = "bytes",
				      .measured = bytes / (double)events});
	bench_add(&(struct bench_row){.operation = "a sample of it, the event alone",
				      .unit = "bytes",
				      .measured = samples / 500});
}

static void measure(const struct bench_options *o, const char *path, uint64_t wanted,
		    unsigned int rounds)
{
	struct timed summary = {0}, decode = {0}, jdk_summary = {0}, jdk_decode = {0};
	const char *weft = bench_text("%s/weft", o->build),
		   *program = bench_text("%s/bench/ReadAll.java", o->build);
	uint64_t decoded = 0;
	double bytes;
	FILE *f = fopen(path, "re");

	if (!f || fseek(f, 0, SEEK_END))
		return;
	bytes = (double)ftell(f);
	fclose(f);
	for (unsigned int i = 0; i < rounds; i++) {
		note_time(&summary, weft_summary_ns(weft, path));
		note_time(&decode, decode_ns(path, &decoded));
		note_time(&jdk_summary, jdk_summary_ns(path));
		note_time(&jdk_decode, jdk_decode_ns(program, path, wanted));
	}
	if (decoded != wanted)
		bench_note("reading: %llu events read of %llu", (unsigned long long)decoded,
			   (unsigned long long)wanted);
	add_speed(bench_text("read .jfr of %.0f MB: weft summary", bytes / 1e6), bytes, &summary,
		  1000, "JDK jfr summary", &jdk_summary);
	add_speed(bench_text("read .jfr of %.0f MB: full decode", bytes / 1e6), bytes, &decode, 300,
		  "JDK RecordingFile", &jdk_decode);
	add_sizes(path, bytes, wanted);
}

static void run(const struct bench_options *o)
{
	char path[] = "/tmp/weft-bench.XXXXXX.jfr";
	uint64_t pairs = o->quick ? 20000 : 4300000;
	int fd = mkstemps(path, 4);

	if (fd < 0)
		return;
	close(fd);
	if (make_recording(path, pairs))
		bench_note("reading: no recording could be written to %s", path);
	else
		measure(o, path, 2 * pairs, o->quick ? 1 : 3);
	unlink(path);
}

const struct bench_group bench_reading = {
	.name = "reading",
	.text = "reading recordings, beside the JDK",
	.run = run,
};
