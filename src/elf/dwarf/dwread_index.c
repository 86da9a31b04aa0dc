/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which unit has code at an address: from the first entries of all units, not from
 * .debug_aranges, which clang does not write and which others leave incomplete.
 */
#include "elf/dwarf/dwread.h"

struct filler {
	struct dwread *reader;
	uint32_t unit;
};

static int put_covered(void *arg, const struct dwread_range *range)
{
	const struct filler *f = arg;
	struct dwread_span s = {.start = range->start, .end = range->end, .first = f->unit};

	return dwread_append(f->reader, &f->reader->index, &s, sizeof(s));
}

int dwread_index_build(struct dwread *r)
{
	int err = 0;

	for (size_t i = 0; i < r->main->unit_count && !err; i++) {
		struct dwread_unit *u = &r->main->units[i];
		struct filler f = {r, (uint32_t)i};

		if (u->type == DW_UT_type || dwread_unit_load(u) != 0)
			continue;
		err = dwread_ranges(u, &u->low, &u->high, &u->ranges, put_covered, &f);
	}
	dwread_spans_settle(&r->index);
	return err;
}

struct dwread_unit *dwread_index_find(struct dwread *r, uint64_t address, unsigned int nth)
{
	const struct dwread_span *s = dwread_spans_find(&r->index, address, nth);

	return s ? &r->main->units[s->first] : NULL;
}
