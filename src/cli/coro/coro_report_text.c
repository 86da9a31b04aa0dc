/* SPDX-License-Identifier: Apache-2.0 */
/* A report on coroutines for people: what there is, tables, and what is wrong. */
#include "cli/coro/coro_report.h"

#include "cli/frame/term.h"
#include "coro/look/source.h"
#include "report/show/layout.h"

#include <stdlib.h>

#define LIST_LEAST 5

static unsigned long long number(uint64_t value)
{
	return (unsigned long long)value;
}

/* ---- groups */

const char *const coro_by_text[CORO_BYS] = {"all", "site", "thread", "label", "coroutine"};
const char *const coro_confidence_text[] = {"low", "medium", "high"};

static uint64_t coro_report_text_weight(const struct coro_group *g)
{
	uint64_t sum;

	return __builtin_add_overflow(g->run.sum_ns, g->wait.sum_ns, &sum) ? UINT64_MAX : sum;
}

static const struct coro_times *coro_report_text_times_of(const struct coro_group *g, int is_run)
{
	return is_run ? &g->run : &g->wait;
}

static int coro_report_text_most_first(const void *a, const void *b, void *is_run)
{
	const struct coro_group *x = a, *y = b;
	uint64_t more = coro_report_text_times_of(x, *(int *)is_run)->sum_ns;
	uint64_t less = coro_report_text_times_of(y, *(int *)is_run)->sum_ns;

	if (more != less)
		return more > less ? -1 : 1;
	return x->key < y->key ? -1 : x->key > y->key;
}

static int coro_report_text_heaviest_first(const void *a, const void *b)
{
	const struct coro_group *x = a, *y = b;

	if (coro_report_text_weight(x) != coro_report_text_weight(y))
		return coro_report_text_weight(x) > coro_report_text_weight(y) ? -1 : 1;
	if (x->waiting != y->waiting)
		return x->waiting > y->waiting ? -1 : 1;
	return x->key < y->key ? -1 : x->key > y->key;
}

struct coro_group *coro_groups_sorted(struct coro_groups *g)
{
	if (g->count)
		qsort(g->group, g->count, sizeof(*g->group), coro_report_text_heaviest_first);
	return g->group;
}

const char *coro_group_text(const struct coro_report_show *show, enum coro_by by,
			    const struct coro_group *g, char out[CORO_NAME_BYTES])
{
	if (by == CORO_BY_SITE && g->key)
		coro_names_text(show->names, g->pid, g->key, out);
	else if (by == CORO_BY_SITE)
		snprintf(out, CORO_NAME_BYTES, "(birth, or end)");
	else if (by == CORO_BY_LABEL)
		snprintf(out, CORO_NAME_BYTES, "%s", g->label ? g->label : "(none)");
	else if (by == CORO_BY_THREAD)
		snprintf(out, CORO_NAME_BYTES, "thread %llu", number(g->key));
	else
		snprintf(out, CORO_NAME_BYTES, "%llu", number(g->key));
	return out;
}

/* ---- what there is */

static void print_untold(const struct coro_report *r, FILE *out)
{
	uint64_t sum = coro_report_untold(r);
	const char *between = ": ";

	if (!sum) {
		fprintf(out, "%14severy run and wait is in the recording\n", "");
		return;
	}
	fprintf(out, "%14s%s%llu runs and waits are not in the recording%s", "",
		term_colour(out, TERM_YELLOW), number(sum), term_colour(out, TERM_PLAIN));
	for (int i = 0; i < CORO_UNTOLD; i++) {
		if (!r->untold[i])
			continue;
		fprintf(out, "%s%s %llu", between, coro_untold_names[i], number(r->untold[i]));
		between = ", ";
	}
	fprintf(out, "%s\n", r->untold[0] ? " (weft record --ring makes more room)" : "");
}

static void coro_report_text_print_head(const struct coro_report *r,
					const struct coro_report_show *show, FILE *out)
{
	char time[LAYOUT_NUMBER];

	fputs(term_colour(out, TERM_BOLD), out);
	layout_name(out, show->path, 0);
	fprintf(out, "%s: %s, %llu coroutines, %s\n", term_colour(out, TERM_PLAIN), show->kind,
		number(r->coroutines), layout_time(time, r->last_ns - r->first_ns));
	fprintf(out, "%-14s%llu running, %llu suspended", "now", number(r->running),
		number(r->suspended));
	if (r->is_file)
		fprintf(out, ", %llu ready, %llu created", number(r->ready), number(r->created));
	fprintf(out, ", %llu ended%s\n", number(r->dead),
		r->knows_deaths ? "" : " (the trace tells no deaths)");
	fprintf(out, "%-14s%llu%s on %llu threads", "events", number(r->events),
		r->is_file ? " (the last of each coroutine)" : "", number(r->threads));
	if (r->processes)
		fprintf(out, " of %llu %s", number(r->processes),
			r->processes == 1 ? "process" : "processes");
	fprintf(out, "\n%-14s", "lost");
	if (r->lost || r->gaps)
		fprintf(out, "%s%llu events in %llu gaps%s (times across a gap are left out)\n",
			term_colour(out, TERM_YELLOW), number(r->lost), number(r->gaps),
			term_colour(out, TERM_PLAIN));
	else
		fprintf(out, "none between events that are there\n");
	if (r->is_recording)
		print_untold(r, out);
	if (r->legacy)
		fprintf(out, "%-14s%llu coroutines of other probes: no totals, no labels\n", "",
			number(r->legacy));
}

/* ---- tables */

static void coro_report_text_print_row(const struct coro_report_show *show,
				       const struct coro_times *t, const char *name, FILE *out)
{
	static const unsigned int permilles[] = {500, 900, 990, 1000};
	char time[LAYOUT_NUMBER];
	int used = fprintf(out, "%9llu %10s", number(t->count), layout_time(time, t->sum_ns));

	for (unsigned int i = 0; i < 4; i++)
		used += fprintf(out, " %10s",
				layout_time(time, coro_times_quantile(t, permilles[i])));
	used += fprintf(out, "  ");
	layout_name(out, name, show->columns ? show->columns - used : 0);
	fputc('\n', out);
}

static void coro_report_text_print_heads(const char *title, FILE *out)
{
	fprintf(out, "\n%s%s%s\n", term_colour(out, TERM_BOLD), title,
		term_colour(out, TERM_PLAIN));
	fprintf(out, "%s%9s %10s %10s %10s %10s %10s%s\n", term_colour(out, TERM_DIM), "count",
		"total", "p50", "p90", "p99", "max", term_colour(out, TERM_PLAIN));
}

static void print_table(struct coro_report *r, const struct coro_report_show *show, enum coro_by by,
			int is_run, FILE *out)
{
	struct coro_group *g = r->groups[by].group;
	char title[128], name[CORO_NAME_BYTES];
	uint64_t shown = 0, more = 0;

	snprintf(title, sizeof(title), "%s by %s%s%.80s", is_run ? "runs" : "waits",
		 by == CORO_BY_SITE ? (is_run ? "site that ended them" : "site that began them")
				    : coro_by_text[by],
		 by == CORO_BY_LABEL ? ":" : "", by == CORO_BY_LABEL ? r->query.label : "");
	coro_report_text_print_heads(title, out);
	if (g)
		qsort_r(g, r->groups[by].count, sizeof(*g), coro_report_text_most_first, &is_run);
	for (size_t i = 0; i < r->groups[by].count; i++) {
		const struct coro_times *t = coro_report_text_times_of(&g[i], is_run);

		if (t->count && show->top && shown == show->top)
			more++;
		else if (t->count)
			coro_report_text_print_row(show, t, coro_group_text(show, by, &g[i], name),
						   out);
		shown += t->count && !more;
	}
	if (more)
		fprintf(out, "%s... and %llu more (--top 0)%s\n", term_colour(out, TERM_DIM),
			number(more), term_colour(out, TERM_PLAIN));
}

static void coro_report_text_print_all(struct coro_report *r, const struct coro_report_show *show,
				       FILE *out)
{
	struct coro_groups *all = &r->groups[CORO_BY_ALL];

	if (!all->count)
		return;
	coro_report_text_print_heads(r->is_file ? "all (within a factor of two)" : "all", out);
	coro_report_text_print_row(show, &all->group[0].run, "runs", out);
	coro_report_text_print_row(show, &all->group[0].wait, "waits", out);
}

static void print_imbalance(struct coro_report *r, FILE *out)
{
	struct coro_groups *g = &r->groups[CORO_BY_THREAD];
	uint64_t sum = 0, most = 0;
	const struct coro_group *busiest = NULL;
	char share[LAYOUT_NUMBER];

	for (size_t i = 0; i < g->count; i++) {
		sum += g->group[i].run.sum_ns;
		if (g->group[i].run.sum_ns > most) {
			most = g->group[i].run.sum_ns;
			busiest = &g->group[i];
		}
	}
	if (!busiest)
		return;
	fprintf(out, "\n%-14sthread %llu ran %s of the time, %.2f of an even share (%zu threads)\n",
		"balance", number(busiest->key), layout_share(share, most, sum),
		(double)most * (double)g->count / (double)sum, g->count);
}

/* ---- what is wrong */

static void print_suspects(const struct coro_report_show *show, const struct coro_suspects *list,
			   void (*print_one)(const struct coro_report_show *show,
					     const struct coro_suspect *s, FILE *out),
			   FILE *out)
{
	uint64_t most = show->top && show->top < LIST_LEAST ? LIST_LEAST : show->top;
	uint64_t shown = most && list->count > most ? most : list->count;

	for (uint64_t i = 0; i < shown; i++)
		print_one(show, &list->suspect[i], out);
	if (list->count > shown)
		fprintf(out, "%14s%s... and %llu more (--top 0)%s\n", "",
			term_colour(out, TERM_DIM), number(list->count - shown),
			term_colour(out, TERM_PLAIN));
}

/* What an address is called, behind @before. */
static void coro_report_text_put_place(const struct coro_report_show *show, const char *before,
				       uint32_t pid, uint64_t address, FILE *out)
{
	char name[CORO_NAME_BYTES];

	fputs(before, out);
	layout_name(out, coro_names_text(show->names, pid, address, name), 0);
}

/* Behind a word of so many columns. */
static void print_who(int columns, const char *word, const struct coro_suspect *s, FILE *out)
{
	fprintf(out, "%-*scoroutine %llu", columns, word, number(s->probe_id));
	if (s->pid)
		fprintf(out, " of process %u", s->pid);
}

static void print_context(const struct coro_report_show *show, const struct coro_suspect *s,
			  FILE *out)
{
	char text[CORO_CONTEXT_BYTES];

	if (!s->has_context || !*coro_context_text(&s->context, s->station_context, text))
		return;
	fprintf(out, "%14s", "");
	layout_name(out, text, show->columns ? show->columns - 14 : 0);
	fputc('\n', out);
}

static void print_origin(const struct coro_report_show *show, const struct coro_suspect *s,
			 FILE *out)
{
	if (!s->site && !s->parent_id)
		return;
	fprintf(out, "%14screated", "");
	if (s->site)
		coro_report_text_put_place(show, " at ", s->pid, s->site, out);
	if (s->parent_id)
		fprintf(out, " by coroutine %llu", number(s->parent_id));
	fputc('\n', out);
}

static void print_history(const struct coro_suspect *s, FILE *out)
{
	char time[LAYOUT_NUMBER];

	fprintf(out, "%14slast on thread %llu; resumed %llux, longest wait before %s", "",
		number(s->tid), number(s->resumes), layout_time(time, s->max_wait_ns));
	if (s->last_wake_ns && s->last_wake_ns <= s->since_ns)
		fprintf(out, "; last woken %s before it suspended",
			layout_time(time, s->since_ns - s->last_wake_ns));
	else if (s->last_wake_ns)
		fprintf(out, "; woken %s after it suspended",
			layout_time(time, s->last_wake_ns - s->since_ns));
	fputc('\n', out);
}

static void print_stuck_one(const struct coro_report_show *show, const struct coro_suspect *s,
			    FILE *out)
{
	char time[LAYOUT_NUMBER];

	fputs("  ", out);
	print_who(10, s->reason_count ? coro_confidence_text[s->confidence] : "", s, out);
	fprintf(out, ": for %s", layout_time(time, s->for_ns));
	coro_report_text_put_place(show, " at ", s->pid, s->addr, out);
	fputc('\n', out);
	print_history(s, out);
	print_origin(show, s, out);
	print_context(show, s, out);
	for (unsigned int i = 0; i < s->reason_count; i++)
		fprintf(out, "%14s%s%s%s\n", "", term_colour(out, TERM_DIM), s->reason[i],
			term_colour(out, TERM_PLAIN));
}

static void print_stuck(const struct coro_report *r, const struct coro_report_show *show, FILE *out)
{
	const struct coro_suspects *stuck = &r->found[CORO_STUCK], *woken = &r->found[CORO_WOKEN];
	char time[LAYOUT_NUMBER];

	if (!r->query.stuck_ns)
		return;
	fprintf(out, "%-14s%s%zu suspended longer than %s, not resumed and not woken since%s\n",
		"stuck", term_colour(out, stuck->count ? TERM_YELLOW : TERM_PLAIN), stuck->count,
		layout_time(time, r->query.stuck_ns), term_colour(out, TERM_PLAIN));
	print_suspects(show, stuck, print_stuck_one, out);
	if (!woken->count)
		return;
	fprintf(out, "%-14s%zu suspended as long, but woken since: they wait for their scheduler\n",
		"woken", woken->count);
	print_suspects(show, woken, print_stuck_one, out);
}

static void print_never_one(const struct coro_report_show *show, const struct coro_suspect *s,
			    FILE *out)
{
	char time[LAYOUT_NUMBER];

	print_who(14, "", s, out);
	fprintf(out, ": for %s", layout_time(time, s->for_ns));
	if (s->addr || s->site)
		coro_report_text_put_place(show, s->addr ? ", at " : ", created at ", s->pid,
					   s->addr ? s->addr : s->site, out);
	fputc('\n', out);
}

static void print_long_run(const struct coro_report_show *show, const struct coro_suspect *s,
			   FILE *out)
{
	char time[LAYOUT_NUMBER];

	print_who(14, "", s, out);
	fprintf(out, ": %s on thread %llu", layout_time(time, s->for_ns), number(s->tid));
	coro_report_text_put_place(show, s->is_open ? ", still running, since " : ", until ",
				   s->pid, s->addr, out);
	fputc('\n', out);
}

static void print_moves(const struct coro_report_show *show, const struct coro_suspect *s,
			FILE *out)
{
	(void)show;
	print_who(14, "", s, out);
	fprintf(out, ": %llu moves, %llu of them back to where it came from\n", number(s->moves),
		number(s->returns));
}

static void print_findings(const struct coro_report *r, const struct coro_report_show *show,
			   FILE *out)
{
	const struct coro_suspects *found = r->found;
	char time[LAYOUT_NUMBER];

	fprintf(out, "%-14s%zu never resumed\n", "not begun", found[CORO_NEVER_RESUMED].count);
	print_suspects(show, &found[CORO_NEVER_RESUMED], print_never_one, out);
	fprintf(out, "%-14s%zu runs of %s and more\n", "not yielding",
		found[CORO_NOT_YIELDING].count, layout_time(time, r->query.long_run_ns));
	print_suspects(show, &found[CORO_NOT_YIELDING], print_long_run, out);
	fprintf(out, "%-14s%zu went back and forth between threads%s\n", "ping-pong",
		found[CORO_PING_PONG].count, r->is_file ? " in their last events" : "");
	print_suspects(show, &found[CORO_PING_PONG], print_moves, out);
}

static void print_growth(const struct coro_report *r, FILE *out)
{
	const struct coro_leak *l = &r->leak;

	fprintf(out, "%-14s", "growth");
	if (!l->is_judged) {
		fprintf(out, "not judged (%s)\n", l->why_not ? l->why_not : "no coroutines");
		return;
	}
	fprintf(out,
		"%s%s%s: at least %llu, %llu, %llu, %llu live in the fifths of the trace but the "
		"first; "
		"%llu seen, %llu ended\n",
		term_colour(out, l->is_growing ? TERM_YELLOW : TERM_PLAIN),
		l->is_growing ? "coroutines may leak (or were destroyed while suspended, which "
				"a trace does not tell)"
			      : "none",
		term_colour(out, TERM_PLAIN), number(l->least[0]), number(l->least[1]),
		number(l->least[2]), number(l->least[3]), number(l->born), number(l->ended));
}

void coro_report_text(struct coro_report *r, const struct coro_report_show *show, FILE *out)
{
	coro_report_text_print_head(r, show, out);
	if (show->findings)
		coro_report_text_print_all(r, show, out);
	for (unsigned int by = CORO_BY_SITE; by < CORO_BYS; by++) {
		if (!(show->by & 1u << by))
			continue;
		print_table(r, show, by, 0, out);
		print_table(r, show, by, 1, out);
		if (by == CORO_BY_THREAD)
			print_imbalance(r, out);
	}
	fputc('\n', out);
	print_stuck(r, show, out);
	if (!show->findings)
		return;
	print_findings(r, show, out);
	print_growth(r, out);
}
