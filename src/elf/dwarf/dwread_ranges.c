/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ranges of code: low and high, .debug_ranges (DWARF 2 to 4), .debug_rnglists (5); and by those of
 * units which one has an address.
 *
 * What the linker has thrown away still has entries, at 0, 1, -1 or -2 or at an offset from
 * those: only what lies in the module's code counts.
 */
#include "elf/dwarf/dwread.h"

#include <errno.h>

struct list {
	struct dwread_unit *unit;
	struct elf_cursor at;
	uint64_t base;
	struct buf *out;
};

int dwread_is_code(const struct dwread *r, uint64_t start, uint64_t end)
{
	return start >= r->code_start && end > start && elf_is_code(r->module, start, end);
}

static int dwread_ranges_put_range(const struct list *l, uint64_t start, uint64_t end)
{
	struct dwread_range range = {start, end};

	if (!dwread_spend(l->unit->file->reader, 1, 0))
		return -ENOMEM;
	if (!dwread_is_code(l->unit->file->reader, start, end))
		return 0;
	return dwread_append(l->unit->file->reader, l->out, &range, sizeof(range));
}

static int dwread_ranges_read_pairs(struct list *l)
{
	int err = 0;

	while (!err) {
		uint64_t start = cursor_fixed(&l->at, 8), end = cursor_fixed(&l->at, 8);

		if (l->at.failed || (start == 0 && end == 0))
			break;
		if (start == UINT64_MAX)
			l->base = end;
		else if (start < end)
			err = dwread_ranges_put_range(l, l->base + start, l->base + end);
	}
	return err;
}

static uint64_t indexed(struct list *l)
{
	uint64_t address;

	if (dwread_address_by_index(l->unit, cursor_uleb(&l->at), &address) == 0)
		return address;
	cursor_fail(&l->at);
	return 0;
}

/* One entry of a range list: 1 = range, 0 = none here, -1 = end. */
static int dwread_ranges_read_entry(struct list *l, uint64_t *start, uint64_t *end)
{
	switch (cursor_fixed(&l->at, 1)) {
	case DW_RLE_base_addressx:
		l->base = indexed(l);
		return 0;
	case DW_RLE_base_address:
		l->base = cursor_fixed(&l->at, 8);
		return 0;
	case DW_RLE_startx_endx:
		*start = indexed(l);
		*end = indexed(l);
		return 1;
	case DW_RLE_startx_length:
		*start = indexed(l);
		*end = *start + cursor_uleb(&l->at);
		return 1;
	case DW_RLE_offset_pair:
		*start = l->base + cursor_uleb(&l->at);
		*end = l->base + cursor_uleb(&l->at);
		return 1;
	case DW_RLE_start_end:
		*start = cursor_fixed(&l->at, 8);
		*end = cursor_fixed(&l->at, 8);
		return 1;
	case DW_RLE_start_length:
		*start = cursor_fixed(&l->at, 8);
		*end = *start + cursor_uleb(&l->at);
		return 1;
	default:
		return -1;
	}
}

static int dwread_ranges_read_list(struct list *l)
{
	uint64_t start = 0, end = 0;
	int err = 0, kind;

	while (!err && (kind = dwread_ranges_read_entry(l, &start, &end)) >= 0 && !l->at.failed)
		err = kind == 1 ? dwread_ranges_put_range(l, start, end) : 0;
	return err;
}

static int read_rnglist(struct list *l, const struct dwread_value *v)
{
	struct dwread_unit *u = l->unit;
	uint64_t at = v->number + u->part[DWREAD_RNGLISTS];

	if (v->form == DW_FORM_rnglistx) {
		struct elf_cursor c;

		if (v->number > UINT32_MAX)
			return 0;
		c = dwread_cursor_at(u->file, DWREAD_RNGLISTS,
				     u->rnglists_base + v->number * u->offset_size);
		at = u->rnglists_base + cursor_fixed(&c, u->offset_size);
		if (c.failed)
			return 0;
	}
	l->at = dwread_cursor_at(u->file, DWREAD_RNGLISTS, at);
	return l->at.failed ? 0 : dwread_ranges_read_list(l);
}

int dwread_ranges(struct dwread_unit *u, const struct dwread_value *low,
		  const struct dwread_value *high, const struct dwread_value *ranges,
		  struct buf *out)
{
	struct dwread_unit *skeleton = u->skeleton ? u->skeleton : u;
	struct list l = {u, {0}, skeleton->low_pc, out};
	uint64_t start, end;

	if (ranges->form && u->version >= 5)
		return read_rnglist(&l, ranges);
	if (ranges->form) {
		/* Only the split unit's own count from the base. */
		uint64_t base = u->skeleton ? skeleton->ranges_base : 0;

		l.at = dwread_cursor_at(skeleton->file, DWREAD_RANGES, ranges->number + base);
		return l.at.failed ? 0 : dwread_ranges_read_pairs(&l);
	}
	if (!high->form || dwread_address(u, low, &start) != 0)
		return 0;
	if (dwread_address(u, high, &end) != 0)
		end = start + high->number;
	return dwread_ranges_put_range(&l, start, end);
}

/* By the first entries of all units, not from .debug_aranges, which clang does not write and which
 * others leave incomplete. */
int dwread_index_build(struct dwread *r)
{
	struct buf ranges = {0};
	int err = 0;

	for (size_t i = 0; i < r->main->unit_count && !err; i++) {
		struct dwread_unit *u = &r->main->units[i];

		buf_clear(&ranges);
		if (u->type == DW_UT_type || dwread_unit_load(u) != 0)
			continue;
		err = dwread_ranges(u, &u->low, &u->high, &u->ranges, &ranges);
		for (size_t at = 0; at < ranges.size && !err; at += sizeof(struct dwread_range)) {
			const struct dwread_range *range = (const void *)(ranges.data + at);
			struct dwread_span s = {range->start, range->end, .first = (uint32_t)i};

			err = dwread_append(r, &r->index, &s, sizeof(s));
		}
	}
	buf_free(&ranges);
	dwread_spans_settle(&r->index);
	return err;
}

struct dwread_unit *dwread_index_find(struct dwread *r, uint64_t address, unsigned int nth)
{
	const struct dwread_span *s = dwread_spans_find(&r->index, address, nth);

	return s ? &r->main->units[s->first] : NULL;
}
