/* SPDX-License-Identifier: Apache-2.0 */
/* See tables.h. */
#include "tables.h"

#include <stdlib.h>
#include <string.h>

uint64_t noise(uint64_t *state)
{
	*state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return *state >> 16 ^ *state >> 41;
}

static uint32_t round_up(uint32_t bytes)
{
	return (bytes + 7) & ~7u;
}

struct unwind_table *table_new(int machine, const struct table_row *rows, uint32_t row_count,
			       const struct unwind_rule *rules, uint32_t rule_count,
			       uint64_t pc_end)
{
	uint64_t base = row_count ? rows[0].pc & ~UINT64_C(4095) : 0;
	struct unwind_table head = {
		.magic = UNWIND_TABLE_MAGIC,
		.machine = (uint16_t)machine,
		.row_count = row_count,
		.rule_count = rule_count + 1,
		.page_count = (uint32_t)((pc_end - 1 - base) >> 12) + 1,
		.pc_offset = sizeof(head),
		.pc_base = base,
		.pc_end = pc_end,
	};
	struct unwind_table *t;
	uint32_t *pcs, *pages;

	head.page_offset = round_up(head.pc_offset + 4 * row_count);
	head.index_offset = round_up(head.page_offset + 4 * (head.page_count + 1));
	head.rule_offset = (head.index_offset + 2 * row_count + 31) & ~31u;
	head.bytes = head.rule_offset + head.rule_count * (uint32_t)sizeof(*rules);
	t = calloc(1, head.bytes);
	if (!t)
		abort();
	*t = head;
	pcs = (uint32_t *)(void *)((char *)t + head.pc_offset);
	pages = (uint32_t *)(void *)((char *)t + head.page_offset);
	for (uint32_t i = 0; i < row_count; i++) {
		pcs[i] = (uint32_t)(rows[i].pc - base);
		memcpy((char *)t + head.index_offset + 2 * i, &rows[i].rule, 2);
	}
	for (uint32_t i = 0; i <= head.page_count; i++)
		for (uint32_t row = 0; row < row_count; row++)
			pages[i] += i == head.page_count || pcs[row] < (uint64_t)i << 12;
	if (rule_count)
		memcpy((char *)t + head.rule_offset + sizeof(*rules), rules,
		       rule_count * sizeof(*rules));
	return t;
}
