/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/coro/coro_top_text.h"

#include "base/text/visible.h"
#include "report/show/layout.h"

#include <stdio.h>
#include <string.h>

const char *top_title(struct top *t, char line[TOP_LINE])
{
	char path[350];

	snprintf(line, TOP_LINE, "weft coro top: %s%s, sorted by %s%s%s%s",
		 visible_text(path, sizeof(path), t->source.path),
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

static const char *where_of(struct top *t, const struct top_row *row, char out[CORO_NAME_BYTES])
{
	return coro_source_name(&t->source, row->pid,
				row->state == WEFT_CTP_CREATED ? row->site : row->addr, out);
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

int top_has_text(struct top *t, const struct top_row *row, const char *text)
{
	char line[TOP_LINE];

	return strstr(top_line(t, row, line), text) != NULL;
}
