/* SPDX-License-Identifier: Apache-2.0 */
/* Tables made by hand, for tests. */
#ifndef WEFT_TEST_TABLES_H
#define WEFT_TEST_TABLES_H

#include "unwind/rules.h"

struct table_row {
	uint64_t pc;
	uint16_t rule;
};

/* A sound table, malloc'ed, of exactly table->bytes bytes. Rule 0 is put before @rules. */
struct unwind_table *table_new(int machine, const struct table_row *rows, uint32_t row_count,
			       const struct unwind_rule *rules, uint32_t rule_count,
			       uint64_t pc_end);

/* Reproducible noise. */
uint64_t noise(uint64_t *state);

#endif
