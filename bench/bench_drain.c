/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Draining: a real session's rings, filled by the runtime's own ring.c with samples whose
 * stacks were taken in this process; then session_drain() alone, then walker and worker over
 * what came out, until it is in a .jfr. The three take turns in one thread, as fast as each
 * can, so that each has a figure of its own. Baseline: memcpy of the same bytes out of the
 * same rings.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/recording.h"
#include "base/session_layout.h"
#include "collector/session/session.h"
#include "collector/walk/jit.h"
#include "collector/walk/walk.h"
#include "collector/write/process_work.h"
#include "collector/write/worker.h"
#include "drained_stacks.h"
#include "harness.h"
#include "runtime/core/ring.h"

#define THREADS 8
#define IDLE_THREADS 1024
#define STACKS 256
#define GENERATION 1
#define ROUNDS_MAX 15
#define PERIOD_NS 1000u
#define PAST_NS (UINT64_C(1000) * 1000000000)

static const struct drained_kind kinds[] = {
	{"FRAMES of 16 pcs", WEFT_SAMPLE_FRAMES, 16},
	{"FRAMES of 32 pcs", WEFT_SAMPLE_FRAMES, 32},
	{"RAW of 8 KiB", WEFT_SAMPLE_RAW, 24},
};

struct drained {
	struct process *process;
	struct session *session;
	struct queue drained, walked;
	struct tables tables;
	struct table_cache cache;
	struct walker walker;
	struct worker worker;
	struct ring ring[THREADS];
	struct weft_sample_record *record[STACKS];
	uint8_t *copy; /* where the baseline's memcpy puts a ring */
	char path[64];
	uint64_t start_ns, put;
	uint32_t record_bytes;
};

/* Nanoseconds for each record. */
struct round {
	double copy, drain, walk, write;
};

/* ---- the target's side */

static void claim(const struct drained *d, uint32_t index)
{
	struct weft_session_header *h = d->session->process->base;
	struct weft_slot *slot = weft_session_slot(h, &d->session->process->layout, index);

	slot->thread.tid = getpid();
	slot->thread.generation = GENERATION;
	slot->thread.claimed_ns = d->start_ns;
	if (h->slots_high <= index)
		h->slots_high = index + 1;
	__atomic_store_n(&weft_session_states(h, &d->session->process->layout)[index],
			 WEFT_STATE_WORD(GENERATION, WEFT_SLOT_LIVE), __ATOMIC_RELEASE);
}

static struct ring ring_of(const struct drained *d, uint32_t index)
{
	const struct weft_session_header *layout = &d->session->process->layout;
	struct weft_slot *slot = weft_session_slot(d->session->process->base, layout, index);

	return (struct ring){.producer = &slot->samples_p,
			     .consumer = &slot->samples_c,
			     .data = (uint8_t *)slot + layout->samples_offset,
			     .bytes = layout->samples_bytes};
}

/* As weft_rt_mark() does it. */
static void mark_fresh(struct weft_session_header *h, uint32_t index)
{
	uint32_t block = index / WEFT_SESSION_BLOCK_SLOTS;

	h->fresh[block / 64] |= UINT64_C(1) << block % 64;
}

/* As the handler counts it. 0: the ring is full. */
static int put_sample(struct drained *d, const struct ring *ring, uint32_t index)
{
	const struct weft_sample_record *from = d->record[d->put % STACKS];
	struct weft_sample_record *to = weft_ring_reserve(ring, from->record.bytes);
	struct weft_session_header *h = d->session->process->base;
	uint64_t *counters = weft_session_slot(h, &d->session->process->layout, index)->counters;

	if (!to)
		return 0;
	memcpy(to, from, from->record.bytes);
	to->record.generation = GENERATION;
	to->time_ns = d->start_ns + ++d->put * PERIOD_NS;
	to->map_number = to->stack == WEFT_SAMPLE_FRAMES ? h->map_number : 0;
	counters[WEFT_COUNTER_ATTEMPTED]++;
	weft_ring_commit(ring, &to->record);
	counters[WEFT_COUNTER_WRITTEN]++;
	mark_fresh(h, index);
	return 1;
}

static uint64_t fill_rings(struct drained *d)
{
	uint64_t before = d->put;

	for (uint32_t i = 0; i < THREADS; i++)
		while (put_sample(d, &d->ring[i], i))
			;
	return d->put - before;
}

/* ---- the collector's side */

static void free_batches(struct queue *q)
{
	while (q->first)
		free(queue_pop(q));
}

/* Of this thread: what else runs on the machine is not in the figures. */
static uint64_t cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static double copy_rings(const struct drained *d)
{
	uint64_t start = cpu_ns();

	for (uint32_t i = 0; i < THREADS; i++) {
		memcpy(d->copy, d->ring[i].data, d->ring[i].bytes);
		bench_keep(d->copy);
	}
	return (double)(cpu_ns() - start);
}

static double drain_rings(struct drained *d)
{
	uint64_t start = cpu_ns();

	while (session_drain(d->session, &d->drained, DRAIN_RUNNING).unfinished)
		;
	return (double)(cpu_ns() - start);
}

/* Each of the two finds caches that the other has warmed, every other time. */
static void drain_once(struct drained *d, int copy_first, struct round *sum)
{
	if (copy_first)
		sum->copy += copy_rings(d);
	sum->drain += drain_rings(d);
	if (!copy_first)
		sum->copy += copy_rings(d);
}

/* What lies in the first queue, until it is in the open chunk of the file, or with its end. */
static void write_all(struct drained *d, int roll, struct round *sum)
{
	struct batch *end = roll ? batch_new(BATCH_ROLL, NULL, 0) : NULL;
	uint64_t start;

	if (end)
		end->time_ns = d->start_ns + d->put * PERIOD_NS + 1;
	queue_push(&d->drained, end);
	queue_push(&d->drained, batch_new(BATCH_FINISH, NULL, 0));
	start = cpu_ns();
	walker_run(&d->walker);
	sum->walk += (double)(cpu_ns() - start);
	start = cpu_ns();
	worker_run(&d->worker);
	sum->write += (double)(cpu_ns() - start);
}

/* A chunk. */
static struct round run_round(struct drained *d, uint64_t records)
{
	struct round r = {0};
	uint64_t count = 0;

	for (int copy_first = 0; count < records; copy_first = !copy_first) {
		count += fill_rings(d);
		drain_once(d, copy_first, &r);
		write_all(d, count >= records, &r);
	}
	r.copy /= (double)count;
	r.drain /= (double)count;
	r.walk /= (double)count;
	r.write /= (double)count;
	return r;
}

/* ---- one session and one file for each kind */

static int make_records(struct drained *d, const struct drained_kind *kind)
{
	for (uint64_t i = 0; i < STACKS; i++) {
		d->record[i] = malloc(DRAINED_RECORD_MAX);
		d->record_bytes = d->record[i] ? drained_record(kind, i, d->record[i]) : 0;
		if (!d->record_bytes)
			return -1;
	}
	return 0;
}

static int open_session(struct drained *d)
{
	struct session_settings settings = {.period_ns = PERIOD_NS,
					    .stack_mode = WEFT_STACK_AUTO,
					    .stack_copy_bytes = DRAINED_COPY_BYTES,
					    .tables_bytes = d->tables.bytes};

	if (process_new(&d->process, getpid()))
		return -1;
	d->process->session_id = 1;
	d->process->opened_ns = d->start_ns = clock_mono_ns() - PAST_NS;
	return session_new(&d->session, d->process, &settings);
}

static int open_file(struct drained *d)
{
	struct recording_options options = {.path = d->path,
					    .command_line = "bench",
					    .version = "0",
					    .stack_mode = "auto",
					    .period_ns = PERIOD_NS};

	snprintf(d->path, sizeof(d->path), "/tmp/weft-bench-%d.jfr", (int)getpid());
	if (recording_open(&d->worker.recording, &options) || naming_init(&d->worker.naming))
		return -1;
	d->worker.naming.writer = recording_writer(d->worker.recording);
	d->worker.queue = &d->walked;
	d->worker.period_ns = PERIOD_NS;
	return 0;
}

static int start(struct drained *d, const struct drained_kind *kind)
{
	*d = (struct drained){.cache = {.fd = -1}};
	tables_open(&d->tables, WEFT_TABLES_BYTES);
	if (queue_init(&d->drained, SIZE_MAX) || queue_init(&d->walked, SIZE_MAX) ||
	    open_session(d) || open_file(d))
		return -1;
	d->walker = (struct walker){
		.in = &d->drained,
		.out = &d->walked,
		.walking = {.modules = modules_new(&d->tables, &d->cache),
			    .tables = &d->tables,
			    .jit_budget = JIT_BUDGET_BYTES},
	};
	d->copy = malloc(d->session->process->layout.samples_bytes);
	if (!d->walker.walking.modules || !d->copy || make_records(d, kind))
		return -1;
	for (uint32_t i = 0; i < THREADS; i++) {
		claim(d, i);
		d->ring[i] = ring_of(d, i);
	}
	/* Mappings, tables and the first snapshot are there before the first sample. */
	queue_push(&d->drained, batch_new(BATCH_OPEN, d->process, 0));
	write_all(d, 1, &(struct round){0});
	return 0;
}

static struct batch *closing(struct drained *d)
{
	struct batch *b = batch_new(BATCH_CLOSE, d->process, sizeof(struct session_counts));
	struct session_counts counts;

	if (!b)
		return NULL;
	session_count(d->session, &counts);
	memcpy(b->data, &counts, sizeof(counts));
	b->end = RECORDING_END_EXITED;
	b->time_ns = clock_mono_ns();
	return b;
}

/* Not a figure without all samples: those put are those in the file. */
static void check(const struct drained *d, const struct drained_kind *kind,
		  const struct recording_written *written)
{
	const struct session_counts *total = &d->worker.total;

	if (written->in_file.samples != d->put || written->error || d->worker.error ||
	    d->walker.error)
		bench_note("drain: %s: of %llu samples %llu are in the file", kind->name,
			   (unsigned long long)d->put,
			   (unsigned long long)written->in_file.samples);
	for (int i = WEFT_COUNTER_CUT_NO_BOUNDS; i <= WEFT_COUNTER_CUT_MAX_FRAMES; i++)
		if (total->counter[i])
			bench_note("drain: %s: %llu stacks are cut (counter %d)", kind->name,
				   (unsigned long long)total->counter[i], i);
}

static void finish(struct drained *d, const struct drained_kind *kind)
{
	struct recording_written written = {0};

	queue_push(&d->drained, closing(d));
	write_all(d, 1, &(struct round){0});
	session_free(d->session);
	recording_close(d->worker.recording, clock_mono_ns(), &written);
	check(d, kind, &written);
	naming_free(&d->worker.naming);
	modules_free(d->walker.walking.modules);
	queue_destroy(&d->drained);
	queue_destroy(&d->walked);
	tables_close(&d->tables);
	for (int i = 0; i < STACKS; i++)
		free(d->record[i]);
	free(d->copy);
	unlink(d->path);
}

/* ---- the figures */

static double per_second(double ns)
{
	return ns > 0 ? 1e3 / ns : 0; /* millions */
}

static void add_rate(const struct drained_kind *kind, const char *what, double ns, double copy_ns)
{
	bench_add(&(struct bench_row){.operation = bench_text("%s: %s", kind->name, what),
				      .unit = "M/s",
				      .measured = per_second(ns),
				      .baseline = "memcpy",
				      .base = per_second(copy_ns)});
}

static void add_rows(const struct drained_kind *kind, uint32_t bytes, const struct round *r)
{
	add_rate(kind, "records drained", r->drain, r->copy);
	bench_add(&(struct bench_row){.operation = bench_text("%s: bytes drained", kind->name),
				      .unit = "MB/s",
				      .measured = bytes * 1e3 / r->drain,
				      .baseline = "memcpy",
				      .base = bytes * 1e3 / r->copy});
	add_rate(kind, "walked", r->walk, r->copy);
	add_rate(kind, "named and written", r->write, r->copy);
	add_rate(kind, "all of it, in one thread", r->drain + r->walk + r->write, r->copy);
}

static struct round median_of(const struct round *all, unsigned int rounds)
{
	double column[4][ROUNDS_MAX];

	for (unsigned int i = 0; i < rounds; i++) {
		column[0][i] = all[i].copy;
		column[1][i] = all[i].drain;
		column[2][i] = all[i].walk;
		column[3][i] = all[i].write;
	}
	return (struct round){.copy = bench_median(column[0], rounds),
			      .drain = bench_median(column[1], rounds),
			      .walk = bench_median(column[2], rounds),
			      .write = bench_median(column[3], rounds)};
}

static void measure(const struct bench_options *o, const struct drained_kind *kind)
{
	unsigned int rounds = o->quick ? 1 : ROUNDS_MAX;
	uint64_t records = o->quick ? 500 : 8000;
	struct round all[ROUNDS_MAX], median;
	static struct drained d;

	if (start(&d, kind)) {
		bench_note("drain: %s: no session, or no stacks", kind->name);
		return;
	}
	run_round(&d, STACKS); /* names */
	for (unsigned int i = 0; i < rounds; i++)
		all[i] = run_round(&d, records);
	median = median_of(all, rounds);
	add_rows(kind, d.record_bytes, &median);
	finish(&d, kind);
}

/* ---- many threads, of which each has little or nothing */

/* The target says that there is something new in each block: all slots are looked at. */
static void mark_all(const struct drained *d)
{
	for (uint32_t i = 0; i < IDLE_THREADS; i += WEFT_SESSION_BLOCK_SLOTS)
		mark_fresh(d->session->process->base, i);
}

enum pass { PASS_STILL, PASS_NOTHING, PASS_SAMPLE };

static double median_pass(struct drained *d, const struct bench_options *o, enum pass what)
{
	unsigned int rounds = o->quick ? 1 : ROUNDS_MAX;
	double ns[ROUNDS_MAX];

	for (unsigned int r = 0; r < rounds; r++) {
		for (uint32_t i = 0; what == PASS_SAMPLE && i < IDLE_THREADS; i++) {
			struct ring ring = ring_of(d, i);

			put_sample(d, &ring, i);
		}
		if (what == PASS_NOTHING)
			mark_all(d);
		ns[r] = drain_rings(d) / IDLE_THREADS;
		free_batches(&d->drained);
	}
	return bench_median(ns, rounds);
}

static void measure_many(const struct bench_options *o)
{
	static struct drained d;
	double still, idle, one;

	if (start(&d, &kinds[0])) {
		bench_note("drain: no session for %d threads", IDLE_THREADS);
		return;
	}
	for (uint32_t i = THREADS; i < IDLE_THREADS && i < d.session->process->layout.slot_count;
	     i++)
		claim(&d, i);
	median_pass(&d, o, PASS_SAMPLE); /* names of threads, first pages */
	still = median_pass(&d, o, PASS_STILL);
	idle = median_pass(&d, o, PASS_NOTHING);
	one = median_pass(&d, o, PASS_SAMPLE);
	bench_add(&(struct bench_row){
		.operation = bench_text("a pass over %d threads, one sample each", IDLE_THREADS),
		.unit = "ns",
		.measured = one,
		.baseline = "nothing new, per thread",
		.base = idle});
	bench_add(&(struct bench_row){
		.operation = bench_text("a pass over %d threads that stood still", IDLE_THREADS),
		.unit = "ns",
		.measured = still,
		.baseline = "nothing new, but each looked at",
		.base = idle});
	d.put = 0; /* these went nowhere */
	finish(&d, &kinds[0]);
}

static void run(const struct bench_options *o)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		measure(o, &kinds[i]);
	measure_many(o);
}

const struct bench_group bench_drain = {
	.name = "drain",
	.text = "rings drained, walked, named and written",
	.run = run,
};
