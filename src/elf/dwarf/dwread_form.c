/* SPDX-License-Identifier: Apache-2.0 */
/* Values of attributes: how many bytes each form has, and what they stand for. */
#include "elf/dwarf/dwread.h"

#include <errno.h>

struct elf_cursor dwread_cursor_at(const struct dwread_file *f, enum dwread_section_id id,
				   uint64_t offset)
{
	const struct dwread_section *s = &f->section[id];
	struct elf_cursor c = {s->bytes, s->bytes, 1};

	if (s->bytes && offset < s->size) {
		c.at = s->bytes + offset;
		c.end = s->bytes + s->size;
		c.failed = 0;
	}
	return c;
}

/*
 * How the bytes of a form are read. Digits: so many; o: an offset, a: as large as an address was in
 * DWARF 2; u, s: LEB128; t: text; p: none, present is 1; i: none, it stands in the abbreviation. A
 * block is skipped: b: LEB128 says how long it is, A, B, D: 1, 2, 4 bytes do; x: it has 16.
 */
static const char forms[] = {
	[DW_FORM_addr] = '8',         [DW_FORM_block1] = 'A',         [DW_FORM_block2] = 'B',
	[DW_FORM_block4] = 'D',       [DW_FORM_block] = 'b',          [DW_FORM_exprloc] = 'b',
	[DW_FORM_data1] = '1',        [DW_FORM_data2] = '2',          [DW_FORM_data4] = '4',
	[DW_FORM_data8] = '8',        [DW_FORM_data16] = 'x',         [DW_FORM_sdata] = 's',
	[DW_FORM_udata] = 'u',        [DW_FORM_implicit_const] = 'i', [DW_FORM_flag] = '1',
	[DW_FORM_flag_present] = 'p', [DW_FORM_string] = 't',         [DW_FORM_strp] = 'o',
	[DW_FORM_line_strp] = 'o',    [DW_FORM_strp_sup] = 'o',       [DW_FORM_strx] = 'u',
	[DW_FORM_strx1] = '1',        [DW_FORM_strx2] = '2',          [DW_FORM_strx3] = '3',
	[DW_FORM_strx4] = '4',        [DW_FORM_addrx] = 'u',          [DW_FORM_addrx1] = '1',
	[DW_FORM_addrx2] = '2',       [DW_FORM_addrx3] = '3',         [DW_FORM_addrx4] = '4',
	[DW_FORM_ref1] = '1',         [DW_FORM_ref2] = '2',           [DW_FORM_ref4] = '4',
	[DW_FORM_ref8] = '8',         [DW_FORM_ref_udata] = 'u',      [DW_FORM_ref_addr] = 'a',
	[DW_FORM_ref_sig8] = '8',     [DW_FORM_ref_sup4] = '4',       [DW_FORM_ref_sup8] = '8',
	[DW_FORM_sec_offset] = 'o',   [DW_FORM_loclistx] = 'u',       [DW_FORM_rnglistx] = 'u'};

static char form_kind(uint16_t form)
{
	if (form == DW_FORM_GNU_addr_index || form == DW_FORM_GNU_str_index)
		return 'u';
	if (form == DW_FORM_GNU_ref_alt || form == DW_FORM_GNU_strp_alt)
		return 'o';
	return form < sizeof(forms) ? forms[form] : 0;
}

static uint64_t read_form(struct elf_cursor *c, const struct dwread_unit *u, char kind)
{
	switch (kind) {
	case 'o':
		return cursor_fixed(c, u->offset_size);
	case 'a':
		return cursor_fixed(c, u->version <= 2 ? 8 : u->offset_size);
	case 'u':
		return cursor_uleb(c);
	case 's':
		return (uint64_t)cursor_sleb(c);
	case 'p':
		return 1;
	case 'b':
		cursor_skip(c, cursor_uleb(c));
		return 0;
	case 'A':
	case 'B':
	case 'D':
		cursor_skip(c, cursor_fixed(c, (unsigned int)(kind - 'A' + 1)));
		return 0;
	case 'x':
		cursor_skip(c, 16);
		return 0;
	case 0:
		cursor_fail(c);
		return 0;
	default:
		return cursor_fixed(c, (unsigned int)(kind - '0'));
	}
}

void dwread_read_value(struct elf_cursor *c, const struct dwread_unit *u,
		       const struct dwread_attribute *attribute, struct dwread_value *out)
{
	uint64_t form = attribute->form;
	char kind;

	if (form == DW_FORM_indirect) {
		form = cursor_uleb(c);
		if (form == DW_FORM_indirect || form == DW_FORM_implicit_const || form > UINT16_MAX)
			form = 0;
	}
	*out = (struct dwread_value){.form = (uint16_t)form};
	kind = form_kind(out->form);
	if (kind == 't')
		out->text = (const uint8_t *)cursor_string(c);
	else
		out->number = kind == 'i' ? (uint64_t)attribute->constant : read_form(c, u, kind);
}

int dwread_entry_read(struct elf_cursor *c, const struct dwread_unit *u,
		      const struct dwread_abbrev *abbrev, const struct dwread_wanted *wanted,
		      void *out)
{
	const struct dwread_attribute *all = (const void *)u->abbrevs->attributes.data;

	for (uint32_t i = 0; i < abbrev->count && !c->failed; i++) {
		const struct dwread_attribute *a = &all[abbrev->first + i];
		const struct dwread_wanted *w = wanted;
		struct dwread_value v;

		dwread_read_value(c, u, a, &v);
		while (w->name && w->name != a->name)
			w++;
		if (w->name && !c->failed)
			memcpy((char *)out + w->at, &v, sizeof(v));
	}
	return c->failed ? -EINVAL : 0;
}

static const char *dwread_form_string_at(const struct dwread_file *f, enum dwread_section_id id,
					 uint64_t offset)
{
	struct elf_cursor c;

	if (!f)
		return NULL;
	c = dwread_cursor_at(f, id, offset);
	return c.failed ? NULL : cursor_string(&c);
}

static const char *string_by_index(const struct dwread_unit *u, uint64_t index)
{
	struct elf_cursor c;
	uint64_t offset;

	if (index > UINT32_MAX)
		return NULL;
	c = dwread_cursor_at(u->file, DWREAD_STR_OFFSETS,
			     u->str_offsets_base + index * u->offset_size);
	offset = cursor_fixed(&c, u->offset_size);
	return c.failed ? NULL : dwread_form_string_at(u->file, DWREAD_STR, offset);
}

const char *dwread_string(const struct dwread_unit *u, const struct dwread_value *v)
{
	switch (v->form) {
	case DW_FORM_string:
		return (const char *)v->text;
	case DW_FORM_strp:
		return dwread_form_string_at(u->file, DWREAD_STR, v->number);
	case DW_FORM_line_strp:
		return dwread_form_string_at(u->file, DWREAD_LINE_STR, v->number);
	case DW_FORM_strp_sup:
	case DW_FORM_GNU_strp_alt:
		return dwread_form_string_at(u->file->reader->alt, DWREAD_STR, v->number);
	case DW_FORM_strx:
	case DW_FORM_strx1:
	case DW_FORM_strx2:
	case DW_FORM_strx3:
	case DW_FORM_strx4:
	case DW_FORM_GNU_str_index:
		return string_by_index(u, v->number);
	default:
		return NULL;
	}
}

int dwread_address_by_index(const struct dwread_unit *u, uint64_t index, uint64_t *out)
{
	const struct dwread_unit *owner = u->skeleton ? u->skeleton : u;
	struct elf_cursor c;
	uint64_t address;

	if (index > UINT32_MAX)
		return -ENOENT;
	c = dwread_cursor_at(owner->file, DWREAD_ADDR, owner->addr_base + index * 8);
	address = cursor_fixed(&c, 8);
	if (c.failed)
		return -ENOENT;
	*out = address;
	return 0;
}

int dwread_address(const struct dwread_unit *u, const struct dwread_value *v, uint64_t *out)
{
	switch (v->form) {
	case DW_FORM_addr:
		*out = v->number;
		return 0;
	case DW_FORM_addrx:
	case DW_FORM_addrx1:
	case DW_FORM_addrx2:
	case DW_FORM_addrx3:
	case DW_FORM_addrx4:
	case DW_FORM_GNU_addr_index:
		return dwread_address_by_index(u, v->number, out);
	default:
		return -ENOENT;
	}
}

struct dwread_unit *dwread_reference(const struct dwread_unit *u, const struct dwread_value *v,
				     uint64_t *offset)
{
	struct dwread_file *file = u->file;
	uint64_t at = v->number;

	switch (v->form) {
	case DW_FORM_ref1:
	case DW_FORM_ref2:
	case DW_FORM_ref4:
	case DW_FORM_ref8:
	case DW_FORM_ref_udata:
		if (at >= u->end - u->offset)
			return NULL;
		at += u->offset;
		break;
	case DW_FORM_ref_addr:
		at += u->part[DWREAD_INFO];
		break;
	case DW_FORM_GNU_ref_alt:
	case DW_FORM_ref_sup4:
	case DW_FORM_ref_sup8:
		file = file->reader->alt;
		break;
	default:
		return NULL;
	}
	*offset = at;
	return file ? dwread_unit_at(file, at) : NULL;
}
