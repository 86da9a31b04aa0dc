/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checking a copy of .eh_frame / .debug_frame before elfutils executes anything in it, and
 * listing the code that its entries cover.
 *
 * Invariant: afterwards every FDE left in the copy refers to a sound CIE, and both their
 * programs are sound (cfi_program.c). What is not is turned into an empty CIE, which
 * nothing refers to.
 */
#include "elf/image/cursor.h"
#include "elf/image/internal.h"

#include "base/array.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct cie {
	uint64_t offset;
	uint32_t program_bytes;
	uint8_t encoding;
	uint8_t has_augmentation_size;
};

struct checker {
	struct cfi_section *section;
	Elf_Data data;
	struct cie *cies;
	size_t cie_count, cie_room, span_room;
};

static const unsigned char ident[EI_NIDENT] = {
	ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, EV_CURRENT,
};

static int pointer_width(unsigned int encoding)
{
	switch (encoding & 0x0f) {
	case DW_EH_PE_udata2:
	case DW_EH_PE_sdata2:
		return 2;
	case DW_EH_PE_udata4:
	case DW_EH_PE_sdata4:
		return 4;
	case DW_EH_PE_absptr:
	case DW_EH_PE_udata8:
	case DW_EH_PE_sdata8:
		return 8;
	default:
		return 0;
	}
}

/* How FDEs of this CIE write addresses; -1 for what no compiler of these machines writes. */
static int pointer_encoding(const Dwarf_CIE *cie)
{
	const uint8_t *data = cie->augmentation_data;
	const uint8_t *end = data ? data + cie->augmentation_data_size : NULL;
	int encoding = DW_EH_PE_absptr;

	if (cie->augmentation[0] == '\0')
		return encoding;
	if (cie->augmentation[0] != 'z')
		return -1;
	for (const char *c = cie->augmentation + 1; *c; c++) {
		size_t width = 0;

		if (*c == 'R' || *c == 'L')
			width = 1;
		else if (*c == 'P' && data < end && pointer_width(*data) != 0)
			width = 1 + (size_t)pointer_width(*data);
		else if (*c != 'S' && *c != 'B')
			return -1;
		if (!data || width > (size_t)(end - data))
			return width ? -1 : encoding;
		if (*c == 'R')
			encoding = *data;
		data += width;
	}
	return encoding;
}

static uint64_t pointer_value(const uint8_t *at, unsigned int encoding)
{
	int is_signed = (encoding & 0x0f) >= DW_EH_PE_signed;
	uint16_t half;
	uint32_t word;
	uint64_t value;

	switch (pointer_width(encoding)) {
	case 2:
		memcpy(&half, at, 2);
		return is_signed ? (uint64_t)(int64_t)(int16_t)half : half;
	case 4:
		memcpy(&word, at, 4);
		return is_signed ? (uint64_t)(int64_t)(int32_t)word : word;
	default:
		memcpy(&value, at, 8);
		return value;
	}
}

/* Bytes of the private copy that elfutils' const pointers point into. */
static uint8_t *writable(const struct checker *c, const uint8_t *at)
{
	return c->section->bytes + (at - c->section->bytes);
}

static int add_cie(struct checker *c, Dwarf_Off offset, const Dwarf_CIE *cie)
{
	int encoding = pointer_encoding(cie);
	struct cie *one;

	if (encoding < 0 || (encoding & ~0x1f) != 0 || pointer_width((unsigned int)encoding) == 0)
		return 0;
	if (!cfi_program_is_sound(writable(c, cie->initial_instructions),
				  cie->initial_instructions_end, c->section->machine))
		return 0;
	one = array_add(&c->cies, &c->cie_count, &c->cie_room, sizeof(*one));
	if (!one)
		return -ENOMEM;
	*one = (struct cie){
		.offset = offset,
		.program_bytes =
			(uint32_t)(cie->initial_instructions_end - cie->initial_instructions),
		.encoding = (uint8_t)encoding,
		.has_augmentation_size = cie->augmentation[0] == 'z',
	};
	return 0;
}

static const struct cie *find_cie(const struct checker *c, uint64_t offset)
{
	size_t upto = array_upto(c->cies, c->cie_count, sizeof(*c->cies),
				 offsetof(struct cie, offset), offset);

	return upto && c->cies[upto - 1].offset == offset ? &c->cies[upto - 1] : NULL;
}

/* Range of code and program of an FDE; false when it is not sound. */
static int fde_is_sound(const struct checker *c, const Dwarf_FDE *fde, const struct cie *cie,
			struct cfi_span *span)
{
	int width = pointer_width(cie->encoding);
	const uint8_t *at = fde->start, *end = fde->end;
	struct elf_cursor rest = {at, end, 0};
	uint64_t size;

	cursor_skip(&rest, 2 * (uint64_t)width);
	if (rest.failed)
		return 0;
	span->start = pointer_value(at, cie->encoding);
	if (cie->encoding & DW_EH_PE_pcrel)
		span->start += c->section->address + (uint64_t)(at - c->section->bytes);
	size = pointer_value(at + width, cie->encoding & 0x07);
	if (size == 0 || size > UINT32_MAX || span->start > UINT64_MAX - size)
		return 0;
	span->end = span->start + size;
	if (cie->has_augmentation_size)
		cursor_skip(&rest, cursor_uleb(&rest));
	span->program_bytes = cie->program_bytes + (uint32_t)cursor_left(&rest) + 1;
	return !rest.failed && cfi_program_is_sound(writable(c, rest.at), end, c->section->machine);
}

/* Turns the entry at @offset into a CIE that says nothing; false when it is too short. */
static int neutralise(const struct checker *c, uint64_t offset, uint64_t next)
{
	uint8_t *entry = c->section->bytes + offset;
	size_t head = 4, id = 4;
	uint32_t length;

	memcpy(&length, entry, 4);
	if (length == UINT32_MAX) {
		head = 12;
		id = c->section->is_eh_frame ? 4 : 8;
	}
	if (next - offset < head + id + 5)
		return 0;
	memset(entry + head, c->section->is_eh_frame ? 0 : 0xff, id);
	memset(entry + head + id, 0, next - offset - head - id);
	entry[head + id] = 1; /* version */
	return 1;
}

static int add_fde(struct checker *c, Dwarf_Off offset, Dwarf_Off next, const Dwarf_FDE *fde)
{
	const struct cie *cie = find_cie(c, fde->CIE_pointer);
	struct cfi_section *s = c->section;
	struct cfi_span span, *one;

	if (!cie || !fde_is_sound(c, fde, cie, &span)) {
		s->rejected++;
		return neutralise(c, offset, next) ? 0 : -EINVAL;
	}
	one = array_add(&s->spans, &s->span_count, &c->span_room, sizeof(span));
	if (!one)
		return -ENOMEM;
	*one = span;
	return 0;
}

/* One pass over all entries: over the CIEs, or over the FDEs. */
static int cfi_check_pass(struct checker *c, int over_cies)
{
	Dwarf_Off offset = 0, next = 0;
	int err = 0;

	while (!err) {
		Dwarf_CFI_Entry entry;
		int got = dwarf_next_cfi(ident, &c->data, c->section->is_eh_frame != 0, offset,
					 &next, &entry);

		if (got > 0 || next <= offset || next > c->section->size)
			break;
		/* What elfutils cannot read at all it does not execute either. */
		if (got == 0 && over_cies && dwarf_cfi_cie_p(&entry))
			err = add_cie(c, offset, &entry.cie);
		else if (got == 0 && !over_cies && !dwarf_cfi_cie_p(&entry))
			err = add_fde(c, offset, next, &entry.fde);
		offset = next;
	}
	return err;
}

static int compare_spans(const void *a, const void *b)
{
	const struct cfi_span *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return x->end < y->end ? -1 : x->end > y->end;
}

/*
 * Sorted, and cut where they overlap. elfutils may then take either entry, so each is
 * charged with the longest program.
 */
static void sort_spans(struct cfi_section *s)
{
	uint32_t longest = 0;
	size_t kept = 0;
	int overlaps = 0;

	if (s->span_count)
		qsort(s->spans, s->span_count, sizeof(*s->spans), compare_spans);
	for (size_t i = 0; i < s->span_count; i++) {
		struct cfi_span span = s->spans[i];

		if (span.program_bytes > longest)
			longest = span.program_bytes;
		if (i + 1 < s->span_count && span.end > s->spans[i + 1].start) {
			overlaps = 1;
			span.end = s->spans[i + 1].start;
		}
		if (span.end > span.start)
			s->spans[kept++] = span;
	}
	s->span_count = kept;
	for (size_t i = 0; overlaps && i < kept; i++)
		s->spans[i].program_bytes = longest;
}

int cfi_section_check(struct cfi_section *s)
{
	struct checker c = {
		.section = s,
		.data = {.d_buf = s->bytes,
			 .d_size = s->size,
			 .d_type = ELF_T_BYTE,
			 .d_version = EV_CURRENT},
	};
	int err = cfi_check_pass(&c, 1);

	if (!err)
		err = cfi_check_pass(&c, 0);
	free(c.cies);
	if (!err)
		sort_spans(s);
	return err;
}
