/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Looking up a pc in an unwind table, and checking that a block is one.
 *
 * A page index narrows the binary search to the rows of 4 KiB of code, so that a lookup
 * touches two or three cache lines. Runs in signal handlers of the target: see rules.h.
 */
#include "unwind/rules.h"

#include <errno.h>

static const uint32_t *table_pcs(const struct unwind_table *t)
{
	return (const uint32_t *)(const void *)((const char *)t + t->pc_offset);
}

static const uint32_t *table_pages(const struct unwind_table *t)
{
	return (const uint32_t *)(const void *)((const char *)t + t->page_offset);
}

static const uint16_t *table_index(const struct unwind_table *t)
{
	return (const uint16_t *)(const void *)((const char *)t + t->index_offset);
}

static const struct unwind_rule *table_rules(const struct unwind_table *t)
{
	return (const struct unwind_rule *)(const void *)((const char *)t + t->rule_offset);
}

/* Number of rows whose pc is at most @pc. */
static uint32_t rows_up_to(const struct unwind_table *t, uint32_t pc)
{
	const uint32_t *pcs = table_pcs(t), *pages = table_pages(t) + (pc >> UNWIND_PAGE_BITS);
	uint32_t first = pages[0], count = pages[1] - pages[0];

	while (count > 0) {
		uint32_t half = (count + 1) / 2;

		first += pcs[first + half - 1] <= pc ? half : 0;
		count -= half;
	}
	return first;
}

const struct unwind_rule *unwind_table_find(const struct unwind_table *table, uint64_t address)
{
	const struct unwind_rule *rule;
	uint32_t row;

	if (address < table->pc_base || address >= table->pc_end)
		return NULL;
	row = rows_up_to(table, (uint32_t)(address - table->pc_base));
	if (row == 0)
		return NULL;
	rule = &table_rules(table)[table_index(table)[row - 1]];
	return rule->cfa == UNWIND_CFA_NONE ? NULL : rule;
}

static int section_is_inside(const struct unwind_table *t, uint32_t offset, uint64_t count,
			     uint32_t size)
{
	return offset >= sizeof(*t) && offset % size == 0 && offset <= t->bytes &&
	       count * size <= t->bytes - offset;
}

static int header_is_sound(const struct unwind_table *t, size_t bytes)
{
	uint64_t span;

	if (t->magic != UNWIND_TABLE_MAGIC || t->bytes > bytes || t->bytes % 8 != 0)
		return 0;
	if (t->machine != UNWIND_X86_64 && t->machine != UNWIND_AARCH64)
		return 0;
	if (t->rsv != 0 || t->rsv2 != 0 || t->rule_count == 0 || t->rule_count > UINT16_MAX)
		return 0;
	if (t->pc_end <= t->pc_base || t->pc_base % (1u << UNWIND_PAGE_BITS) != 0)
		return 0;
	span = t->pc_end - t->pc_base;
	if (span > (UINT64_C(1) << 32) || t->page_count != ((span - 1) >> UNWIND_PAGE_BITS) + 1)
		return 0;
	return section_is_inside(t, t->pc_offset, t->row_count, 4) &&
	       section_is_inside(t, t->page_offset, (uint64_t)t->page_count + 1, 4) &&
	       section_is_inside(t, t->index_offset, t->row_count, 2) &&
	       section_is_inside(t, t->rule_offset, t->rule_count, sizeof(struct unwind_rule));
}

static int rows_are_sound(const struct unwind_table *t)
{
	const uint32_t *pcs = table_pcs(t);
	const uint16_t *index = table_index(t);

	for (uint32_t i = 0; i < t->row_count; i++)
		if (index[i] >= t->rule_count || (i > 0 && pcs[i] <= pcs[i - 1]) ||
		    pcs[i] >= t->pc_end - t->pc_base)
			return 0;
	return 1;
}

static int pages_are_sound(const struct unwind_table *t)
{
	const uint32_t *pcs = table_pcs(t), *pages = table_pages(t);
	uint32_t row = 0;

	for (uint64_t i = 0; i < t->page_count; i++) {
		while (row < t->row_count && pcs[row] < i << UNWIND_PAGE_BITS)
			row++;
		if (pages[i] != row)
			return 0;
	}
	return pages[t->page_count] == t->row_count;
}

static int saves_are_sound(const struct unwind_rule *r, int machine)
{
	for (unsigned int s = 0; s < UNWIND_SLOTS; s++)
		if ((r->saves >> (2 * s) & 3) != UNWIND_SAME &&
		    unwind_slot_register(machine, s) < 0)
			return 0;
	return 1;
}

static int rule_is_sound(const struct unwind_rule *r, int machine)
{
	int registers = machine == UNWIND_X86_64 ? 17 : UNWIND_REGISTERS;

	if (r->cfa >= UNWIND_CFA_KINDS || r->flags > UNWIND_RULE_EXACT || r->rsv[0] || r->rsv[1])
		return 0;
	if (r->cfa == UNWIND_CFA_NONE || r->cfa == UNWIND_CFA_END || r->cfa == UNWIND_CFA_SIGNAL)
		return 1;
	if (r->cfa == UNWIND_CFA_PLT && machine != UNWIND_X86_64)
		return 0;
	if (r->cfa_register >= registers || r->ra == UNWIND_SAME || r->ra > UNWIND_IN_REGISTER)
		return 0;
	if (r->ra == UNWIND_IN_REGISTER && (r->ra_offset < 0 || r->ra_offset >= registers))
		return 0;
	return saves_are_sound(r, machine);
}

int unwind_table_check(const void *block, size_t bytes)
{
	const struct unwind_table *t = block;

	if (bytes < sizeof(*t) || (uintptr_t)block % 8 != 0 || !header_is_sound(t, bytes))
		return -EINVAL;
	if (!rows_are_sound(t) || !pages_are_sound(t))
		return -EINVAL;
	for (uint32_t i = 0; i < t->rule_count; i++)
		if (!rule_is_sound(&table_rules(t)[i], t->machine))
			return -EINVAL;
	return table_rules(t)[0].cfa == UNWIND_CFA_NONE ? 0 : -EINVAL;
}
