/* SPDX-License-Identifier: Apache-2.0 */
/* See tally.h. */
#include "report/sum/tally.h"

#include "base/map.h"
#include "report/read/rows.h"

#include <stdlib.h>
#include <string.h>

void tally_free(struct tally *t)
{
	for (uint32_t i = 0; i < t->count; i++)
		histogram_free(&t->row[i].times);
	free(t->row);
	map_free(t->index);
	memset(t, 0, sizeof(*t));
}

struct tally_row *tally_row(struct tally *t, const uint32_t name[TALLY_NAMES])
{
	uint32_t number = rows_put(&t->index, name, TALLY_NAMES * sizeof(*name), &t->row, &t->count,
				   &t->room, sizeof(*t->row));
	struct tally_row *r = number ? &t->row[number - 1] : NULL;

	if (r)
		memcpy(r->name, name, sizeof(r->name));
	t->failed |= !r;
	return r;
}

int tally_once(struct tally_row *r, uint64_t event)
{
	if (r->last == event)
		return 0;
	r->last = event;
	return 1;
}

void tally_time(struct tally *t, struct tally_row *r, uint64_t ns)
{
	r->value[MEASURE_COUNT]++;
	r->value[MEASURE_TIME] += ns;
	t->failed |= histogram_add(&r->times, ns) != 0;
}

void tally_sample(uint64_t value[MEASURES], struct draws drawn[TALLY_DRAWN], const struct sample *s)
{
	if (s->kinds & SAMPLE_WAITED) {
		value[MEASURE_WAITS]++;
		value[MEASURE_WAITED] += s->weight_ns;
	} else if (!(s->kinds & SAMPLE_COUNTED)) {
		return;
	} else if (s->kinds & SAMPLE_BY_CLOCK) {
		value[MEASURE_WALL_SAMPLES] += s->times;
		value[MEASURE_WALL] += s->weight_ns;
	} else if (s->kinds & SAMPLE_ON_CPU) {
		value[MEASURE_SAMPLES] += s->times;
		value[MEASURE_CPU] += s->weight_ns;
		draws_add(&drawn[DRAWN_CPU], &s->draws);
	}
}

int tally_ends(const struct tally *t, const struct tally_row *r, enum measure of,
	       struct interval_ends *out)
{
	static const struct draws none;
	int drawn = of == MEASURE_SELF || of == MEASURE_SELF_SAMPLES ? DRAWN_SELF
		    : of == MEASURE_CPU || of == MEASURE_SAMPLES     ? DRAWN_CPU
								     : TALLY_DRAWN;

	if (!t->has_errors || drawn == TALLY_DRAWN)
		return -1;
	return interval_share(r ? &r->drawn[drawn] : &none, &t->drawn[drawn], out);
}

struct order {
	const struct model *m;
	const enum measure *by;
};

static int tally_row_order(const void *left, const void *right, void *arg)
{
	const struct tally_row *a = left, *b = right;
	const struct order *o = arg;
	int by = 0;

	for (int i = 0; i < TALLY_ORDER && !by; i++)
		by = (b->value[o->by[i]] > a->value[o->by[i]]) -
		     (b->value[o->by[i]] < a->value[o->by[i]]);
	for (int i = 0; i < TALLY_NAMES && !by; i++)
		by = strcmp(names_text(&o->m->names, a->name[i]),
			    names_text(&o->m->names, b->name[i]));
	return by;
}

void tally_sort(struct tally *t, const struct model *m, const enum measure by[TALLY_ORDER])
{
	struct order o = {m, by};

	if (t->count)
		qsort_r(t->row, t->count, sizeof(*t->row), tally_row_order, &o);
}
