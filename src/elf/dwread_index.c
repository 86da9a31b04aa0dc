/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which unit has code at an address: from the first entries of all units, not from
 * .debug_aranges, which clang does not write and which others leave incomplete.
 */
#include "elf/dwread.h"

#include <errno.h>
#include <stdlib.h>

/* Ranges that begin before an address and do not reach it: how many to look past. */
#define NESTED_MAX 256

struct covered {
	uint64_t start, end;
	uint64_t reach; /* highest end of this and all before */
	struct dwread_unit *unit;
};

struct filler {
	struct dwread *reader;
	struct dwread_unit *unit;
};

static int put_covered(void *arg, const struct dwread_range *range)
{
	const struct filler *f = arg;
	struct covered c = {range->start, range->end, 0, f->unit};

	return dwread_append(f->reader, &f->reader->index, &c, sizeof(c));
}

static int compare_covered(const void *a, const void *b)
{
	const struct covered *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return x->unit < y->unit ? -1 : x->unit > y->unit;
}

int dwread_index_build(struct dwread *r)
{
	struct covered *all;
	uint64_t reach = 0;
	size_t count;
	int err = 0;

	for (size_t i = 0; i < r->main->unit_count && !err; i++) {
		struct dwread_unit *u = &r->main->units[i];
		struct filler f = {r, u};

		if (u->type == DW_UT_type || dwread_unit_load(u) != 0)
			continue;
		err = dwread_ranges(u, &u->low, &u->high, &u->ranges, put_covered, &f);
	}
	all = (void *)r->index.data;
	count = r->index.size / sizeof(*all);
	if (count)
		qsort(all, count, sizeof(*all), compare_covered);
	for (size_t i = 0; i < count; i++) {
		if (all[i].end > reach)
			reach = all[i].end;
		all[i].reach = reach;
	}
	return err;
}

struct dwread_unit *dwread_index_find(struct dwread *r, uint64_t address, unsigned int nth)
{
	const struct covered *all = (const void *)r->index.data;
	size_t low = 0, high = r->index.size / sizeof(*all);

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (all[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	for (size_t i = 0; i < NESTED_MAX && low > 0; i++) {
		const struct covered *c = &all[--low];

		if (c->end > address && nth-- == 0)
			return c->unit;
		if (c->reach <= address)
			break;
	}
	return NULL;
}
