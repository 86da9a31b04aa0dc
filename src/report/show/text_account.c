/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of the head: clocks, and the CPU time that was used and seen. */
#include "report/show/text.h"

#include "base/recording.h"
#include "report/read/account.h"
#include "report/read/times.h"
#include "report/show/layout.h"

#include <math.h>
#include <string.h>

#define NAMES_SHOWN 3

static const char *text_of_name(const struct facts *f, uint32_t id, char out[LAYOUT_TEXT])
{
	return layout_clean(out, facts_name(f, id));
}

/* ---- clocks */

static int is_like(const struct fact_clock *a, const struct fact_clock *b)
{
	return a->clock == b->clock && a->reason == b->reason && a->period_ns == b->period_ns &&
	       a->tick_ns == b->tick_ns;
}

static int is_first_of_kind(const struct facts *f, uint32_t index)
{
	for (uint32_t i = 0; i < index; i++)
		if (is_like(&f->clocks[i], &f->clocks[index]))
			return 0;
	return 1;
}

static void print_clock(const struct facts *f, const struct fact_clock *c,
			const struct text_style *s, FILE *out)
{
	const char *name = facts_name(f, c->clock);
	char text[LAYOUT_TEXT];

	if (strcmp(name, RECORDING_CLOCK_TICKS) == 0)
		fprintf(out, "%sticks of %.4g ms; work that repeats with them is misjudged%s",
			s->warn, (double)c->tick_ns / 1e6, s->plain);
	else
		fputs(layout_clean(text, name), out);
	if (c->period_ns && strcmp(name, RECORDING_CLOCK_TICKS) != 0)
		fprintf(out, ", %.*f Hz", c->period_ns > 10000000 ? 1 : 0,
			1e9 / (double)c->period_ns);
	if (c->reason)
		fprintf(out, " (%s)", text_of_name(f, c->reason, text));
}

/* Which processes had this clock, if there are several. */
static void print_processes(const struct facts *f, const struct fact_clock *c, FILE *out)
{
	uint32_t count = 0;
	char text[LAYOUT_TEXT];

	for (uint32_t i = 0; i < f->clock_count; i++) {
		if (!is_like(&f->clocks[i], c))
			continue;
		if (count++ < NAMES_SHOWN)
			fprintf(out, "%s%s", count == 1 ? ": " : ", ",
				text_of_name(f, f->clocks[i].process, text));
	}
	if (count > NAMES_SHOWN)
		fprintf(out, ", ... and %u more", count - NAMES_SHOWN);
}

/* Work that ticks misjudge, by random looks. */
static void lines_of_misjudged(const struct facts *f, const struct text_style *s, FILE *out)
{
	char process[LAYOUT_TEXT], what[LAYOUT_TEXT];

	for (uint32_t i = 0; i < f->clock_count; i++) {
		const struct fact_clock *c = &f->clocks[i];

		if (!c->misjudged)
			continue;
		fprintf(out,
			"%-12s%ssamples of %s bunch at one phase of %s (chance %.1g): its share is "
			"misjudged, %.1f %% by ticks and %.1f %% by random looks%s\n",
			"", s->warn, text_of_name(f, c->process, process),
			text_of_name(f, c->misjudged, what), c->chance, 100 * c->tick_share,
			100 * c->look_share, s->plain);
	}
}

/* Threads that ticks misjudge, by the kernel's account. */
static void lines_of_met(const struct facts *f, const struct text_style *s, FILE *out)
{
	struct account_met met[NAMES_SHOWN];
	size_t count = account_met(f, met, NAMES_SHOWN);
	char clean[LAYOUT_TEXT];

	for (size_t i = 0; i < count; i++) {
		int is_one = met[i].thread != 0;
		const char *name =
			is_one ? facts_thread(f, met[i].thread) : facts_name(f, met[i].process);

		fprintf(out,
			"%-12s%s%s%s %s met by %.0f %% of the ticks due to %s: %s share is "
			"misjudged%s\n",
			"", s->warn, is_one ? "" : "brief threads of ", layout_clean(clean, name),
			is_one ? "was" : "were", 100 * met[i].part, is_one ? "it" : "them",
			is_one ? "its" : "their", s->plain);
	}
}

static void line_of_clocks(const struct facts *f, const struct text_style *s, FILE *out)
{
	uint32_t kinds = 0;
	const char *title = "clock";

	for (uint32_t i = 0; i < f->clock_count; i++)
		kinds += (uint32_t)is_first_of_kind(f, i);
	for (uint32_t i = 0; i < f->clock_count; i++) {
		if (!is_first_of_kind(f, i))
			continue;
		fprintf(out, "%-12s", title);
		print_clock(f, &f->clocks[i], s, out);
		if (kinds > 1)
			print_processes(f, &f->clocks[i], out);
		fputc('\n', out);
		title = "";
	}
	lines_of_misjudged(f, s, out);
	lines_of_met(f, s, out);
}

/* ---- the account */

static void print_gaps(const struct facts *f, FILE *out)
{
	const struct fact_cpu *row[NAMES_SHOWN];
	size_t count = account_rows(f, ACCOUNT_GAPS, row, NAMES_SHOWN);
	char name[LAYOUT_TEXT], clean[LAYOUT_TEXT], seen[LAYOUT_NUMBER], used[LAYOUT_NUMBER];

	for (size_t i = 0; i < count; i++)
		fprintf(out, "%-12s%s: seen %s of %s\n", "",
			layout_clean(clean, account_name(f, row[i], name, sizeof(name))),
			layout_time(seen, row[i]->seen_ns > 0 ? (uint64_t)row[i]->seen_ns : 0),
			layout_time(used, row[i]->used_ns > 0 ? (uint64_t)row[i]->used_ns : 0));
}

static void print_silent(const struct facts *f, const struct account *a, FILE *out)
{
	const struct fact_cpu *row[NAMES_SHOWN];
	size_t count = account_rows(f, ACCOUNT_SILENT, row, NAMES_SHOWN);
	char name[LAYOUT_TEXT], clean[LAYOUT_TEXT], used[LAYOUT_NUMBER];

	fprintf(out, "%-12s%u thread%s used %s and %s no sample", "", a->silent,
		a->silent == 1 ? "" : "s", layout_time(used, (uint64_t)a->silent_ns),
		a->silent == 1 ? "has" : "have");
	for (size_t i = 0; i < count; i++)
		fprintf(out, "%s%s", i ? ", " : ": ",
			layout_clean(clean, account_name(f, row[i], name, sizeof(name))));
	fputs(a->silent > count ? ", ...\n" : "\n", out);
}

/* Hundreds of short programs: each has such time of its own. */
static void print_outside(const struct account *a, FILE *out)
{
	char used[LAYOUT_NUMBER];

	fprintf(out,
		"%-12s%u processes used %s before their threads could be met and after: exec, "
		"loading, exit\n",
		"", a->outside, layout_time(used, (uint64_t)a->outside_ns));
}

static void line_of_account(const struct facts *f, const struct text_style *s, FILE *out)
{
	struct account a;
	char seen[LAYOUT_NUMBER], used[LAYOUT_NUMBER];

	if (!account_read(f, &a) || a.used_ns <= 0)
		return;
	fprintf(out, "%s%-12sseen %s of %s used (%.1f %%", a.within ? "" : s->warn, "account",
		layout_time(seen, a.seen_ns > 0 ? (uint64_t)a.seen_ns : 0),
		layout_time(used, (uint64_t)a.used_ns),
		100 * (double)a.seen_ns / (double)a.used_ns);
	if (a.error_ns > 0)
		fprintf(out, "; " LAYOUT_PLUS_MINUS "%.1f expected",
			100 * a.error_ns / (double)a.used_ns);
	fputc(')', out);
	if (!a.within)
		fprintf(out, ": off by %.0f standard errors, which is not chance", fabs(a.off));
	fprintf(out, "%s\n", a.within ? "" : s->plain);
	if (!a.within)
		print_gaps(f, out);
	if (!a.within && a.off < 0 && a.outside > NAMES_SHOWN)
		print_outside(&a, out);
	if (a.silent)
		print_silent(f, &a, out);
}

/* Threads whose times do not add up, if there are any. */
static void line_of_thread_times(const struct facts *f, const struct text_style *s, FILE *out)
{
	const struct fact_time *row[NAMES_SHOWN];
	char clean[LAYOUT_TEXT];
	struct times_sum sum;
	size_t count;

	times_read(f, &sum);
	if (!sum.off)
		return;
	fprintf(out, "%s%-12s%u of %u threads: running, waiting and blocked do not add up%s",
		s->warn, "time", sum.off, sum.judged, s->plain);
	count = times_rows(f, row, sum.off < NAMES_SHOWN ? sum.off : NAMES_SHOWN);
	for (size_t i = 0; i < count; i++)
		fprintf(out, "%s%s", i ? ", " : ": ",
			text_of_name(f, model_thread_at(f->model, row[i]->thread)->key, clean));
	fputs(sum.off > count ? ", ...\n" : "\n", out);
}

void text_account(const struct facts *f, const struct text_style *s, FILE *out)
{
	line_of_clocks(f, s, out);
	line_of_account(f, s, out);
	line_of_thread_times(f, s, out);
}
