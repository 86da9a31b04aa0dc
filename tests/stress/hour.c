/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A long recording without the time that it takes: a hundred threads are sampled a thousand times a
 * second each, by a clock that is made up; the collector's recording writes it, chunk by chunk, as
 * the worker has it do. Then the file is read back.
 *
 *	hour FILE SECONDS [MAX_BYTES [MAX_AGE_SECONDS]]
 *
 * Holds: the memory of the process stays flat after the first fifth; each thread's samples are in
 * the file without a gap, up to the last, every one in the span that it was taken in, and
 * as many as the recording says; without limits that is all of them. With limits the file is never
 * larger than it may, what it begins with is no older, and no younger than it need be.
 * Prints one line of figures, "name value" pairs.
 */
#include "base/recording.h"
#include "collector/write/process_work.h"
#include "collector/write/recording.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <weft/jfr.h>

#define SECOND_NS UINT64_C(1000000000)
#define START_NS (1000 * SECOND_NS)
#define THREADS 100
#define PERIOD_NS UINT64_C(1000000)
#define SPAN_NS (50 * PERIOD_NS)   /* of one span of a thread */
#define TRACE_NS (500 * PERIOD_NS) /* ten of them are one trace */
#define CHUNK_NS (10 * SECOND_NS)
#define METHODS 2000
#define STACKS 4000
#define DEPTH 20
/* Of a process of so much memory, what two looks at it may differ by. */
#define GROWTH_BYTES ((uint64_t)6 << 20)

static int failures;

static void expect(int holds, const char *what, uint64_t found, uint64_t wanted)
{
	if (holds)
		return;
	failures++;
	fprintf(stderr, "hour: %s: %llu, and not %llu\n", what, (unsigned long long)found,
		(unsigned long long)wanted);
}

static void die(const char *what, int rc)
{
	fprintf(stderr, "hour: %s: %s\n", what, strerror(-rc));
	exit(1);
}

static uint64_t resident_bytes(void)
{
	unsigned long long pages = 0;
	FILE *f = fopen("/proc/self/statm", "r");

	if (!f || fscanf(f, "%*u %llu", &pages) != 1)
		pages = 0;
	if (f)
		fclose(f);
	return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

static uint64_t file_bytes(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 ? (uint64_t)st.st_size : 0;
}

/* ---- what is recorded */

static struct weft_jfr_frame stack[STACKS][DEPTH];

static uint32_t next_random(void)
{
	static uint32_t state = 1;

	state = state * 1664525 + 1013904223;
	return state >> 8;
}

static void make_stacks(struct weft_jfr_writer *w)
{
	static uint64_t method[METHODS];

	for (int i = 0; i < METHODS; i++) {
		char name[64];

		snprintf(name, sizeof(name), "service::handler_%d::step(int, char const*)", i);
		method[i] = weft_jfr_method(w, i % 5 ? "server" : "libc.so.6", name);
	}
	for (int s = 0; s < STACKS; s++)
		for (int i = 0; i < DEPTH; i++)
			stack[s][i] = (struct weft_jfr_frame){
				.method = method[i < DEPTH / 2 ? next_random() % METHODS
							       : (uint32_t)i],
				.line = (int32_t)(next_random() % 1000),
				.type = WEFT_JFR_FRAME_CPP};
}

/* Time n of thread t. */
static uint64_t time_of(uint64_t n, unsigned int t)
{
	return START_NS + n * PERIOD_NS + t * 1000;
}

static uint64_t span_of(uint64_t n, unsigned int t)
{
	return (n * PERIOD_NS / SPAN_NS) * THREADS + t + 1;
}

static void take(struct recording *r, struct process *p, struct process_thread *thread, uint64_t n,
		 unsigned int t)
{
	/* a few stacks make up most of the samples */
	uint32_t which = next_random() % 4 ? next_random() % 64 : next_random() % STACKS;
	struct recording_trace trace = {stack[which], DEPTH, 0};
	uint64_t number = n * PERIOD_NS / TRACE_NS * THREADS + t + 1;
	struct recorded_sample sample = {
		.time_ns = time_of(n, t),
		.weight = 1,
		.has_key = 1,
		.key = {.span_id = span_of(n, t), .root_span_id = number},
	};

	memcpy(sample.key.trace_id, &number, sizeof(number));
	recording_sample(r, p, thread, &sample, &trace);
}

struct figures {
	uint64_t early, late; /* most memory: of the second fifth of the time, after it */
	uint64_t largest;     /* file, bytes */
	uint64_t chunk_bytes; /* of the largest chunk, about */
};

static void note_memory(struct figures *f, uint64_t second, uint64_t seconds)
{
	uint64_t now = resident_bytes();

	if (second * 5 >= seconds && second * 5 < 2 * seconds && now > f->early)
		f->early = now;
	if (second * 5 >= 2 * seconds && now > f->late)
		f->late = now;
}

static void end_chunk(struct recording *r, const char *path, uint64_t now_ns, struct figures *f)
{
	uint64_t before = file_bytes(path), after;
	int rc = recording_roll(r, now_ns);

	if (rc)
		die("a chunk", rc);
	after = file_bytes(path);
	f->largest = after > f->largest ? after : f->largest;
	if (after > before && after - before > f->chunk_bytes)
		f->chunk_bytes = after - before;
}

static void record(struct recording *r, struct process *p, const char *path, uint64_t seconds,
		   struct figures *f)
{
	struct process_thread *thread[THREADS];
	uint64_t chunk_ns = START_NS;

	for (unsigned int t = 0; t < THREADS; t++) {
		int fresh;

		thread[t] = process_thread(p, t, 1, &fresh);
		thread[t]->tid = (int32_t)(1000 + t);
		snprintf(thread[t]->name, sizeof(thread[t]->name), "worker-%u", t);
		if (recording_thread(r, p, thread[t]))
			die("a thread", -ENOMEM);
	}
	for (uint64_t n = 0; n < seconds * 1000; n++) {
		uint64_t now_ns = time_of(n, 0);

		if (n % 1000 == 0)
			recording_tick(r, now_ns);
		if (n % 100 == 0)
			note_memory(f, n / 1000, seconds);
		if (now_ns - chunk_ns >= CHUNK_NS || recording_is_full(r)) {
			end_chunk(r, path, now_ns, f);
			chunk_ns = now_ns;
		}
		for (unsigned int t = 0; t < THREADS; t++)
			take(r, p, thread[t], n, t);
	}
}

/* ---- what the file has */

struct found {
	uint64_t samples, spans, others;
	uint64_t first[THREADS], next[THREADS]; /* number of its samples */
	uint64_t span_start[THREADS], span_end[THREADS];
	uint64_t uncovered; /* samples that lie in no span of theirs */
	int64_t base_ns;    /* epoch of START_NS */
};

static int thread_of(const struct weft_jfr_event_view *e)
{
	const struct weft_jfr_node *thread = weft_jfr_event_get(e, "eventThread");
	const struct weft_jfr_node *id = thread ? weft_jfr_get(thread, "osThreadId") : NULL;

	return id && id->number >= 1000 && id->number < 1000 + THREADS ? (int)id->number - 1000
								       : -1;
}

static void take_sample(struct found *f, const struct weft_jfr_event_view *e)
{
	const struct weft_jfr_node *trace = weft_jfr_event_get(e, "stackTrace");
	int t = thread_of(e);
	uint64_t n;

	if (t < 0) {
		f->uncovered++;
		return;
	}
	n = ((uint64_t)(e->start_ns - f->base_ns) - (uint64_t)t * 1000) / PERIOD_NS;
	if (!f->next[t])
		f->first[t] = f->next[t] = n;
	expect(n == f->next[t], "a thread's next sample", n, f->next[t]);
	f->next[t] = n + 1;
	f->samples++;
	if (!trace || trace->shape != WEFT_JFR_V_STRUCT)
		expect(0, "a stack's frames", 0, DEPTH);
}

/* Spans of a thread are in order, and reach from a sample to one nanosecond behind another. */
static void take_span(struct found *f, const struct weft_jfr_event_view *e)
{
	const struct weft_jfr_node *id = weft_jfr_event_get(e, RECORDING_FIELD_SPAN);
	int t = thread_of(e);
	uint64_t first, last, wanted;
	char text[17];

	if (t < 0 || !id || id->shape != WEFT_JFR_V_STRING) {
		f->uncovered++;
		return;
	}
	first = ((uint64_t)(e->start_ns - f->base_ns) - (uint64_t)t * 1000) / PERIOD_NS;
	last = ((uint64_t)(e->start_ns + e->duration_ns - f->base_ns) - (uint64_t)t * 1000) /
	       PERIOD_NS;
	wanted = span_of(first, (unsigned int)t);
	snprintf(text, sizeof(text), "%016llx", (unsigned long long)wanted);
	expect(id->string.bytes == 16 && memcmp(id->string.data, text, 16) == 0, "a span's id", 0,
	       wanted);
	expect(span_of(last, (unsigned int)t) == wanted, "a span's end", last, first);
	if (f->span_end[t])
		expect(first == f->span_end[t], "a span's first sample", first, f->span_end[t]);
	else
		f->span_start[t] = first;
	f->span_end[t] = last + 1;
	f->spans++;
}

static void read_back(struct found *f, const char *path)
{
	struct weft_jfr_reader *reader = weft_jfr_open(path);
	struct weft_jfr_event_view e;
	int rc;

	if (!reader)
		die(path, -errno);
	while ((rc = weft_jfr_next(reader, &e)) == 1 && failures < 10) {
		const char *name = weft_jfr_class_name(e.type);

		if (strcmp(name, RECORDING_EXECUTION_SAMPLE) == 0)
			take_sample(f, &e);
		else if (strcmp(name, RECORDING_SPAN) == 0)
			take_span(f, &e);
		else
			f->others++;
	}
	expect(rc == 0, weft_jfr_error(reader), 0, 0);
	weft_jfr_reader_free(reader);
}

static void check_contents(const struct found *f, uint64_t seconds, uint64_t written)
{
	expect(f->samples == written, "samples in the file", f->samples, written);
	expect(f->uncovered == 0, "events without thread or span", f->uncovered, 0);
	for (unsigned int t = 0; t < THREADS; t++) {
		expect(f->next[t] == seconds * 1000, "a thread's last sample", f->next[t],
		       seconds * 1000);
		expect(f->span_start[t] == f->first[t] && f->span_end[t] == f->next[t],
		       "samples that a thread's spans cover", f->span_end[t] - f->span_start[t],
		       f->next[t] - f->first[t]);
	}
}

/* What there is begins with the file's oldest chunk. */
static void check_limits(const struct found *f, const struct figures *figures, uint64_t seconds,
			 uint64_t max_bytes, uint64_t max_age)
{
	uint64_t from = f->first[0] / 1000;

	if (max_bytes) {
		expect(figures->largest <= max_bytes, "bytes of the file", figures->largest,
		       max_bytes);
		expect(!from || figures->largest + figures->chunk_bytes >= max_bytes,
		       "bytes that it once had", figures->largest, max_bytes);
	}
	if (max_age && max_age < seconds)
		expect(from + max_age + CHUNK_NS / SECOND_NS >= seconds, "its first second", from,
		       seconds - max_age);
	if (max_age && max_age < seconds && !max_bytes)
		expect(from + max_age <= seconds, "its first second", from, seconds - max_age);
	if (!max_bytes && !max_age)
		expect(f->first[0] == 0, "its first sample", f->first[0], 0);
}

static struct recording *open_recording(const char *path, uint64_t max_bytes, uint64_t max_age)
{
	struct recording_options o = {
		.path = path,
		.command_line = "hour",
		.version = "0",
		.stack_mode = "auto",
		.period_ns = PERIOD_NS,
		.engines = WEFT_ENGINE_CPU,
		.chunk_ns = CHUNK_NS,
		.chunk_bytes = max_bytes ? max_bytes / 16 : 0,
		.start_ns = START_NS,
		.max_bytes = max_bytes,
		.max_age_ns = max_age * SECOND_NS,
	};
	struct recording *r;
	int rc = recording_open(&r, &o);

	if (rc)
		die(path, rc);
	return r;
}

static int64_t epoch_of_start(const char *path)
{
	struct weft_jfr_reader *reader = weft_jfr_open(path);
	struct weft_jfr_event_view e;
	int64_t base_ns = 0;

	while (reader && weft_jfr_next(reader, &e) == 1 && !base_ns)
		if (strcmp(weft_jfr_class_name(e.type), RECORDING_RECORDING) == 0)
			base_ns = e.start_ns;
	weft_jfr_reader_free(reader);
	return base_ns;
}

int main(int argc, char **argv)
{
	uint64_t seconds = argc > 2 ? strtoull(argv[2], NULL, 10) : 0;
	uint64_t max_bytes = argc > 3 ? strtoull(argv[3], NULL, 10) : 0;
	uint64_t max_age = argc > 4 ? strtoull(argv[4], NULL, 10) : 0;
	struct recording_written written;
	static struct figures figures;
	static struct found found;
	struct recording *r;
	struct process *p;
	int rc;

	if (!seconds)
		die("usage: hour FILE SECONDS [MAX_BYTES [MAX_AGE_SECONDS]]", -EINVAL);
	r = open_recording(argv[1], max_bytes, max_age);
	make_stacks(recording_writer(r));
	rc = process_new(&p, getpid());
	if (rc)
		die("/proc", rc);
	p->opened_ns = START_NS;
	recording_process_begin(r, p);
	record(r, p, argv[1], seconds, &figures);
	rc = recording_close(r, START_NS + seconds * SECOND_NS, &written);
	if (rc)
		die(argv[1], rc);
	expect(figures.late <= figures.early + GROWTH_BYTES, "memory, bytes", figures.late,
	       figures.early);
	found.base_ns = epoch_of_start(argv[1]);
	read_back(&found, argv[1]);
	check_contents(&found, seconds, written.in_file.samples);
	check_limits(&found, &figures, seconds, max_bytes, max_age);
	printf("samples %llu spans %llu others %llu bytes %llu per-sample %.2f early %llu late "
	       "%llu dropped %llu from %llu\n",
	       (unsigned long long)found.samples, (unsigned long long)found.spans,
	       (unsigned long long)found.others, (unsigned long long)written.bytes,
	       (double)written.bytes / (double)found.samples, (unsigned long long)figures.early,
	       (unsigned long long)figures.late, (unsigned long long)written.dropped_chunks,
	       (unsigned long long)found.first[0] / 1000);
	return failures != 0;
}
