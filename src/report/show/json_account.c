/* SPDX-License-Identifier: Apache-2.0 */
#include "report/show/json_account.h"

#include "report/read/account.h"
#include "report/read/interval.h"
#include "report/read/times.h"
#include "report/show/json_value.h"

#include <stdio.h>

#define GAPS_TOLD 10

json_t *json_clocks(const struct facts *f)
{
	json_t *all = json_array();

	for (uint32_t i = 0; i < f->clock_count; i++) {
		const struct fact_clock *c = &f->clocks[i];
		const char *misjudged = c->misjudged ? facts_name(f, c->misjudged) : NULL;
		const char *reason = c->reason ? facts_name(f, c->reason) : NULL;

		json_array_append_new(
			all, json_pack("{s:o,s:o,s:o,s:o,s:o,s:f,s:I,s:o,s:f,s:f,s:f,s:I,s:I}",
				       "process", json_text(facts_name(f, c->process)), "clock",
				       json_text(facts_name(f, c->clock)), "reason",
				       json_text(reason), "period_ns", json_number(c->period_ns),
				       "tick_ns", json_number(c->tick_ns), "design_effect",
				       account_effect(f, c->process), "looks", (json_int_t)c->looks,
				       "misjudged", json_text(misjudged), "tick_share",
				       c->tick_share, "look_share", c->look_share, "chance",
				       c->chance, "clocked_ns", (json_int_t)c->clocked_ns,
				       "ticked_ns", (json_int_t)c->ticked_ns));
	}
	return all;
}

static json_t *account_row(const struct facts *f, const struct fact_cpu *row)
{
	return json_pack("{s:o,s:o,s:I,s:I,s:I}", "thread", json_text(facts_thread(f, row->thread)),
			 "process", json_text(facts_name(f, row->process)), "used_ns",
			 (json_int_t)row->used_ns, "seen_ns", (json_int_t)row->seen_ns, "samples",
			 (json_int_t)row->samples);
}

static json_t *account_list(const struct facts *f, enum account_order order)
{
	const struct fact_cpu *row[GAPS_TOLD];
	size_t count = account_rows(f, order, row, GAPS_TOLD);
	json_t *all = json_array();

	for (size_t i = 0; i < count; i++)
		json_array_append_new(all, account_row(f, row[i]));
	return all;
}

/* Threads that ticks have met more or less often than was due. */
static json_t *met_list(const struct facts *f)
{
	struct account_met met[GAPS_TOLD];
	size_t count = account_met(f, met, GAPS_TOLD);
	json_t *all = json_array();

	for (size_t i = 0; i < count; i++) {
		json_array_append_new(
			all, json_pack("{s:o,s:o,s:f,s:f}", "thread",
				       json_text(facts_thread(f, met[i].thread)), "process",
				       json_text(facts_name(f, met[i].process)), "share",
				       met[i].part, "standard_errors_off", met[i].off));
	}
	return all;
}

json_t *json_account(const struct facts *f)
{
	struct account a;

	if (!account_read(f, &a))
		return json_object();
	return json_pack(
		"{s:I,s:I,s:I,s:o,s:f,s:f,s:b,s:o,s:o,s:{s:i,s:I,s:o},s:{s:i,s:I}}", "used_ns",
		(json_int_t)a.used_ns, "seen_ns", (json_int_t)a.seen_ns, "samples",
		(json_int_t)a.samples, "share",
		a.used_ns > 0 ? json_real((double)a.seen_ns / (double)a.used_ns) : json_null(),
		"standard_error_ns", a.error_ns, "standard_errors_off", a.off, "within", a.within,
		"largest_gaps", account_list(f, ACCOUNT_GAPS), "misjudged", met_list(f),
		"without_sample", "threads", (int)a.silent, "used_ns", (json_int_t)a.silent_ns,
		"rows", account_list(f, ACCOUNT_SILENT), "outside_threads", "processes",
		(int)a.outside, "used_ns", (json_int_t)a.outside_ns);
}

static json_t *three(const int64_t ns[FACT_PLACES])
{
	return json_pack("{s:I,s:I,s:I}", "running_ns", (json_int_t)ns[FACT_RUNNING], "waiting_ns",
			 (json_int_t)ns[FACT_WAITING], "blocked_ns", (json_int_t)ns[FACT_BLOCKED]);
}

static json_t *times_row(const struct facts *f, const struct fact_time *row)
{
	int64_t passed_ns =
		row->due_ns[FACT_RUNNING] + row->due_ns[FACT_WAITING] + row->due_ns[FACT_BLOCKED];
	struct times k;

	times_of_thread(row, times_period(f), &k);
	return json_pack("{s:o,s:o,s:I,s:o,s:o,s:I}", "thread",
			 json_text(facts_thread(f, row->thread)), "process",
			 json_text(facts_name(f, row->process)), "passed_ns", (json_int_t)passed_ns,
			 "kernel", three(row->due_ns), "samples", three(row->seen_ns), "told_ns",
			 (json_int_t)k.told_ns);
}

json_t *json_times(const struct facts *f)
{
	const struct fact_time *row[TIMES_ROWS_MAX];
	size_t count = times_rows(f, row, TIMES_ROWS_MAX);
	json_t *all = json_array();
	struct times_sum sum;

	for (size_t i = 0; i < count; i++)
		json_array_append_new(all, times_row(f, row[i]));
	times_read(f, &sum);
	return json_pack("{s:i,s:i,s:I,s:I,s:o}", "threads", (int)sum.judged, "off", (int)sum.off,
			 "passed_ns", (json_int_t)sum.passed_ns, "told_ns", (json_int_t)sum.told_ns,
			 "largest_gaps", all);
}

void json_set_share(json_t *o, const char *name, const struct amount *part,
		    const struct amount *whole, int is_sampled)
{
	char low[64], high[64];
	struct interval_ends i;
	int has = is_sampled && interval_share(&part->draws, &whole->draws, &i) == 0;

	snprintf(low, sizeof(low), "%s_low", name);
	snprintf(high, sizeof(high), "%s_high", name);
	json_object_set_new(o, name,
			    whole->draws.sum > 0 ? json_real(part->draws.sum / whole->draws.sum)
						 : json_null());
	json_object_set_new(o, low, has ? json_real(i.low) : json_null());
	json_object_set_new(o, high, has ? json_real(i.high) : json_null());
}
