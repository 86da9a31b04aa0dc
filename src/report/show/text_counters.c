/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counters as text: in short in the head of every report, all with --counters. What they
 * mean comes from the one table of abi/counters.h; counters that a file has and this
 * version does not know are shown, too.
 */
#include "report/show/text.h"

#include "base/recording.h"
#include "report/show/layout.h"
#include "report/sum/books.h"
#include "weft/abi/counters.h"

#include <stdlib.h>
#include <string.h>

struct meaning {
	const char *name, *kind, *help;
};

static const struct meaning meanings[] = {
#define MEANING(number, id, name, kind, help) {name, #kind, help},
	WEFT_COUNTERS(MEANING)
#undef MEANING
		{RECORDING_COUNTER_DELIVERED, "BOOK", "records that the collector took"},
	{RECORDING_COUNTER_PENDING, "LOST", "left in rings when the file was finished"},
	{RECORDING_COUNTER_GENERATIONS, "INFO", "slot generations whose books were closed"},
	{RECORDING_COUNTER_UNBALANCED, "INFO", "of these, whose books did not balance"},
	{RECORDING_COUNTER_SLOTS_USED, "LEVEL", "slots in use at the end"},
	{RECORDING_COUNTER_SLOTS_HIGH, "LEVEL", "slots in use, high-water mark"},
	{RECORDING_COUNTER_THREADS, "INFO",
	 "threads that got a slot, or were seen from outside alone"},
	{RECORDING_COUNTER_CONTEXT_OTEL, "INFO",
	 "wall samples with something of an OpenTelemetry thread context of another library's"},
	{RECORDING_COUNTER_CONTEXT_LABELS, "INFO",
	 "wall samples with something of a Custom Labels set of another library's"},
	{RECORDING_COUNTER_CONTEXT_GO, "INFO", "wall samples with labels of a goroutine"},
	{RECORDING_COUNTER_CONTEXT_UNREADABLE, "INFO",
	 "such contexts whose pointer led to memory that cannot be read"},
	{RECORDING_COUNTER_CONTEXT_DISAGREED, "INFO",
	 "such contexts left out: they told another span or trace than one before them"},
	{RECORDING_COUNTER_COLLECTOR_CPU, "INFO", "CPU time of the collector, ns"},
	{RECORDING_COUNTER_COLLECTOR_MEMORY, "LEVEL", "memory of the collector, bytes"},
	{RECORDING_COUNTER_COLLECTOR_HIGH, "LEVEL", "the most that it ever was"},
};

#define MEANING_COUNT (sizeof(meanings) / sizeof(meanings[0]))

static const struct meaning *meaning_of(const char *name)
{
	for (size_t i = 0; i < MEANING_COUNT; i++)
		if (strcmp(meanings[i].name, name) == 0)
			return &meanings[i];
	return NULL;
}

/* "12: ring_full 10, no_slot 2", or "none". */
static void line_of_kind(const struct facts *f, const struct text_style *s, const char *title,
			 const char *kind, FILE *out)
{
	uint32_t id = names_find(&f->model->names, kind);
	int64_t sum = facts_sum(f, kind);
	const char *between = ": ";
	char name[LAYOUT_TEXT];

	if (!sum || !id) {
		fprintf(out, "%-12snone\n", title);
		return;
	}
	fprintf(out, "%s%-12s%lld%s", s->warn, title, (long long)sum, s->plain);
	for (uint32_t i = 0; i < f->counter_count; i++) {
		if (f->counters[i].kind != id || !f->counters[i].value)
			continue;
		fprintf(out, "%s%s %lld", between,
			layout_clean(name, facts_name(f, f->counters[i].name)),
			(long long)f->counters[i].value);
		between = ", ";
	}
	fputc('\n', out);
}

static void line_of_threads(const struct facts *f, FILE *out)
{
	static const char prefix[] = "primed_";

	int64_t threads = facts_value(f, RECORDING_COUNTER_THREADS);
	int64_t used = facts_value(f, RECORDING_COUNTER_SLOTS_USED);

	/* A file whose oldest chunks have left it may not have their beginnings. */
	fprintf(out, "%-12s%lld", "threads", (long long)(threads > used ? threads : used));
	for (size_t i = 0; i < MEANING_COUNT; i++)
		if (strncmp(meanings[i].name, prefix, strlen(prefix)) == 0 &&
		    facts_value(f, meanings[i].name))
			fprintf(out, ", %lld primed by %s",
				(long long)facts_value(f, meanings[i].name),
				meanings[i].name + strlen(prefix));
	fprintf(out, "; %lld without a timer; slots: %lld used, %lld at most\n",
		(long long)facts_value(f, "threads_no_timer"), (long long)used,
		(long long)facts_value(f, RECORDING_COUNTER_SLOTS_HIGH));
}

static void line_of_quantiles(const struct facts *f, const char *title, const char *histogram,
			      const char *what, FILE *out)
{
	char half[LAYOUT_NUMBER], most[LAYOUT_NUMBER], all[LAYOUT_NUMBER];

	if (!books_quantile(f, histogram, 1))
		return;
	fprintf(out, "%-12shalf of the %s took under %s, 99 %% under %s, all under %s\n", title,
		what, layout_time(half, (uint64_t)books_quantile(f, histogram, 0.5)),
		layout_time(most, (uint64_t)books_quantile(f, histogram, 0.99)),
		layout_time(all, (uint64_t)books_quantile(f, histogram, 1)));
}

static void line_of_books(const struct facts *f, const struct text_style *s, FILE *out)
{
	struct books b;

	if (!books_read(f, &b))
		return;
	fprintf(out, "%s%-12s%lld attempted %s %lld delivered + %lld lost + %lld pending",
		books_balance(&b) ? "" : s->warn, "books", (long long)b.attempted,
		b.difference ? "is not" : "=", (long long)b.delivered, (long long)b.lost,
		(long long)b.pending);
	if (b.difference)
		fprintf(out, ": %lld cannot be explained", (long long)b.difference);
	if (b.generations)
		fprintf(out, "; %lld of %lld thread slots closed in balance",
			(long long)(b.generations - b.unbalanced), (long long)b.generations);
	fprintf(out, "%s\n", books_balance(&b) ? "" : s->plain);
}

/* What the recording itself has cost. */
static void line_of_collector(const struct facts *f, FILE *out)
{
	int64_t cpu_ns = facts_value(f, RECORDING_COUNTER_COLLECTOR_CPU);
	double mb = (double)facts_value(f, RECORDING_COUNTER_COLLECTOR_MEMORY) / 1e6;
	double high_mb = (double)facts_value(f, RECORDING_COUNTER_COLLECTOR_HIGH) / 1e6;
	uint64_t passed_ns = facts_duration(f);
	char cpu[LAYOUT_NUMBER];

	if (cpu_ns <= 0 || high_mb <= 0)
		return;
	fprintf(out, "%-12s%s of CPU time", "collector", layout_time(cpu, (uint64_t)cpu_ns));
	if (passed_ns)
		fprintf(out, " (%.2f %% of a CPU)", 100.0 * (double)cpu_ns / (double)passed_ns);
	fprintf(out, "; memory: %.1f MB, %.1f MB at most\n", mb, high_mb);
}

void text_counters(const struct facts *f, const struct text_style *s, FILE *out)
{
	if (!f->counter_count)
		return;
	line_of_kind(f, s, "lost", "lost", out);
	line_of_kind(f, s, "cut stacks", "cut", out);
	line_of_kind(f, s, "no context", "ctx", out);
	line_of_threads(f, out);
	line_of_books(f, s, out);
	line_of_quantiles(f, "handler", RECORDING_HISTOGRAM_HANDLER, "samples", out);
	line_of_quantiles(f, "slots", RECORDING_HISTOGRAM_CLAIM, "claims", out);
	line_of_collector(f, out);
}

/* ---- all of them */

static void print_counter(const char *name, const char *kind, int64_t value, const char *help,
			  FILE *out)
{
	fprintf(out, "%12lld  %-21s %-5.5s %s\n", (long long)value, name, kind, help);
}

static int by_up_to(const void *left, const void *right)
{
	const struct fact_bucket *a = left, *b = right;

	if (a->name != b->name)
		return a->name < b->name ? -1 : 1;
	return (a->up_to > b->up_to) - (a->up_to < b->up_to);
}

static int64_t fullest(const struct facts *f, uint32_t name)
{
	int64_t most = 1;

	for (uint32_t i = 0; i < f->bucket_count; i++)
		if (f->buckets[i].name == name && f->buckets[i].count > most)
			most = f->buckets[i].count;
	return most;
}

static void print_buckets(const struct facts *f, const struct fact_bucket *sorted, FILE *out)
{
	static const char bar[] = "########################################";
	char from[LAYOUT_NUMBER], to[LAYOUT_NUMBER];
	uint32_t title = 0;
	char name[LAYOUT_TEXT];

	for (uint32_t i = 0; i < f->bucket_count; i++) {
		const struct fact_bucket *b = &sorted[i];
		int64_t length = b->count * (int64_t)(sizeof(bar) - 1) / fullest(f, b->name);

		if (b->name != title)
			fprintf(out, "\n%s\n", layout_clean(name, facts_name(f, b->name)));
		title = b->name;
		fprintf(out, "%12s .. %-12s %10lld  %.*s\n",
			layout_time(from, (uint64_t)b->up_to / 2),
			layout_time(to, (uint64_t)b->up_to), (long long)b->count,
			(int)(length > 0 ? length : 0), bar);
	}
}

static void text_histograms(const struct facts *f, FILE *out)
{
	struct fact_bucket *sorted = calloc((size_t)f->bucket_count + 1, sizeof(*sorted));

	if (!sorted)
		return;
	if (f->bucket_count)
		memcpy(sorted, f->buckets, f->bucket_count * sizeof(*sorted));
	qsort(sorted, f->bucket_count, sizeof(*sorted), by_up_to);
	print_buckets(f, sorted, out);
	free(sorted);
}

void text_all_counters(const struct facts *f, const struct text_style *s, FILE *out)
{
	char clean[LAYOUT_TEXT], kind[LAYOUT_TEXT];

	if (!f->counter_count) {
		fputs("\nThe file holds no counters of weft.\n", out);
		return;
	}
	fprintf(out, "\n%s%12s  %-21s %-5s what it counts%s\n", s->bold, "value", "counter", "kind",
		s->plain);
	for (size_t i = 0; i < MEANING_COUNT; i++)
		print_counter(meanings[i].name, meanings[i].kind, facts_value(f, meanings[i].name),
			      meanings[i].help, out);
	for (uint32_t i = 0; i < f->counter_count; i++) {
		const char *name = facts_name(f, f->counters[i].name);

		if (!meaning_of(name))
			print_counter(layout_clean(clean, name),
				      layout_clean(kind, facts_name(f, f->counters[i].kind)),
				      f->counters[i].value, "", out);
	}
	text_histograms(f, out);
}
