/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Description: a table lookup finds the last row at or before a pc; unwind_table_check()
 * refuses every lie, and what it lets pass is safe to look into.
 */
#include "tables.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define RULE(offset)                                                                               \
	{                                                                                          \
		.cfa = UNWIND_CFA_REGISTER, .cfa_register = 7, .cfa_offset = (offset),             \
		.ra = UNWIND_AT_CFA, .ra_offset = -1                                               \
	}

static const struct unwind_rule rules[] = {RULE(8), RULE(16), RULE(24)};

static const struct table_row rows[] = {
	{0x1010, 1}, {0x1011, 2}, {0x1400, 3}, {0x1fff, 1}, {0x2000, 0},
	{0x5003, 2}, {0x5004, 1}, {0x8000, 3}, {0x8ffe, 0}, {0x8fff, 2},
};
enum { ROWS = sizeof(rows) / sizeof(rows[0]), END = 0x9100 };

static struct unwind_table *sound_table(void)
{
	return table_new(UNWIND_X86_64, rows, ROWS, rules, 3, END);
}

static int expected_offset(uint64_t pc)
{
	int rule = 0;

	for (unsigned int i = 0; i < ROWS && pc < END; i++)
		if (rows[i].pc <= pc)
			rule = rows[i].rule;
	return rule ? rules[rule - 1].cfa_offset : 0;
}

static void finds_the_row(void **state)
{
	struct unwind_table *t = sound_table();

	(void)state;
	assert_int_equal(unwind_table_check(t, t->bytes), 0);
	for (uint64_t pc = 0; pc < 0xb000; pc++) {
		const struct unwind_rule *rule = unwind_table_find(t, pc);

		assert_int_equal(rule ? rule->cfa_offset : 0, expected_offset(pc));
	}
	assert_null(unwind_table_find(t, UINT64_MAX));
	free(t);
}

static void finds_among_many(void **state)
{
	enum { MANY = 5000 };
	struct table_row *many = calloc(MANY, sizeof(*many));
	uint64_t pc = 0x400000, seed = 7;
	struct unwind_table *t;

	(void)state;
	for (unsigned int i = 0; i < MANY; i++) {
		many[i] = (struct table_row){pc, (uint16_t)(i % 4)};
		pc += 1 + noise(&seed) % (i % 7 ? 30 : 9000);
	}
	t = table_new(UNWIND_X86_64, many, MANY, rules, 3, pc);
	assert_int_equal(unwind_table_check(t, t->bytes), 0);
	for (unsigned int i = 0; i + 1 < MANY; i++) {
		const struct unwind_rule *first = unwind_table_find(t, many[i].pc);
		const struct unwind_rule *last = unwind_table_find(t, many[i + 1].pc - 1);

		assert_ptr_equal(first, last);
		assert_int_equal(first ? first->cfa_offset : 0,
				 i % 4 ? rules[i % 4 - 1].cfa_offset : 0);
	}
	free(t);
	free(many);
}

static void refuses(struct unwind_table *lie, size_t bytes)
{
	assert_int_equal(unwind_table_check(lie, bytes), -EINVAL);
	free(lie);
}

#define REFUSES(change)                                                                            \
	do {                                                                                       \
		struct unwind_table *t = sound_table();                                            \
		struct unwind_rule *rule =                                                         \
			(struct unwind_rule *)(void *)((char *)t + t->rule_offset) + 1;            \
		uint32_t *pcs = (uint32_t *)(void *)((char *)t + t->pc_offset);                    \
		uint32_t *pages = (uint32_t *)(void *)((char *)t + t->page_offset);                \
		uint16_t *index = (uint16_t *)(void *)((char *)t + t->index_offset);               \
		uint32_t bytes = t->bytes;                                                         \
		(void)rule, (void)pcs, (void)pages, (void)index;                                   \
		change;                                                                            \
		refuses(t, bytes);                                                                 \
	} while (0)

static void refuses_lies_in_the_header(void **state)
{
	(void)state;
	REFUSES(t->magic++);
	REFUSES(t->machine = 3);
	REFUSES(t->rsv = 1);
	REFUSES(t->rsv2 = 1);
	REFUSES(t->bytes += 8);
	REFUSES(t->bytes -= 8);
	REFUSES(t->bytes = 0);
	REFUSES(t->row_count = UINT32_MAX);
	REFUSES(t->row_count++);
	REFUSES(t->rule_count++);
	REFUSES(t->rule_count = 0);
	REFUSES(t->rule_count = 65536);
	REFUSES(t->page_count++);
	REFUSES(t->page_count--);
	REFUSES(t->pc_offset = 0);
	REFUSES(t->pc_offset += 2);
	REFUSES(t->pc_offset = t->bytes - 4);
	REFUSES(t->page_offset = UINT32_MAX - 7);
	REFUSES(t->index_offset = t->bytes);
	REFUSES(t->rule_offset += 8);
	REFUSES(t->pc_base = 1);
	REFUSES(t->pc_base = UINT64_MAX - 4095);
	REFUSES(t->pc_end = t->pc_base);
	REFUSES(t->pc_end = UINT64_MAX);
	REFUSES(t->pc_end = 0x8fff);
	REFUSES(bytes = 63);
	REFUSES(bytes -= 1);
}

static void refuses_lies_in_rows_and_rules(void **state)
{
	(void)state;
	REFUSES(pcs[3] = pcs[2]);
	REFUSES(pcs[0] = UINT32_MAX);
	REFUSES(index[9] = 4);
	REFUSES(pages[0]++);
	REFUSES(pages[4]--);
	REFUSES(pages[t->page_count] = 0);
	REFUSES(rule->cfa = UNWIND_CFA_KINDS);
	REFUSES(rule->cfa_register = 17);
	REFUSES(rule->ra = UNWIND_SAME);
	REFUSES(rule->ra = 4);
	REFUSES((rule->ra = UNWIND_IN_REGISTER, rule->ra_offset = -1));
	REFUSES((rule->ra = UNWIND_IN_REGISTER, rule->ra_offset = 17));
	REFUSES(rule->flags = 2);
	REFUSES(rule->saves = 1u << 12); /* no such slot on this machine */
	REFUSES(rule->rsv[1] = 1);
	REFUSES(rule[-1].cfa = UNWIND_CFA_REGISTER);
}

static void refuses_what_is_not_aligned(void **state)
{
	struct unwind_table *t = sound_table();
	char *room = malloc(t->bytes + 8);

	(void)state;
	memcpy(room + 4, t, t->bytes);
	assert_int_equal(unwind_table_check(room + 4, t->bytes), -EINVAL);
	free(room);
	free(t);
}

static void look_everywhere(const struct unwind_table *t, uint64_t *seed)
{
	unsigned int kinds[UNWIND_CFA_KINDS] = {0};

	for (uint64_t pc = t->pc_base; pc < END + 4096; pc += 1 + noise(seed) % 99) {
		const struct unwind_rule *rule = unwind_table_find(t, pc);

		if (rule)
			kinds[rule->cfa]++;
	}
	assert_int_equal(kinds[UNWIND_CFA_NONE], 0);
}

/* Sanitizer builds see a read outside the block. */
static void what_passes_is_safe(void **state)
{
	uint64_t seed = 1;
	unsigned int passed = 0, refused = 0;

	(void)state;
	for (unsigned int i = 0; i < 20000; i++) {
		struct unwind_table *t = sound_table();
		uint32_t bytes = t->bytes;

		for (uint64_t changes = 1 + noise(&seed) % 3; changes > 0; changes--)
			((uint8_t *)t)[noise(&seed) % bytes] ^= (uint8_t)(1u << noise(&seed) % 8);
		if (unwind_table_check(t, bytes) != 0) {
			refused++;
		} else {
			passed++;
			look_everywhere(t, &seed);
		}
		free(t);
	}
	print_message("%u changed tables refused, %u sound\n", refused, passed);
	assert_true(refused > passed && passed > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(finds_the_row),
		cmocka_unit_test(finds_among_many),
		cmocka_unit_test(refuses_lies_in_the_header),
		cmocka_unit_test(refuses_lies_in_rows_and_rules),
		cmocka_unit_test(refuses_what_is_not_aligned),
		cmocka_unit_test(what_passes_is_safe),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
