/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A sound unwind table out of any bytes: so that a fuzzer gets past the check every time, and
 * what it changes is what the table says.
 */
#ifndef TABLE_RECIPE_H
#define TABLE_RECIPE_H

#include "unwind/rules.h"

#include <string.h>

#define RECIPE_PAGES 8
#define RECIPE_ROWS 128
#define RECIPE_RULES 16
#define RECIPE_BASE UINT64_C(0x1000)
#define RECIPE_INDEX (sizeof(struct unwind_table) + RECIPE_ROWS * 4 + (RECIPE_PAGES + 1) * 4)
#define RECIPE_RULE_AT ((RECIPE_INDEX + RECIPE_ROWS * 2 + 31) / 32 * 32)
#define RECIPE_BYTES (RECIPE_RULE_AT + RECIPE_RULES * sizeof(struct unwind_rule))

/* Bytes of the input; zeros when they are used up. */
struct recipe {
	const uint8_t *at, *end;
};

static inline uint64_t recipe_take(struct recipe *r, unsigned int bytes)
{
	uint64_t value = 0;

	for (unsigned int i = 0; i < bytes && r->at < r->end; i++)
		value |= (uint64_t)*r->at++ << 8 * i;
	return value;
}

static inline struct unwind_rule recipe_rule(struct recipe *r, int machine)
{
	unsigned int registers = machine == UNWIND_X86_64 ? 17 : UNWIND_REGISTERS;
	struct unwind_rule rule = {
		.cfa = (uint8_t)(recipe_take(r, 1) % UNWIND_CFA_KINDS),
		.cfa_register = (uint8_t)(recipe_take(r, 1) % registers),
		.ra = (uint8_t)(1 + recipe_take(r, 1) % 3),
		.flags = recipe_take(r, 1) & 1,
		.cfa_offset = (int8_t)recipe_take(r, 1) * 8,
		.cfa_extra = (int8_t)recipe_take(r, 1),
		.ra_offset = (int8_t)recipe_take(r, 1),
		.saves = (uint16_t)recipe_take(r, 2),
	};

	if (rule.cfa == UNWIND_CFA_PLT && machine != UNWIND_X86_64)
		rule.cfa = UNWIND_CFA_REGISTER;
	if (rule.ra == UNWIND_IN_REGISTER)
		rule.ra_offset = (int16_t)((uint8_t)rule.ra_offset % registers);
	for (unsigned int s = 0; s < UNWIND_SLOTS; s++) {
		rule.slot[s] = (int8_t)recipe_take(r, 1);
		if (unwind_slot_register(machine, s) < 0)
			rule.saves &= (uint16_t) ~(3u << 2 * s);
	}
	return rule;
}

/* Where things lie, of a size that is the same for all. */
static inline void recipe_header(struct unwind_table *t, int machine, uint32_t rows)
{
	*t = (struct unwind_table){
		.magic = UNWIND_TABLE_MAGIC,
		.machine = (uint16_t)machine,
		.bytes = RECIPE_BYTES,
		.row_count = rows,
		.rule_count = RECIPE_RULES,
		.page_count = RECIPE_PAGES,
		.pc_offset = sizeof(*t),
		.page_offset = sizeof(*t) + RECIPE_ROWS * 4,
		.index_offset = RECIPE_INDEX,
		.rule_offset = RECIPE_RULE_AT,
		.pc_base = RECIPE_BASE,
		.pc_end = RECIPE_BASE + (RECIPE_PAGES << UNWIND_PAGE_BITS),
	};
}

/* Fills @block, of RECIPE_BYTES and aligned to 8. */
static inline struct unwind_table *recipe_table(struct recipe *r, int machine, void *block)
{
	struct unwind_table *t = block;
	uint32_t rows = (uint32_t)recipe_take(r, 1) % (RECIPE_ROWS + 1), pc = 0, row = 0;
	uint32_t *pcs, *pages;
	uint16_t *index;
	struct unwind_rule *rules;

	memset(block, 0, RECIPE_BYTES);
	recipe_header(t, machine, rows);
	pcs = (uint32_t *)(void *)((char *)block + t->pc_offset);
	pages = (uint32_t *)(void *)((char *)block + t->page_offset);
	index = (uint16_t *)(void *)((char *)block + t->index_offset);
	rules = (struct unwind_rule *)(void *)((char *)block + t->rule_offset);
	for (uint32_t i = 0; i < rows; i++) {
		pcs[i] = pc;
		pc += 1 + (uint32_t)recipe_take(r, 1);
		index[i] = (uint16_t)(recipe_take(r, 1) % RECIPE_RULES);
	}
	for (uint32_t page = 0; page <= RECIPE_PAGES; page++) {
		while (row < rows && pcs[row] < page << UNWIND_PAGE_BITS)
			row++;
		pages[page] = row;
	}
	for (unsigned int i = 1; i < RECIPE_RULES; i++)
		rules[i] = recipe_rule(r, machine);
	return t;
}

/* A word of a stack as walks like them: code, another place of the stack, or anything. */
static inline uint64_t recipe_word(struct recipe *r, uint64_t code, uint64_t stack)
{
	uint64_t kind = recipe_take(r, 1);

	if (kind < 128)
		return code + recipe_take(r, 2) % (RECIPE_PAGES << UNWIND_PAGE_BITS);
	if (kind < 250)
		return stack + recipe_take(r, 1) * 8;
	return recipe_take(r, 8);
}

#endif
