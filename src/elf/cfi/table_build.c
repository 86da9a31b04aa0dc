/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Building a module's unwind table: the code that .eh_frame covers, the gaps filled from
 * .debug_frame, then PLT, signal trampolines and small gaps that neither knows; row by row
 * through elfutils; equal rows joined, rules made distinct, one block written.
 */
#include "base/array.h"
#include "base/buf.h"
#include "base/map.h"
#include "elf/image/internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/*
 * elfutils executes an entry's program from its start for every row. Real modules need
 * some tens of steps for each byte of unwind data; a hostile one is cut off here, after
 * seconds.
 */
#define WORK_MIN (UINT64_C(1) << 29)
#define WORK_PER_BYTE 64
#define WORK_MAX (UINT64_C(1) << 32)
#define TRAMPOLINES_MAX 16

enum source { FROM_EH_FRAME, FROM_DEBUG_FRAME, FROM_CODE };

struct piece {
	uint64_t start, end;
	uint32_t program_bytes; /* of an entry */
	enum source source;
	struct unwind_rule rule; /* FROM_CODE */
};

struct row {
	uint64_t pc;
	uint64_t rule;
};

struct cfi {
	struct cfi_section section;
	Elf *elf;
	void *image;
	Dwarf *dwarf;
	Dwarf_CFI *handle;
};

struct builder {
	const struct elf_module *module;
	uint32_t rejected;
	struct cfi cfi[FROM_CODE];
	struct piece *pieces; /* sorted by start but for those put since sort_pieces() */
	size_t piece_count, piece_room;
	struct row *rows;
	size_t row_count, row_room;
	struct buf rules; /* struct unwind_rule */
	struct map *rule_numbers;
	uint64_t work, work_max;
};

static const struct unwind_rule signal_rule = {.cfa = UNWIND_CFA_SIGNAL};

static void cfi_close(struct cfi *c)
{
	if (c->handle && !c->dwarf)
		dwarf_cfi_end(c->handle);
	dwarf_end(c->dwarf);
	elf_end(c->elf);
	free(c->image);
	cfi_section_free(&c->section);
}

static int cfi_open(struct cfi *c, const struct elf_module *m, enum cfi_where where)
{
	int err = cfi_section_load(&c->section, m, where);

	if (!err)
		err = cfi_image_open(&c->section, &c->elf, &c->image);
	if (err)
		return err;
	if (where == CFI_EH_FRAME) {
		c->handle = dwarf_getcfi_elf(c->elf);
	} else {
		c->dwarf = dwarf_begin_elf(c->elf, DWARF_C_READ, NULL);
		c->handle = c->dwarf ? dwarf_getcfi(c->dwarf) : NULL;
	}
	return c->handle ? 0 : -EINVAL;
}

static int put_piece(struct builder *b, const struct piece *model, uint64_t start, uint64_t end)
{
	struct piece *one;

	if (start >= end || !elf_is_code(b->module, start, end))
		return 0;
	one = array_add(&b->pieces, &b->piece_count, &b->piece_room, sizeof(*one));
	if (!one)
		return -ENOMEM;
	*one = *model;
	one->start = start;
	one->end = end;
	return 0;
}

static int compare_pieces(const void *a, const void *b)
{
	const struct piece *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

static void sort_pieces(struct builder *b)
{
	if (b->piece_count)
		qsort(b->pieces, b->piece_count, sizeof(*b->pieces), compare_pieces);
}

/*
 * Adds the parts of @model's range that the first @count pieces, sorted, leave open; *at is where
 * the search starts, which moves up with ranges in ascending order.
 */
static int fill_gaps(struct builder *b, const struct piece *model, size_t count, size_t *at)
{
	uint64_t start = model->start;
	int err = 0;

	while (*at < count && b->pieces[*at].end <= start)
		++*at;
	for (size_t i = *at; start < model->end && !err; i++) {
		struct piece next = {.start = UINT64_MAX, .end = UINT64_MAX};

		if (i < count)
			next = b->pieces[i];
		if (next.start > start)
			err = put_piece(b, model, start,
					next.start < model->end ? next.start : model->end);
		start = next.end;
	}
	return err;
}

static int add_spans(struct builder *b, const struct cfi_section *section, enum source source)
{
	size_t at = 0, count = b->piece_count;
	int err = 0;

	for (size_t i = 0; i < section->span_count && !err; i++) {
		const struct cfi_span *span = &section->spans[i];
		struct piece model = {.start = span->start,
				      .end = span->end,
				      .program_bytes = span->program_bytes,
				      .source = source};

		err = fill_gaps(b, &model, count, &at);
	}
	sort_pieces(b);
	return err;
}

static int add_code(void *arg, uint64_t start, uint64_t end, const struct unwind_rule *rule)
{
	struct piece model = {.start = start, .end = end, .source = FROM_CODE, .rule = *rule};
	struct builder *b = arg;
	size_t at = 0;
	int err = fill_gaps(b, &model, b->piece_count, &at);

	sort_pieces(b);
	return err;
}

/* Trampolines: from the byte before, where a look-up for the return address lands. */
static int add_trampolines(struct builder *b)
{
	uint64_t address = 0, end;
	int err = 0;

	for (int i = 0;
	     !err && i < TRAMPOLINES_MAX && elf_find_signal_return(b->module, &address, &end) == 0;
	     i++) {
		err = add_code(b, address - 1, end, &signal_rule);
		address = end;
	}
	return err;
}

/* Rules are put for ranges in ascending order, between pieces: no search for the gap. */
static int add_gap_code(void *arg, uint64_t start, uint64_t end, const struct unwind_rule *rule)
{
	struct piece model = {.source = FROM_CODE, .rule = *rule};

	return put_piece(arg, &model, start, end);
}

/* The C runtime's start files have functions without unwind data in these sections. */
static int add_gaps(struct builder *b, const char *section)
{
	size_t count = b->piece_count;
	uint64_t at, end;
	GElf_Shdr h;
	int err = 0;

	if (!elf_find_section(b->module->elf, section, &h))
		return 0;
	at = h.sh_addr;
	end = at + h.sh_size;
	for (size_t i = 0; !err && i <= count && at < end; i++) {
		struct piece next = {.start = end, .end = end};

		if (i < count && b->pieces[i].start < end)
			next = b->pieces[i];
		if (next.start > at)
			err = elf_gap_rules(b->module, at, next.start, add_gap_code, b);
		if (next.end > at)
			at = next.end;
	}
	sort_pieces(b);
	return err;
}

static int add_all_gaps(struct builder *b)
{
	int err = add_gaps(b, ".init");

	if (!err)
		err = add_gaps(b, ".text");
	return err ? err : add_gaps(b, ".fini");
}

/* Less than half of the code is covered: the rest may be in a separate debug file. */
static int is_poorly_covered(const struct builder *b)
{
	uint64_t covered = 0;
	GElf_Shdr text;

	for (size_t i = 0; i < b->piece_count; i++)
		covered += b->pieces[i].end - b->pieces[i].start;
	return elf_find_section(b->module->elf, ".text", &text) && covered < text.sh_size / 2;
}

static int table_build_open_source(struct builder *b, enum source source)
{
	struct cfi *c = &b->cfi[source];
	int err;

	if (source == FROM_EH_FRAME)
		return cfi_open(c, b->module, CFI_EH_FRAME);
	err = cfi_open(c, b->module, CFI_DEBUG_FRAME);
	return err == -ENOENT && is_poorly_covered(b)
		       ? cfi_open(c, b->module, CFI_SEPARATE_DEBUG_FRAME)
		       : err;
}

static int collect_pieces(struct builder *b)
{
	int err;

	for (int source = FROM_EH_FRAME; source < FROM_CODE; source++) {
		struct cfi *c = &b->cfi[source];

		err = table_build_open_source(b, (enum source)source);
		b->rejected += c->section.rejected;
		b->work_max += WORK_PER_BYTE * c->section.size;
		if (!err)
			err = add_spans(b, &c->section, (enum source)source);
		if (err == -ENOMEM)
			return err;
	}
	if (b->work_max > WORK_MAX)
		b->work_max = WORK_MAX;
	err = elf_plt_rules(b->module, add_code, b);
	if (!err)
		err = add_trampolines(b);
	return err ? err : add_all_gaps(b);
}

/* Number of a rule, new or known; 0, which says nothing, when there are too many. */
static int number_of_rule(struct builder *b, const struct unwind_rule *rule, uint64_t *number)
{
	size_t count = b->rules.size / sizeof(*rule);
	uint64_t *value;
	int fresh;

	value = map_put(b->rule_numbers, rule, sizeof(*rule), &fresh);
	if (!value)
		return -ENOMEM;
	if (fresh && count < UINT16_MAX) {
		*value = count;
		buf_put(&b->rules, rule, sizeof(*rule));
	}
	*number = *value;
	return b->rules.failed ? -ENOMEM : 0;
}

static int table_build_put_row(struct builder *b, uint64_t pc, const struct unwind_rule *rule)
{
	struct row row = {.pc = pc}, *one;
	int err = number_of_rule(b, rule, &row.rule);

	if (err || (b->row_count && b->rows[b->row_count - 1].rule == row.rule))
		return err;
	one = array_add(&b->rows, &b->row_count, &b->row_room, sizeof(row));
	if (!one)
		return -ENOMEM;
	*one = row;
	return 0;
}

static int put_no_rule(struct builder *b, uint64_t pc)
{
	static const struct unwind_rule none;

	return table_build_put_row(b, pc, &none);
}

static int table_build_put_frame(struct builder *b, const struct piece *p, uint64_t pc,
				 Dwarf_Frame *frame)
{
	struct unwind_rule rule;

	if (cfi_is_signal_frame(frame) && elf_is_signal_return(b->module, p->start, p->end))
		return table_build_put_row(b, pc, &signal_rule);
	cfi_rule_of(frame, b->module->machine, &rule);
	return table_build_put_row(b, pc, &rule);
}

/* All rows of one entry. */
static int put_piece_rows(struct builder *b, const struct piece *p)
{
	Dwarf_CFI *handle = b->cfi[p->source].handle;
	uint64_t pc = p->start;
	int err = 0;

	while (!err && pc < p->end) {
		Dwarf_Frame *frame = NULL;
		Dwarf_Addr end = 0;

		b->work += p->program_bytes;
		if (b->work > b->work_max || dwarf_cfi_addrframe(handle, pc, &frame) != 0) {
			b->rejected++;
			return put_no_rule(b, pc);
		}
		dwarf_frame_info(frame, NULL, &end, NULL);
		err = table_build_put_frame(b, p, pc, frame);
		free(frame);
		pc = end > pc ? end : pc + 1;
	}
	return err;
}

static int collect_rows(struct builder *b)
{
	int err = put_no_rule(b, 0);

	b->row_count = 0; /* only the rule: number 0 is "nothing known" */
	for (size_t i = 0; !err && i < b->piece_count; i++) {
		const struct piece *p = &b->pieces[i];

		err = p->source == FROM_CODE ? table_build_put_row(b, p->start, &p->rule)
					     : put_piece_rows(b, p);
		if (!err && (i + 1 == b->piece_count || p[1].start > p->end))
			err = put_no_rule(b, p->end);
	}
	return err;
}

static void lay_out(struct unwind_table *t, const struct builder *b, uint64_t first, uint64_t last)
{
	uint64_t page_mask = (UINT64_C(1) << UNWIND_PAGE_BITS) - 1;

	t->magic = UNWIND_TABLE_MAGIC;
	t->machine = (uint16_t)b->module->machine;
	t->pc_base = first & ~page_mask;
	t->pc_end = last;
	t->row_count = (uint32_t)b->row_count;
	t->rule_count = (uint32_t)(b->rules.size / sizeof(struct unwind_rule));
	t->page_count = (uint32_t)((last - 1 - t->pc_base) >> UNWIND_PAGE_BITS) + 1;
	t->pc_offset = (uint32_t)sizeof(*t);
	t->page_offset = (t->pc_offset + t->row_count * 4 + 7) & ~7u;
	t->index_offset = (t->page_offset + (t->page_count + 1) * 4 + 7) & ~7u;
	t->rule_offset = (t->index_offset + t->row_count * 2 + 31) & ~31u;
	t->bytes = t->rule_offset + t->rule_count * (uint32_t)sizeof(struct unwind_rule);
}

static void fill_table(struct unwind_table *t, const struct builder *b)
{
	char *block = (char *)t;
	uint32_t *pcs = (uint32_t *)(void *)(block + t->pc_offset);
	uint32_t *pages = (uint32_t *)(void *)(block + t->page_offset);
	uint16_t *index = (uint16_t *)(void *)(block + t->index_offset);
	uint32_t row = 0;

	for (uint32_t i = 0; i < t->row_count; i++) {
		pcs[i] = (uint32_t)(b->rows[i].pc - t->pc_base);
		index[i] = (uint16_t)b->rows[i].rule;
	}
	for (uint32_t i = 0; i <= t->page_count; i++) {
		while (row < t->row_count &&
		       (i == t->page_count || pcs[row] < (uint64_t)i << UNWIND_PAGE_BITS))
			row++;
		pages[i] = row;
	}
	memcpy(block + t->rule_offset, b->rules.data, b->rules.size);
}

/* A table covers 32 bits of addresses; code beyond 4 GiB from the first row is left out. */
static int write_table(struct builder *b, struct unwind_table **out)
{
	struct unwind_table head = {.magic = 0}, *table;
	struct row *rows = b->rows;
	uint64_t last;

	while (b->row_count > 0 && rows[b->row_count - 1].pc - rows[0].pc > UINT32_MAX - 4096)
		b->row_count--;
	if (b->row_count < 2)
		return -ENOENT;
	last = rows[--b->row_count].pc; /* the end of coverage is pc_end, not a row */
	lay_out(&head, b, rows[0].pc, last);
	table = calloc(1, head.bytes);
	if (!table)
		return -ENOMEM;
	*table = head;
	fill_table(table, b);
	*out = table;
	return 0;
}

/* Keeps the ranges of code that the entries cover. */
static void keep_entries(const struct builder *b, struct buf *entries)
{
	for (size_t i = 0; i < b->piece_count; i++) {
		const struct piece *p = &b->pieces[i];
		struct elf_entry entry = {.start = p->start, .end = p->end};

		if (p->source != FROM_CODE)
			buf_put(entries, &entry, sizeof(entry));
	}
}

/* The module's table and entries; 0 or -errno. */
static int table_build(struct elf_module *m)
{
	struct builder b = {.module = m, .rule_numbers = map_new(), .work_max = WORK_MIN};
	int err = b.rule_numbers ? collect_pieces(&b) : -ENOMEM;

	if (!err)
		keep_entries(&b, &m->entries);
	if (!err)
		err = collect_rows(&b);
	if (!err)
		err = write_table(&b, &m->table);
	m->rejected = b.rejected;
	for (int i = 0; i < FROM_CODE; i++)
		cfi_close(&b.cfi[i]);
	free(b.pieces);
	free(b.rows);
	buf_free(&b.rules);
	map_free(b.rule_numbers);
	return err;
}

const struct unwind_table *elf_module_table(struct elf_module *m)
{
	if (!m->has_tried_table) {
		m->has_tried_table = 1;
		if (table_build(m) != 0)
			m->table = NULL;
	}
	return m->table;
}

struct unwind_table *elf_module_take_table(struct elf_module *m)
{
	struct unwind_table *table = (struct unwind_table *)(uintptr_t)elf_module_table(m);

	m->table = NULL;
	return table;
}

int elf_module_entry(struct elf_module *m, uint64_t address, uint64_t *start)
{
	const struct elf_entry *entry;
	size_t count, at;

	elf_module_table(m);
	entry = (const void *)m->entries.data;
	count = m->entries.size / sizeof(*entry);
	at = array_upto(entry, count, sizeof(*entry), offsetof(struct elf_entry, end), address);
	if (at == count || entry[at].start > address)
		return -ENOENT;
	*start = entry[at].start;
	return 0;
}

uint32_t elf_module_rejected(const struct elf_module *m)
{
	return m->rejected;
}
