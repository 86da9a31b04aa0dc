/* SPDX-License-Identifier: Apache-2.0 */
/* Files with DWARF and their units: headers, and of each unit the first entry. */
#include "elf/dwarf/dwread.h"

#include "base/array.h"
#include "base/map.h"

#include <errno.h>
#include <stdlib.h>

static const char *const section_names[DWREAD_SECTIONS] = {
	[DWREAD_INFO] = "debug_info",
	[DWREAD_ABBREV] = "debug_abbrev",
	[DWREAD_STR] = "debug_str",
	[DWREAD_LINE_STR] = "debug_line_str",
	[DWREAD_STR_OFFSETS] = "debug_str_offsets",
	[DWREAD_ADDR] = "debug_addr",
	[DWREAD_RANGES] = "debug_ranges",
	[DWREAD_RNGLISTS] = "debug_rnglists",
	[DWREAD_LINE] = "debug_line",
	[DWREAD_CU_INDEX] = "debug_cu_index",
};

int dwread_spend(struct dwread *r, uint64_t steps, uint64_t memory)
{
	if (steps > r->steps || memory > r->memory)
		return 0;
	r->steps -= steps;
	r->memory -= memory;
	return 1;
}

int dwread_append(struct dwread *r, struct buf *b, const void *item, size_t bytes)
{
	if (!dwread_spend(r, 1, bytes))
		return -ENOMEM;
	buf_put(b, item, bytes);
	return b->failed ? -ENOMEM : 0;
}

static void set_section(struct dwread_file *f, enum dwread_section_id id, const void *bytes,
			size_t size)
{
	f->section[id] = (struct dwread_section){bytes, size};
	/* What is worth reading grows with what there is. */
	f->reader->steps += 8 * size;
	f->reader->memory += 8 * size;
}

static void load_section(struct dwread_file *f, Elf *elf, enum dwread_section_id id, int is_split)
{
	Elf_Data *data;

	/* Each of a split file's type units may be in a section of its own. */
	if (is_split && id == DWREAD_INFO) {
		if (elf_join_sections(elf, ".debug_info.dwo", &f->joined) == 0)
			set_section(f, id, f->joined.data, f->joined.size);
		return;
	}
	data = elf_debug_section_data(elf, section_names[id],
				      is_split && id != DWREAD_CU_INDEX ? ".dwo" : "");
	if (data && data->d_buf)
		set_section(f, id, data->d_buf, data->d_size);
}

static int read_length(struct elf_cursor *c, struct dwread_unit *u)
{
	uint64_t length = cursor_length(c, &u->offset_size);

	if (c->failed || length > cursor_left(c) || length == 0)
		return -EINVAL;
	c->end = c->at + length;
	return 0;
}

static int dwread_unit_header(struct dwread_file *f, uint64_t offset, struct dwread_unit *out)
{
	struct elf_cursor c = dwread_cursor_at(f, DWREAD_INFO, offset);
	struct dwread_unit u = {.file = f, .offset = offset, .type = DW_UT_compile};
	uint64_t address_size;

	if (c.failed || read_length(&c, &u) != 0)
		return -EINVAL;
	u.end = (uint64_t)(c.end - f->section[DWREAD_INFO].bytes);
	u.version = (uint16_t)cursor_fixed(&c, 2);
	if (u.version >= 5) {
		u.type = (uint8_t)cursor_fixed(&c, 1);
		address_size = cursor_fixed(&c, 1);
		u.abbrev_offset = cursor_fixed(&c, u.offset_size);
	} else {
		u.abbrev_offset = cursor_fixed(&c, u.offset_size);
		address_size = cursor_fixed(&c, 1);
	}
	if (u.type == DW_UT_skeleton || u.type == DW_UT_split_compile)
		u.dwo_id = cursor_fixed(&c, 8);
	else if (u.type == DW_UT_type || u.type == DW_UT_split_type)
		cursor_skip(&c, 8 + (uint64_t)u.offset_size);
	u.entries = (uint64_t)(c.at - f->section[DWREAD_INFO].bytes);
	/* What is of no known form is stepped over: it has no entries. */
	if (c.failed || u.version < 2 || u.version > 5 || address_size != 8)
		u.entries = u.end;
	*out = u;
	return 0;
}

static int load_units(struct dwread_file *f)
{
	struct buf units = {0};
	struct dwread_unit u;
	uint64_t at = 0;

	for (; dwread_unit_header(f, at, &u) == 0; at = u.end)
		if (dwread_append(f->reader, &units, &u, sizeof(u)) != 0)
			break;
	f->units = (void *)units.data;
	f->unit_count = units.size / sizeof(u);
	return f->unit_count ? 0 : -ENOENT;
}

int dwread_file_open(struct dwread *r, Elf *elf, int is_split, struct dwread_file **out)
{
	struct dwread_file *f = calloc(1, sizeof(*f));
	int err = -ENOMEM;

	if (!f)
		return err;
	f->reader = r;
	f->abbrevs = map_new();
	f->lines = map_new();
	for (int i = 0; i < DWREAD_SECTIONS; i++)
		load_section(f, elf, (enum dwread_section_id)i, is_split);
	if (f->abbrevs && f->lines)
		err = load_units(f);
	if (err) {
		dwread_file_free(f);
		return err;
	}
	f->next = r->files;
	r->files = f;
	*out = f;
	return 0;
}

void dwread_file_free(struct dwread_file *f)
{
	if (!f)
		return;
	for (size_t i = 0; i < f->unit_count; i++)
		dwread_tree_free(f->units[i].tree);
	free(f->units);
	map_free_values(f->abbrevs, dwread_abbrevs_free);
	map_free_values(f->lines, dwread_lines_free);
	elf_end(f->elf);
	buf_free(&f->joined);
	free(f);
}

struct dwread_unit *dwread_unit_at(struct dwread_file *f, uint64_t offset)
{
	size_t at = array_upto(f->units, f->unit_count, sizeof(*f->units),
			       offsetof(struct dwread_unit, end), offset);

	if (at == f->unit_count || offset < f->units[at].entries ||
	    dwread_unit_load(&f->units[at]) != 0)
		return NULL;
	return &f->units[at];
}

/* Attributes whose meaning needs the bases, which may come after them, and the bases. */
struct first_entry {
	struct dwread_value comp_dir, dwo_name, language, dwo_id, low, high, ranges, stmt_list;
	struct dwread_value str_offsets_base, addr_base, rnglists_base, ranges_base;
};

static const struct dwread_wanted first_entry_wanted[] = {
	{DW_AT_str_offsets_base, offsetof(struct first_entry, str_offsets_base)},
	{DW_AT_addr_base, offsetof(struct first_entry, addr_base)},
	{DW_AT_GNU_addr_base, offsetof(struct first_entry, addr_base)},
	{DW_AT_rnglists_base, offsetof(struct first_entry, rnglists_base)},
	{DW_AT_GNU_ranges_base, offsetof(struct first_entry, ranges_base)},
	{DW_AT_language, offsetof(struct first_entry, language)},
	{DW_AT_GNU_dwo_id, offsetof(struct first_entry, dwo_id)},
	{DW_AT_dwo_name, offsetof(struct first_entry, dwo_name)},
	{DW_AT_GNU_dwo_name, offsetof(struct first_entry, dwo_name)},
	{DW_AT_comp_dir, offsetof(struct first_entry, comp_dir)},
	{DW_AT_low_pc, offsetof(struct first_entry, low)},
	{DW_AT_high_pc, offsetof(struct first_entry, high)},
	{DW_AT_ranges, offsetof(struct first_entry, ranges)},
	{DW_AT_stmt_list, offsetof(struct first_entry, stmt_list)},
	{0, 0},
};

/* Where a split unit's tables begin is not said: after the header of its part. */
static void set_bases(struct dwread_unit *u)
{
	uint64_t header = u->offset_size == 8 ? 16 : 8;

	u->str_offsets_base = u->part[DWREAD_STR_OFFSETS];
	if (u->version >= 5) {
		u->str_offsets_base += header;
		u->rnglists_base = u->part[DWREAD_RNGLISTS] + header + 4;
		u->addr_base = header;
	}
}

static void set_number(uint64_t *to, const struct dwread_value *v)
{
	if (v->form)
		*to = v->number;
}

int dwread_unit_load(struct dwread_unit *u)
{
	struct elf_cursor c = dwread_cursor_at(u->file, DWREAD_INFO, u->entries);
	const struct dwread_abbrev *abbrev;
	struct first_entry e = {0};

	if (u->has_loaded)
		return u->abbrevs ? 0 : -EINVAL;
	u->has_loaded = 1;
	set_bases(u);
	if (c.failed || u->entries >= u->end)
		return -EINVAL;
	c.end = u->file->section[DWREAD_INFO].bytes + u->end;
	u->abbrevs = dwread_abbrevs_get(u->file, u->abbrev_offset + u->part[DWREAD_ABBREV]);
	abbrev = u->abbrevs ? dwread_abbrev_find(u->abbrevs, cursor_uleb(&c)) : NULL;
	if (!abbrev) {
		u->abbrevs = NULL;
		return -EINVAL;
	}
	dwread_entry_read(&c, u, abbrev, first_entry_wanted, &e);
	set_number(&u->str_offsets_base, &e.str_offsets_base);
	set_number(&u->addr_base, &e.addr_base);
	set_number(&u->rnglists_base, &e.rnglists_base);
	set_number(&u->ranges_base, &e.ranges_base);
	set_number(&u->dwo_id, &e.dwo_id);
	u->language = (uint16_t)e.language.number;
	u->low = e.low;
	u->high = e.high;
	u->ranges = e.ranges;
	u->stmt_list = e.stmt_list;
	u->comp_dir = dwread_string(u, &e.comp_dir);
	u->dwo_name = dwread_string(u, &e.dwo_name);
	u->is_split = u->dwo_name && u->dwo_id && u->file == u->file->reader->main;
	if (dwread_address(u, &u->low, &u->low_pc) != 0)
		u->low_pc = 0;
	return 0;
}
