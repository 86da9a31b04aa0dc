/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/coro/coro_top.h"

#include "base/array.h"
#include "report/show/layout.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const top_sorts[] = {"for", "run", "wait", "switches", "id", NULL};

enum top_sort top_sort_of(const char *name)
{
	enum top_sort sort = TOP_BY_FOR;

	while (sort < TOP_BY_ID && strcmp(top_sorts[sort], name) != 0)
		sort++;
	return sort;
}

/* ---- looking */

static struct top_before *before_of(struct top *t, uint32_t station)
{
	size_t had = t->before_room;
	struct top_before *grown;

	if (station < had)
		return &t->before[station];
	grown = array_grown(t->before, (size_t)station + 1, &t->before_room, sizeof(*grown));
	if (!grown)
		return NULL;
	t->before = grown;
	memset(&grown[had], 0, (t->before_room - had) * sizeof(*grown));
	return &grown[station];
}

/* What it did since the last look, up to now in a run or wait that goes on. */
static void since_before(struct top *t, const struct coro_state *s, struct top_row *row)
{
	struct top_before *b = before_of(t, s->station);
	struct top_before now = {s->generation, s->totals.run_ns, s->totals.wait_ns,
				 s->totals.resumes};

	if (!b) {
		t->error = -ENOMEM;
		return;
	}
	if (s->state == WEFT_CTP_RUNNING)
		now.run_ns += row->for_ns;
	else
		now.wait_ns += row->for_ns;
	if (b->generation != now.generation)
		*b = (struct top_before){.generation = now.generation};
	row->run_ns = now.run_ns > b->run_ns ? now.run_ns - b->run_ns : 0;
	row->wait_ns = now.wait_ns > b->wait_ns ? now.wait_ns - b->wait_ns : 0;
	row->switches = now.resumes > b->resumes ? now.resumes - b->resumes : 0;
	*b = now;
}

static uint8_t lints_of(const struct top *t, const struct coro_state *s, uint64_t for_ns)
{
	if (s->state == WEFT_CTP_SUSPENDED && for_ns > t->stuck_ns)
		return s->last_wake_ns > s->since_ns ? TOP_STARVED : TOP_STUCK;
	if (s->state == WEFT_CTP_RUNNING && for_ns > t->long_ns)
		return TOP_LONG;
	if (s->state == WEFT_CTP_READY && for_ns > t->long_ns)
		return TOP_STARVED;
	return s->state == WEFT_CTP_CREATED && for_ns > t->stuck_ns ? TOP_NEVER : 0;
}

static void coro_top_count(struct top *t, const struct top_row *row)
{
	for (unsigned int i = 0; i < TOP_LINTS; i++)
		t->linted[i] += row->lints >> i & 1;
	t->switches += row->switches;
	t->run_ns += row->run_ns;
}

static struct top_row coro_top_row_of(struct top *t, const struct coro_state *s)
{
	struct top_row row = {.probe_id = s->probe_id,
			      .for_ns = t->looked_ns > s->since_ns ? t->looked_ns - s->since_ns : 0,
			      .addr = s->addr,
			      .site = s->site,
			      .pid = s->pid,
			      .tid = s->tid,
			      .state = s->state,
			      .has_context = s->has_context,
			      .context = s->context};

	row.lints = lints_of(t, s, row.for_ns);
	since_before(t, s, &row);
	return row;
}

static const char *where_of(struct top *t, const struct top_row *row, char out[CORO_NAME_BYTES])
{
	return coro_source_name(&t->source, row->pid,
				row->state == WEFT_CTP_CREATED ? row->site : row->addr, out);
}

static int coro_top_is_wanted(struct top *t, const struct top_row *row)
{
	char line[TOP_LINE];

	if (t->only_lints && !row->lints)
		return 0;
	return !*t->filter || strstr(top_line(t, row, line), t->filter) != NULL;
}

static int coro_top_take(void *arg, const struct coro_state *s)
{
	struct top *t = arg;
	struct top_row row, *added;

	t->counts[s->state <= WEFT_CTP_LISTED ? s->state : 0]++;
	if (s->state == WEFT_CTP_DEAD)
		return 0;
	row = coro_top_row_of(t, s);
	coro_top_count(t, &row);
	if (t->error || !coro_top_is_wanted(t, &row))
		return t->error;
	added = array_add(&t->rows, &t->count, &t->room, sizeof(*added));
	if (!added)
		return -ENOMEM;
	*added = row;
	return 0;
}

/* ---- order */

static uint64_t coro_top_weight(const struct top_row *row, enum top_sort by)
{
	switch (by) {
	case TOP_BY_FOR:
		return row->for_ns;
	case TOP_BY_RUN:
		return row->run_ns;
	case TOP_BY_WAIT:
		return row->wait_ns;
	case TOP_BY_SWITCHES:
		return row->switches;
	default:
		return 0;
	}
}

/* Most first; of equal ones by id. */
static int coro_top_compare(const void *a, const void *b, void *arg)
{
	const struct top_row *x = a, *y = b;
	const struct top *t = arg;
	uint64_t more = coro_top_weight(x, t->sort), less = coro_top_weight(y, t->sort);

	if (more != less)
		return more > less ? -1 : 1;
	return x->probe_id < y->probe_id ? -1 : x->probe_id > y->probe_id;
}

uint64_t top_live(const struct top *t)
{
	return t->counts[WEFT_CTP_CREATED] + t->counts[WEFT_CTP_RUNNING] +
	       t->counts[WEFT_CTP_SUSPENDED] + t->counts[WEFT_CTP_READY];
}

int top_is_growing(const struct top *t)
{
	if (t->looks < TOP_HISTORY)
		return 0;
	for (unsigned int i = 1; i < TOP_HISTORY; i++)
		if (t->live[i] <= t->live[i - 1])
			return 0;
	return 1;
}

int top_look(struct top *t)
{
	uint64_t before = t->looked_ns;
	int rc;

	t->looked_ns = coro_source_now_ns(&t->source);
	t->period_ns = before && t->looked_ns > before ? t->looked_ns - before : 0;
	t->count = 0;
	t->switches = t->run_ns = 0;
	memset(t->counts, 0, sizeof(t->counts));
	memset(t->linted, 0, sizeof(t->linted));
	rc = coro_snapshot(&t->source.shm, coro_top_take, t);
	t->refused = coro_source_refused(&t->source);
	if (t->count)
		qsort_r(t->rows, t->count, sizeof(*t->rows), coro_top_compare, t);
	memmove(t->live, t->live + 1, sizeof(t->live) - sizeof(t->live[0]));
	t->live[TOP_HISTORY - 1] = top_live(t);
	t->looks++;
	return rc;
}

void top_free(struct top *t)
{
	free(t->rows);
	free(t->before);
	coro_source_close(&t->source);
}

/* ---- lines */

uint64_t top_per_second(const struct top *t, uint64_t n)
{
	return t->period_ns ? (uint64_t)((double)n * 1e9 / (double)t->period_ns) : 0;
}

const char *top_title(struct top *t, char line[TOP_LINE])
{
	snprintf(line, TOP_LINE, "weft coro top: %.350s%s, sorted by %s%s%s%s", t->source.path,
		 t->source.is_live ? "" : " (left over)", top_sorts[t->sort],
		 t->only_lints ? ", lints only" : "", *t->filter ? ", with " : "", t->filter);
	return line;
}

const char *top_sums(struct top *t, char line[TOP_LINE])
{
	char share[LAYOUT_NUMBER];

	snprintf(line, TOP_LINE,
		 "%llu live: %llu running, %llu suspended, %llu ready, %llu created; "
		 "%llu switches/s, %s of a CPU; %llu refused",
		 (unsigned long long)top_live(t), (unsigned long long)t->counts[WEFT_CTP_RUNNING],
		 (unsigned long long)t->counts[WEFT_CTP_SUSPENDED],
		 (unsigned long long)t->counts[WEFT_CTP_READY],
		 (unsigned long long)t->counts[WEFT_CTP_CREATED],
		 (unsigned long long)top_per_second(t, t->switches),
		 layout_share(share, t->run_ns, t->period_ns), (unsigned long long)t->refused);
	return line;
}

const char *top_warnings(struct top *t, char line[TOP_LINE])
{
	char stuck[LAYOUT_NUMBER], run[LAYOUT_NUMBER];

	snprintf(line, TOP_LINE,
		 "S %llu stuck, N %llu never resumed (%s); Y %llu not yielding, W %llu woken only "
		 "(%s)%s",
		 (unsigned long long)t->linted[0], (unsigned long long)t->linted[3],
		 layout_time(stuck, t->stuck_ns), (unsigned long long)t->linted[1],
		 (unsigned long long)t->linted[2], layout_time(run, t->long_ns),
		 top_is_growing(t) ? "; GROWING" : "");
	return line;
}

const char *top_heads(char line[TOP_LINE])
{
	snprintf(line, TOP_LINE, "%-5s %10s %16s %7s %6s %5s %-4s  %s", "STATE", "FOR", "ID", "TID",
		 "SW/S", "RUN%", "LINT", "WHERE  CONTEXT");
	return line;
}

static const char *short_state(uint8_t state)
{
	static const char *const texts[] = {[WEFT_CTP_CREATED] = "new",
					    [WEFT_CTP_RUNNING] = "run",
					    [WEFT_CTP_SUSPENDED] = "susp",
					    [WEFT_CTP_READY] = "ready"};

	return state && state <= WEFT_CTP_READY ? texts[state] : "dead";
}

const char *top_line(struct top *t, const struct top_row *row, char line[TOP_LINE])
{
	char time[LAYOUT_NUMBER], where[CORO_NAME_BYTES], context[CORO_CONTEXT_BYTES] = "";
	char clean[LAYOUT_TEXT], lints[TOP_LINTS + 1] = "";
	size_t n = 0;

	for (unsigned int i = 0; i < TOP_LINTS; i++)
		if (row->lints >> i & 1)
			lints[n++] = "SYWN"[i];
	if (row->has_context)
		coro_context_text(&row->context.prefix, &row->context, context);
	snprintf(line, TOP_LINE, "%-5s %10s %16llu %7u %6llu %5.1f %-4s  %s%s",
		 short_state(row->state), layout_time(time, row->for_ns),
		 (unsigned long long)row->probe_id, row->tid,
		 (unsigned long long)top_per_second(t, row->switches),
		 t->period_ns ? 100.0 * (double)row->run_ns / (double)t->period_ns : 0.0, lints,
		 layout_clean(clean, where_of(t, row, where)), *context ? "  " : "");
	n = strlen(line);
	snprintf(line + n, TOP_LINE - n, "%s", layout_clean(clean, context));
	return line;
}
