/* SPDX-License-Identifier: Apache-2.0 */
#include "report/read/account.h"

#include "base/recording.h"
#include "report/read/interval.h"
#include "report/read/types.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define MET_PROCESSES 64  /* at most: each costs a walk through all rows */
#define SILENT_PERIODS 20 /* of CPU time: one in 10^8 threads that used more has no sample */

/* Of a sample of CPU time; 0: not known. */
static double period_of(const struct facts *f, uint32_t process)
{
	const struct fact_clock *c = facts_clock_of(f, process);

	if (c && c->period_ns)
		return (double)c->period_ns;
	for (uint32_t i = 0; i < f->type_count; i++) {
		const char *name = facts_name(f, f->types[i].name);
		const struct sample_type *t = sample_type_find(name);

		if (t && t->clock == SAMPLE_CPU && f->types[i].period_ns)
			return (double)f->types[i].period_ns;
	}
	return 0;
}

/* What the rows of a process add up to. */
static struct fact_cpu account_cpu_of(const struct facts *f, uint32_t process)
{
	struct fact_cpu sum = {.process = process};

	for (uint32_t i = 0; i < f->cpu_count; i++) {
		if (f->cpus[i].process != process)
			continue;
		sum.seen_ns = facts_added(sum.seen_ns, f->cpus[i].seen_ns);
		sum.samples = facts_added(sum.samples, f->cpus[i].samples);
	}
	return sum;
}

int account_has_effects(const struct facts *f)
{
	for (uint32_t i = 0; i < f->clock_count; i++)
		if (f->clocks[i].period_ns && f->clocks[i].tick_ns > f->clocks[i].period_ns)
			return 1;
	return 0;
}

double account_effect(const struct facts *f, uint32_t process)
{
	const struct fact_clock *c = facts_clock_of(f, process);
	struct fact_cpu sum;
	double periods;

	if (!c || !c->period_ns || c->tick_ns <= c->period_ns)
		return 1;
	periods = (double)c->tick_ns / (double)c->period_ns;
	if (strcmp(facts_name(f, c->clock), RECORDING_CLOCK_TICKS) == 0)
		return interval_tick_effect(periods);
	sum = account_cpu_of(f, process);
	return interval_mixed_effect(periods, (double)sum.seen_ns / (double)c->period_ns,
				     (double)sum.samples);
}

/* The variance that a nanosecond of CPU time adds, kept for the process that was asked for last:
 * rows of one process mostly stand together. */
struct pace {
	const struct facts *f;
	uint32_t process;
	int known;
	double ns; /* period x effect; 0 = not known */
};

static double pace_of(struct pace *p, uint32_t process)
{
	if (!p->known || p->process != process)
		p->ns = period_of(p->f, process) * account_effect(p->f, process);
	p->known = 1;
	p->process = process;
	return p->ns;
}

static int is_silent(struct pace *p, const struct fact_cpu *row, int all)
{
	double pace = pace_of(p, row->process);

	return row->thread && row->used_ns > 0 && !row->samples && row->seen_ns <= 0 &&
	       (all || (pace > 0 && (double)row->used_ns > SILENT_PERIODS * pace));
}

int account_read(const struct facts *f, struct account *out)
{
	struct pace pace = {.f = f};
	double variance = 0;

	memset(out, 0, sizeof(*out));
	for (uint32_t i = 0; i < f->cpu_count; i++) {
		const struct fact_cpu *row = &f->cpus[i];

		out->used_ns = facts_added(out->used_ns, row->used_ns);
		out->seen_ns = facts_added(out->seen_ns, row->seen_ns);
		out->samples = facts_added(out->samples, row->samples);
		if (row->used_ns > 0)
			variance += pace_of(&pace, row->process) * (double)row->used_ns;
	}
	out->error_ns = sqrt(variance);
	if (out->error_ns > 0)
		out->off = ((double)out->seen_ns - (double)out->used_ns) / out->error_ns;
	out->within = fabs(out->off) <= ACCOUNT_SURE;
	for (uint32_t i = 0; i < f->cpu_count; i++) {
		if (!f->cpus[i].thread && f->cpus[i].used_ns > 0 && !f->cpus[i].samples) {
			out->outside++;
			out->outside_ns = facts_added(out->outside_ns, f->cpus[i].used_ns);
		}
		if (!is_silent(&pace, &f->cpus[i], !out->within))
			continue;
		out->silent++;
		out->silent_ns = facts_added(out->silent_ns, f->cpus[i].used_ns);
	}
	return f->cpu_count > 0;
}

static double gap(const struct fact_cpu *row)
{
	return fabs((double)row->used_ns - (double)row->seen_ns);
}

/* Is its gap in the direction in which the whole is off? */
static int is_amiss(const struct fact_cpu *row, const struct account *sum)
{
	if (sum->within)
		return row->used_ns != row->seen_ns;
	return sum->off < 0 ? row->used_ns > row->seen_ns : row->used_ns < row->seen_ns;
}

size_t account_rows(const struct facts *f, enum account_order order, const struct fact_cpu **out,
		    size_t room)
{
	struct pace pace = {.f = f};
	struct account sum;
	size_t count = 0;

	account_read(f, &sum);
	for (uint32_t i = 0; i < f->cpu_count && room; i++) {
		const struct fact_cpu *row = &f->cpus[i];
		size_t at;

		if (order == ACCOUNT_SILENT ? !is_silent(&pace, row, !sum.within)
					    : !is_amiss(row, &sum))
			continue;
		if (count == room && gap(row) <= gap(out[room - 1]))
			continue;
		count += count < room;
		for (at = count - 1; at && gap(out[at - 1]) < gap(row); at--)
			out[at] = out[at - 1];
		out[at] = row;
	}
	return count;
}

/* ---- by ticks */

/* 0: what is seen of @sum is as expected, or cannot be judged. */
static int is_met_otherwise(struct pace *p, const struct fact_cpu *sum, struct account_met *out)
{
	double used = (double)sum->used_ns, error = sqrt(pace_of(p, sum->process) * fmax(used, 0));

	if (used <= 0 || sum->seen_ns <= 0 || error <= 0)
		return 0;
	*out = (struct account_met){.process = sum->process,
				    .thread = sum->thread,
				    .part = (double)sum->seen_ns / used,
				    .off = ((double)sum->seen_ns - used) / error};
	return fabs(out->off) > ACCOUNT_MET_SURE && fabs(out->part - 1) > ACCOUNT_MET_PART;
}

static size_t put_met(struct account_met *out, size_t count, size_t room,
		      const struct account_met *one)
{
	size_t at;

	if (count == room && fabs(one->off) <= fabs(out[room - 1].off))
		return count;
	count += count < room;
	for (at = count - 1; at && fabs(out[at - 1].off) < fabs(one->off); at--)
		out[at] = out[at - 1];
	out[at] = *one;
	return count;
}

static int is_brief(const struct fact_cpu *row, const struct fact_clock *c)
{
	return !row->thread || row->used_ns < (int64_t)(ACCOUNT_MET_TICKS * c->tick_ns);
}

static size_t met_of_process(struct pace *p, const struct fact_clock *c, struct account_met *out,
			     size_t count, size_t room)
{
	struct fact_cpu brief = {.process = c->process};
	struct account_met one;

	for (uint32_t i = 0; i < p->f->cpu_count; i++) {
		const struct fact_cpu *row = &p->f->cpus[i];

		if (row->process != c->process)
			continue;
		if (is_brief(row, c)) {
			brief.used_ns = facts_added(brief.used_ns, row->used_ns);
			brief.seen_ns = facts_added(brief.seen_ns, row->seen_ns);
		} else if (is_met_otherwise(p, row, &one)) {
			count = put_met(out, count, room, &one);
		}
	}
	return is_met_otherwise(p, &brief, &one) ? put_met(out, count, room, &one) : count;
}

size_t account_met(const struct facts *f, struct account_met *out, size_t room)
{
	struct pace pace = {.f = f};
	size_t count = 0;

	for (uint32_t i = 0; i < f->clock_count && i < MET_PROCESSES && room; i++) {
		const struct fact_clock *c = &f->clocks[i];

		if (strcmp(facts_name(f, c->clock), RECORDING_CLOCK_TICKS) == 0 &&
		    c->tick_ns < UINT32_MAX)
			count = met_of_process(&pace, c, out, count, room);
	}
	return count;
}

const char *account_name(const struct facts *f, const struct fact_cpu *row, char *out, size_t room)
{
	if (row->thread)
		return facts_thread(f, row->thread);
	snprintf(out, room, "the rest of %s", facts_name(f, row->process));
	return out;
}
