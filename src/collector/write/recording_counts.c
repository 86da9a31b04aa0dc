/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows of weft.Counter and weft.Histogram. Each is the difference to the one before, so that sums
 * are right over chunks, merged files and cut files. What goes up and down is a level: each chunk
 * has it as it is then, for a difference would say nothing in a file that has lost its beginning.
 * What a chunk held that could not be written is put again into the next one.
 */
#include "collector/write/recording_private.h"

#include "base/recording.h"
#include "proc/process_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

struct counter_row {
	const char *name, *kind;
	size_t offset; /* of the u64 in struct session_counts */
};

#define KIND_BOOK "book"
#define KIND_LOST "lost"
#define KIND_CUT "cut"
#define KIND_CTX "ctx"
#define KIND_INFO "info"
#define KIND_LEVEL RECORDING_KIND_LEVEL
#define ROW(number, id, name, kind, text)                                                          \
	{name, KIND_##kind, offsetof(struct session_counts, counter) + (number)*8},

static const struct counter_row rows[] = {
	/* clang-format off */
	WEFT_COUNTERS(ROW)
	{ RECORDING_COUNTER_DELIVERED, KIND_BOOK, offsetof(struct session_counts, delivered) },
	{ RECORDING_COUNTER_PENDING, KIND_LOST, offsetof(struct session_counts, pending) },
	{ RECORDING_COUNTER_EVENTS_DELIVERED, KIND_INFO, offsetof(struct session_counts, events_delivered) },
	{ RECORDING_COUNTER_EVENTS_PENDING, KIND_INFO, offsetof(struct session_counts, events_pending) },
	{ RECORDING_COUNTER_GENERATIONS, KIND_INFO, offsetof(struct session_counts, generations) },
	{ RECORDING_COUNTER_UNBALANCED, KIND_INFO, offsetof(struct session_counts, unbalanced) },
	{ RECORDING_COUNTER_THREADS, KIND_INFO, offsetof(struct session_counts, threads) },
	{ RECORDING_COUNTER_CONTEXT_OTEL, KIND_INFO, offsetof(struct session_counts, context_otel) },
	{ RECORDING_COUNTER_CONTEXT_LABELS, KIND_INFO, offsetof(struct session_counts, context_labels) },
	{ RECORDING_COUNTER_CONTEXT_GO, KIND_INFO, offsetof(struct session_counts, context_go) },
	{ RECORDING_COUNTER_CONTEXT_UNREADABLE, KIND_INFO, offsetof(struct session_counts, context_unreadable) },
	{ RECORDING_COUNTER_CONTEXT_DISAGREED, KIND_INFO, offsetof(struct session_counts, context_disagreed) },
	{ RECORDING_COUNTER_SLOTS_USED, KIND_LEVEL, offsetof(struct session_counts, slots_used) },
	{ RECORDING_COUNTER_SLOTS_HIGH, KIND_LEVEL, offsetof(struct session_counts, slots_high) },
	{ RECORDING_COUNTER_LOG_INVALID, KIND_INFO, offsetof(struct session_counts, log_invalid) },
	/* clang-format on */
};

static uint64_t recording_counts_read_at(const struct session_counts *counts, size_t offset)
{
	uint64_t value;

	memcpy(&value, (const uint8_t *)counts + offset, sizeof(value));
	return value;
}

static void recording_counts_put_counter(struct recording *r, const char *group, uint64_t now_ns,
					 const struct counter_row *row, uint64_t value)
{
	struct weft_jfr_value v[] = {
		{.number = (int64_t)now_ns},       {.string = text_value(group)},
		{.string = text_value(row->name)}, {.string = text_value(row->kind)},
		{.number = (int64_t)value},
	};

	recording_put(r, r->type[TYPE_COUNTER], v, 5);
}

static void put_changed(struct recording *r, const struct process *p, uint64_t now_ns,
			const struct counter_row *row, const struct session_counts *now)
{
	uint64_t value = recording_counts_read_at(now, row->offset);
	uint64_t before = recording_counts_read_at(&p->work->put, row->offset);

	if (strcmp(row->kind, KIND_LEVEL) != 0)
		value -= before;
	else if (before && !value) /* a level that is 0 now is told once */
		recording_counts_put_counter(r, p->group, now_ns, row, 0);
	if (value)
		recording_counts_put_counter(r, p->group, now_ns, row, value);
}

static void put_histogram(struct recording *r, const struct process *p, uint64_t now_ns,
			  const char *name, const uint64_t *now, const uint64_t *before)
{
	for (unsigned int i = 0; i < SESSION_BUCKETS; i++) {
		struct weft_jfr_value v[] = {
			{.number = (int64_t)now_ns},
			{.string = text_value(p->group)},
			{.string = text_value(name)},
			{.number = i < 63 ? INT64_C(1) << i : INT64_MAX},
			{.number = (int64_t)(now[i] - before[i])},
		};

		if (now[i] != before[i])
			recording_put(r, r->type[TYPE_HISTOGRAM], v, 5);
	}
}

/* For jdk.DataLoss: at least so many bytes were lost with each record. How large it really was
 * nobody knows. */
struct loss_row {
	size_t offset;
	uint64_t bytes;
};

#define COUNTER_AT(id)                                                                             \
	offsetof(struct session_counts, counter) + (size_t)WEFT_COUNTER_##id * sizeof(uint64_t)
#define SAMPLE_BYTES sizeof(struct weft_sample_record)
#define EVENT_BYTES sizeof(struct weft_record)

static const struct loss_row losses[] = {
	{COUNTER_AT(LOST_NO_SLOT), SAMPLE_BYTES},
	{COUNTER_AT(LOST_RING_FULL), SAMPLE_BYTES},
	{COUNTER_AT(LOST_NESTED), SAMPLE_BYTES},
	{COUNTER_AT(LOST_EXIT_RACE), SAMPLE_BYTES},
	{COUNTER_AT(LOST_STOLEN), SAMPLE_BYTES},
	{COUNTER_AT(LOST_INVALID), SAMPLE_BYTES},
	{COUNTER_AT(LOST_MISTIMED), SAMPLE_BYTES},
	{offsetof(struct session_counts, pending), SAMPLE_BYTES},
	{COUNTER_AT(EVENTS_RING_FULL), EVENT_BYTES},
	{COUNTER_AT(EVENTS_NESTED), EVENT_BYTES},
	{COUNTER_AT(EVENTS_STOLEN), EVENT_BYTES},
	{COUNTER_AT(EVENTS_INVALID), EVENT_BYTES},
	{COUNTER_AT(EVENTS_MISTIMED), EVENT_BYTES},
	{COUNTER_AT(EVENTS_NO_SLOT), EVENT_BYTES},
	{offsetof(struct session_counts, events_pending), EVENT_BYTES},
};

static uint64_t lost_bytes(const struct session_counts *counts)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < sizeof(losses) / sizeof(losses[0]); i++)
		bytes += recording_counts_read_at(counts, losses[i].offset) * losses[i].bytes;
	return bytes;
}

static void put_loss(struct recording *r, uint64_t now_ns, const struct session_counts *now,
		     const struct session_counts *before)
{
	uint64_t total = lost_bytes(now), difference = total - lost_bytes(before);

	if (difference)
		recording_system_loss(r, now_ns, difference, total);
}

void recording_counts(struct recording *r, struct process *p, uint64_t now_ns)
{
	struct session_counts now = p->work->counted; /* the drain thread's and ours together */

	process_take_counts(p);
	session_counts_add(&now, &p->work->own);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		put_changed(r, p, now_ns, &rows[i], &now);
	put_histogram(r, p, now_ns, RECORDING_HISTOGRAM_HANDLER, now.handler_ns,
		      p->work->put.handler_ns);
	put_histogram(r, p, now_ns, RECORDING_HISTOGRAM_CLAIM, now.claim_ns, p->work->put.claim_ns);
	put_loss(r, now_ns, &now, &p->work->put);
	p->work->put = now;
}

void recording_counts_settle(struct process *p, int reached)
{
	if (reached)
		p->work->safe = p->work->put;
	else
		p->work->put = p->work->safe;
}

/* ---- the collector's own cost */

static uint64_t own_cpu_ns(struct rusage *usage)
{
	getrusage(RUSAGE_SELF, usage);
	return ((uint64_t)usage->ru_utime.tv_sec + (uint64_t)usage->ru_stime.tv_sec) * 1000000000 +
	       ((uint64_t)usage->ru_utime.tv_usec + (uint64_t)usage->ru_stime.tv_usec) * 1000;
}

static uint64_t own_memory_bytes(void)
{
	char text[128];
	char *at = text;

	if (proc_read_of(getpid(), "statm", text, sizeof(text)) <= 0)
		return 0;
	strtoull(at, &at, 10); /* the first is what is mapped */
	return strtoull(at, NULL, 10) * (uint64_t)sysconf(_SC_PAGESIZE);
}

void recording_cost_begin(struct recording *r)
{
	struct rusage usage;

	r->cost.put_ns = r->cost.safe_ns = own_cpu_ns(&usage);
	snprintf(r->cost.group, sizeof(r->cost.group), "weft [%d]", (int)getpid());
}

void recording_cost(struct recording *r, uint64_t now_ns)
{
	static const struct counter_row cpu = {RECORDING_COUNTER_COLLECTOR_CPU, KIND_INFO, 0};
	static const struct counter_row memory = {RECORDING_COUNTER_COLLECTOR_MEMORY, KIND_LEVEL,
						  0};
	static const struct counter_row high = {RECORDING_COUNTER_COLLECTOR_HIGH, KIND_LEVEL, 0};
	struct rusage usage;
	uint64_t cpu_ns = own_cpu_ns(&usage), bytes = own_memory_bytes();
	uint64_t most = (uint64_t)usage.ru_maxrss * 1024; /* the kernel adds up late */

	recording_counts_put_counter(r, r->cost.group, now_ns, &cpu, cpu_ns - r->cost.put_ns);
	recording_counts_put_counter(r, r->cost.group, now_ns, &memory, bytes);
	recording_counts_put_counter(r, r->cost.group, now_ns, &high, bytes > most ? bytes : most);
	r->cost.put_ns = cpu_ns;
}

void recording_cost_settle(struct recording *r, int reached)
{
	if (reached)
		r->cost.safe_ns = r->cost.put_ns;
	else
		r->cost.put_ns = r->cost.safe_ns;
}
