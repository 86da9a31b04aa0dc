/* SPDX-License-Identifier: Apache-2.0 */
/* Values of attributes: how many bytes each form has, and what they stand for. */
#include "elf/dwarf/dwread.h"

#include <errno.h>

struct dwread_cursor dwread_cursor_at(const struct dwread_file *f, enum dwread_section_id id,
				      uint64_t offset)
{
	const struct dwread_section *s = &f->section[id];
	struct dwread_cursor c = {s->bytes, s->bytes, 1};

	if (s->bytes && offset < s->size) {
		c.at = s->bytes + offset;
		c.end = s->bytes + s->size;
		c.failed = 0;
	}
	return c;
}

static void read_block(struct dwread_cursor *c, uint16_t form)
{
	switch (form) {
	case DW_FORM_block1:
		cursor_skip(c, cursor_fixed(c, 1));
		break;
	case DW_FORM_block2:
		cursor_skip(c, cursor_fixed(c, 2));
		break;
	case DW_FORM_block4:
		cursor_skip(c, cursor_fixed(c, 4));
		break;
	case DW_FORM_block:
	case DW_FORM_exprloc:
		cursor_skip(c, cursor_uleb(c));
		break;
	case DW_FORM_data16:
		cursor_skip(c, 16);
		break;
	default:
		cursor_fail(c);
	}
}

/* Bytes of a form of fixed size; 0 = another kind of form. */
static unsigned int fixed_size(uint16_t form, const struct dwread_unit *u)
{
	switch (form) {
	case DW_FORM_data1:
	case DW_FORM_ref1:
	case DW_FORM_flag:
	case DW_FORM_strx1:
	case DW_FORM_addrx1:
		return 1;
	case DW_FORM_data2:
	case DW_FORM_ref2:
	case DW_FORM_strx2:
	case DW_FORM_addrx2:
		return 2;
	case DW_FORM_strx3:
	case DW_FORM_addrx3:
		return 3;
	case DW_FORM_data4:
	case DW_FORM_ref4:
	case DW_FORM_strx4:
	case DW_FORM_addrx4:
	case DW_FORM_ref_sup4:
		return 4;
	case DW_FORM_addr:
	case DW_FORM_data8:
	case DW_FORM_ref8:
	case DW_FORM_ref_sig8:
	case DW_FORM_ref_sup8:
		return 8;
	case DW_FORM_ref_addr:
		return u->version <= 2 ? 8 : u->offset_size;
	case DW_FORM_strp:
	case DW_FORM_line_strp:
	case DW_FORM_strp_sup:
	case DW_FORM_sec_offset:
	case DW_FORM_GNU_ref_alt:
	case DW_FORM_GNU_strp_alt:
		return u->offset_size;
	default:
		return 0;
	}
}

static void read_form(struct dwread_cursor *c, const struct dwread_unit *u, uint16_t form,
		      int64_t constant, struct dwread_value *out)
{
	unsigned int size = fixed_size(form, u);

	out->form = form;
	if (size) {
		out->number = cursor_fixed(c, size);
		return;
	}
	switch (form) {
	case DW_FORM_sdata:
		out->number = (uint64_t)cursor_sleb(c);
		break;
	case DW_FORM_udata:
	case DW_FORM_ref_udata:
	case DW_FORM_strx:
	case DW_FORM_addrx:
	case DW_FORM_loclistx:
	case DW_FORM_rnglistx:
	case DW_FORM_GNU_addr_index:
	case DW_FORM_GNU_str_index:
		out->number = cursor_uleb(c);
		break;
	case DW_FORM_string:
		out->text = (const uint8_t *)cursor_string(c);
		break;
	case DW_FORM_flag_present:
		out->number = 1;
		break;
	case DW_FORM_implicit_const:
		out->number = (uint64_t)constant;
		break;
	default:
		read_block(c, form);
	}
}

void dwread_read_value(struct dwread_cursor *c, const struct dwread_unit *u,
		       const struct dwread_attribute *attribute, struct dwread_value *out)
{
	uint16_t form = attribute->form;

	out->number = 0;
	out->text = NULL;
	if (form == DW_FORM_indirect) {
		uint64_t actual = cursor_uleb(c);

		form = actual == DW_FORM_indirect || actual == DW_FORM_implicit_const ||
				       actual > UINT16_MAX
			       ? 0
			       : (uint16_t)actual;
	}
	read_form(c, u, form, attribute->constant, out);
}

int dwread_entry_read(struct dwread_cursor *c, const struct dwread_unit *u,
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
	struct dwread_cursor c;

	if (!f)
		return NULL;
	c = dwread_cursor_at(f, id, offset);
	return c.failed ? NULL : cursor_string(&c);
}

static const char *string_by_index(const struct dwread_unit *u, uint64_t index)
{
	struct dwread_cursor c;
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
	struct dwread_cursor c;
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
