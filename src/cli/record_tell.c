/* SPDX-License-Identifier: Apache-2.0 */
/* What record says at the end: one line of sums, then hints, then what went wrong. */
#include "cli/cli.h"
#include "cli/record.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct cause {
	int number;
	const char *name, *kind;
};

#define COUNTER_ROW(number, id, name, kind, text) {number, name, #kind},
static const struct cause causes[] = {WEFT_COUNTERS(COUNTER_ROW)};

struct line {
	char text[1024];
	size_t used;
};

static void add(struct line *l, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void add(struct line *l, const char *format, ...)
{
	va_list list;
	int n;

	va_start(list, format);
	n = vsnprintf(l->text + l->used, sizeof(l->text) - l->used, format, list);
	va_end(list);
	if (n > 0)
		l->used += (size_t)n;
	if (l->used >= sizeof(l->text))
		l->used = sizeof(l->text) - 1;
}

void record_size_text(uint64_t bytes, char *out, size_t room)
{
	static const char *const unit[] = {"B", "KiB", "MiB", "GiB", "TiB"};
	double size = (double)bytes;
	size_t i = 0;

	while (size >= 1024 && i < 4) {
		size /= 1024;
		i++;
	}
	snprintf(out, room, i ? "%.1f %s" : "%.0f %s", size, unit[i]);
}

static uint64_t lost_in_all(const struct session_counts *total)
{
	uint64_t lost = total->pending;

	for (size_t i = 0; i < sizeof(causes) / sizeof(causes[0]); i++)
		if (strcmp(causes[i].kind, "LOST") == 0)
			lost += total->counter[causes[i].number];
	return lost;
}

static void add_lost(struct line *l, const struct collector_result *result)
{
	const struct session_counts *total = &result->total;
	uint64_t lost = lost_in_all(total) + result->samples_unwritten;
	const char *before = "";

	if (!lost)
		return;
	add(l, ", %llu lost (", (unsigned long long)lost);
	for (size_t i = 0; i < sizeof(causes) / sizeof(causes[0]); i++) {
		uint64_t count = total->counter[causes[i].number];

		if (strcmp(causes[i].kind, "LOST") != 0 || !count)
			continue;
		add(l, "%s%s %llu", before, causes[i].name, (unsigned long long)count);
		before = ", ";
	}
	if (total->pending) {
		add(l, "%spending %llu", before, (unsigned long long)total->pending);
		before = ", ";
	}
	if (result->samples_unwritten)
		add(l, "%sunwritten %llu", before, (unsigned long long)result->samples_unwritten);
	add(l, ")");
}

static const char *plural(uint64_t n, const char *one, const char *many)
{
	return n == 1 ? one : many;
}

static void tell_sums(const struct record *r, const struct collector_result *result)
{
	struct line l = {.used = 0};
	char size[32];

	record_size_text(result->bytes, size, sizeof(size));
	add(&l, "weft record: %llu %s", (unsigned long long)result->samples,
	    plural(result->samples, "sample", "samples"));
	add_lost(&l, result);
	add(&l, ", %llu %s, %u %s: %s (%s)", (unsigned long long)result->total.threads,
	    plural(result->total.threads, "thread", "threads"), result->processes,
	    plural(result->processes, "process", "processes"), r->path, size);
	fprintf(stderr, "%s\n", l.text);
}

static void tell_running(const struct record *r, const struct collector_result *result)
{
	size_t known = sizeof(result->running) / sizeof(result->running[0]);
	struct line l = {.used = 0};

	if (!result->running_count || r->duration_ns)
		return;
	for (size_t i = 0; i < known && i < result->running_count; i++)
		add(&l, "%s%s [%d]", i ? ", " : "", result->running[i].command,
		    (int)result->running[i].pid);
	if (result->running_count > known)
		add(&l, ", ...");
	fprintf(stderr,
		"weft record: %u %s on, unrecorded: %s; --wait-all records until they end\n",
		result->running_count,
		plural(result->running_count, "process runs", "processes run"), l.text);
}

int record_tell(const struct record *r, const struct collector_result *result, int rc)
{
	tell_sums(r, result);
	tell_running(r, result);
	if (!result->processes)
		fprintf(stderr, "weft record: no process joined: nothing was recorded\n");
	return rc ? cli_error("%s: %s", r->path, strerror(-rc)) : 0;
}
