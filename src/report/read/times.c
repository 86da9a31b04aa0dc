/* SPDX-License-Identifier: Apache-2.0 */
#include "report/read/times.h"

#include "base/recording.h"
#include "report/read/types.h"

#include <math.h>
#include <string.h>

enum fact_place times_place(const char *state)
{
	if (strcmp(state, "runnable") == 0)
		return FACT_RUNNING;
	return strcmp(state, "waiting_for_cpu") == 0 ? FACT_WAITING : FACT_BLOCKED;
}

static double times_sum_of(const int64_t ns[FACT_PLACES])
{
	double sum = 0;

	for (int i = 0; i < FACT_PLACES; i++)
		sum += ns[i] > 0 ? (double)ns[i] : 0;
	return sum;
}

/* What its samples are to add up to in each state. Returns the state that it was in most. */
static int find_targets(const struct fact_time *t, uint64_t period_ns, double target[FACT_PLACES])
{
	int largest = 0;

	for (int i = 0; i < FACT_PLACES; i++) {
		int is_sure = t->due_ns[i] >= (int64_t)(RECORDING_TIME_PERIODS * period_ns);

		target[i] =
			t->seen_ns[i] > 0 ? (double)(is_sure ? t->due_ns[i] : t->seen_ns[i]) : 0;
		if (t->due_ns[i] > t->due_ns[largest])
			largest = i;
	}
	return largest;
}

void times_of_thread(const struct fact_time *t, uint64_t period_ns, struct times *out)
{
	double passed = times_sum_of(t->due_ns), target[FACT_PLACES], rest;
	int largest = find_targets(t, period_ns, target);

	*out = (struct times){.factor = {1, 1, 1}};
	if (!period_ns || passed < (double)RECORDING_TIME_LIFE_NS)
		return;
	out->is_judged = 1;
	rest = passed - (target[0] + target[1] + target[2] - target[largest]);
	if (t->seen_ns[largest] > 0 && rest > 0)
		target[largest] = rest;
	for (int i = 0; i < FACT_PLACES; i++) {
		out->told_ns += target[i];
		if (t->seen_ns[i] > 0)
			out->factor[i] = target[i] / (double)t->seen_ns[i];
	}
}

double times_factor(struct times_weigher *w, const struct facts *f, uint32_t thread,
		    const char *state, uint64_t period_ns)
{
	const struct fact_time *t;

	if (thread != w->thread) {
		t = facts_time_of(f, thread);
		w->times = (struct times){.factor = {1, 1, 1}};
		if (t)
			times_of_thread(t, period_ns, &w->times);
		w->thread = thread;
	}
	return w->times.factor[times_place(state)];
}

uint64_t times_period(const struct facts *f)
{
	for (uint32_t i = 0; i < f->type_count; i++) {
		const struct sample_type *t = sample_type_find(facts_name(f, f->types[i].name));

		if (t && t->has_states && f->types[i].period_ns)
			return f->types[i].period_ns;
	}
	return 0;
}

static double part_off(const struct fact_time *t, const struct times *k)
{
	return fabs(k->told_ns / times_sum_of(t->due_ns) - 1);
}

void times_read(const struct facts *f, struct times_sum *out)
{
	uint64_t period_ns = times_period(f);
	struct times k;

	*out = (struct times_sum){.judged = 0};
	for (uint32_t i = 0; i < f->time_count; i++) {
		times_of_thread(&f->times[i], period_ns, &k);
		if (!k.is_judged)
			continue;
		out->judged++;
		out->off += part_off(&f->times[i], &k) > TIMES_CLOSE;
		out->passed_ns =
			facts_added(out->passed_ns, (int64_t)times_sum_of(f->times[i].due_ns));
		out->told_ns += k.told_ns;
	}
}

size_t times_rows(const struct facts *f, const struct fact_time **out, size_t room)
{
	uint64_t period_ns = times_period(f);
	double off[TIMES_ROWS_MAX];
	struct times k;
	size_t count = 0, at;

	room = room < TIMES_ROWS_MAX ? room : TIMES_ROWS_MAX;
	for (uint32_t i = 0; i < f->time_count && room; i++) {
		double part;

		times_of_thread(&f->times[i], period_ns, &k);
		part = k.is_judged ? part_off(&f->times[i], &k) : 0;
		if (!k.is_judged || (count == room && part <= off[room - 1]))
			continue;
		count += count < room;
		for (at = count - 1; at && off[at - 1] < part; at--) {
			off[at] = off[at - 1];
			out[at] = out[at - 1];
		}
		off[at] = part;
		out[at] = &f->times[i];
	}
	return count;
}
