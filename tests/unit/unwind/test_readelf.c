/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Description: at the start of every row that `readelf --debug-dump=frames-interp` prints
 * for real libraries, our table has a rule that says the same about the CFA, the return
 * address and each register it holds. Arguments: files.
 */
#include "elf/module.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define COLUMNS_MAX 96

struct comparison {
	const struct unwind_table *table;
	int machine;
	char columns[COLUMNS_MAX][8];
	int column_count;
	unsigned int rows, different;
};

static char **files;

static int register_number(int machine, const char *name)
{
	static const char *const x86_64[] = {"rax", "rdx", "rcx", "rbx", "rsi", "rdi",
					     "rbp", "rsp", "r8",  "r9",  "r10", "r11",
					     "r12", "r13", "r14", "r15"};

	if (machine == UNWIND_AARCH64)
		return strcmp(name, "sp") == 0 ? 31 : name[0] == 'x' ? atoi(name + 1) : -1;
	for (int i = 0; i < 16; i++)
		if (strcmp(name, x86_64[i]) == 0)
			return i;
	return -1;
}

static int cfa_agrees(const struct comparison *c, const struct unwind_rule *rule, const char *text)
{
	char name[8];
	int offset;

	if (strcmp(text, "exp") == 0)
		return rule->cfa == UNWIND_CFA_PLT || rule->cfa == UNWIND_CFA_DEREF ||
		       rule->cfa == UNWIND_CFA_SIGNAL;
	return rule->cfa == UNWIND_CFA_SIGNAL ||
	       (sscanf(text, "%7[a-z0-9]%d", name, &offset) == 2 &&
		rule->cfa == UNWIND_CFA_REGISTER && rule->cfa_offset == offset &&
		rule->cfa_register == register_number(c->machine, name));
}

static int ra_agrees(const struct comparison *c, const struct unwind_rule *rule, const char *text)
{
	int offset;

	if (rule->cfa == UNWIND_CFA_SIGNAL)
		return 1;
	if (strcmp(text, "u") == 0) /* readelf: undefined, or (aarch64) never mentioned */
		return rule->cfa == UNWIND_CFA_END ||
		       (c->machine == UNWIND_AARCH64 && rule->ra == UNWIND_IN_REGISTER);
	if (sscanf(text, "c%d", &offset) == 1)
		return rule->ra == UNWIND_AT_CFA && rule->ra_offset * 8 == offset;
	if (strcmp(text, "exp") == 0)
		return rule->ra == UNWIND_AT_FP || rule->ra == UNWIND_AT_CFA;
	return rule->ra == UNWIND_IN_REGISTER &&
	       (strcmp(text, "s") == 0 || rule->ra_offset == register_number(c->machine, text));
}

static int save_agrees(const struct comparison *c, const struct unwind_rule *rule,
		       const char *column, const char *text)
{
	int number = register_number(c->machine, column), offset;
	unsigned int slot = 0, how;

	while (slot < UNWIND_SLOTS &&
	       (number < 0 || unwind_slot_register(c->machine, slot) != number))
		slot++;
	if (slot == UNWIND_SLOTS || rule->cfa == UNWIND_CFA_SIGNAL)
		return 1;
	how = rule->saves >> (2 * slot) & 3;
	if (sscanf(text, "c%d", &offset) == 1)
		return how == UNWIND_AT_CFA && rule->slot[slot] * 8 == offset;
	if (strcmp(text, "s") == 0)
		return how == UNWIND_SAME;
	if (strcmp(text, "u") == 0) /* never mentioned: calls preserve it */
		return how == UNWIND_SAME || (how == UNWIND_LOST && c->machine == UNWIND_AARCH64);
	return how != UNWIND_SAME; /* expressions, other registers */
}

/* longjmp says that the caller's SP is in a register: there is no rule for that. */
static int sp_is_elsewhere(const struct comparison *c, char *const *cells, int count)
{
	for (int i = 2; i < c->column_count && i < count; i++)
		if (strcmp(c->columns[i], "rsp") == 0 && strcmp(cells[i], "u") != 0 &&
		    register_number(c->machine, cells[i]) >= 0)
			return 1;
	return 0;
}

static int row_agrees(const struct comparison *c, const struct unwind_rule *rule,
		      char *const *cells, int count)
{
	if (sp_is_elsewhere(c, cells, count))
		return !rule || rule->cfa == UNWIND_CFA_NONE;
	if (!rule || count < c->column_count)
		return 0;
	if (rule->cfa == UNWIND_CFA_END) {
		for (int i = 2; i < c->column_count; i++)
			if (strcmp(c->columns[i], "ra") == 0)
				return strcmp(cells[i], "u") == 0;
		return 0;
	}
	if (!cfa_agrees(c, rule, cells[1]))
		return 0;
	for (int i = 2; i < c->column_count; i++)
		if (strcmp(c->columns[i], "ra") == 0
			    ? !ra_agrees(c, rule, cells[i])
			    : !save_agrees(c, rule, c->columns[i], cells[i]))
			return 0;
	return 1;
}

static int split(char *line, char **cells)
{
	int count = 0;

	for (char *cell = strtok(line, " \n"); cell && count < COLUMNS_MAX;
	     cell = strtok(NULL, " \n")) {
		if (cell[0] != '(') {
			cells[count++] = cell;
		} else if (count > 0) { /* "r5 (rdi)" is one cell: rdi */
			cell[strcspn(cell, ")")] = '\0';
			cells[count - 1] = cell + 1;
		}
	}
	return count;
}

static void compare_line(struct comparison *c, char *line)
{
	char copy[2048], *cells[COLUMNS_MAX], *end;
	uint64_t pc;
	int count;

	snprintf(copy, sizeof(copy), "%s", line);
	count = split(line, cells);
	if (count >= 2 && strcmp(cells[0], "LOC") == 0 && strcmp(cells[1], "CFA") == 0) {
		c->column_count = count;
		for (int i = 0; i < count; i++)
			snprintf(c->columns[i], sizeof(c->columns[i]), "%s", cells[i]);
		return;
	}
	if (count < 2 || strlen(cells[0]) != 16 || c->column_count == 0)
		return;
	pc = strtoull(cells[0], &end, 16);
	if (*end || cells[1][0] == '0') /* the heads of entries begin with numbers too */
		return;
	c->rows++;
	if (!row_agrees(c, unwind_table_find(c->table, pc), cells, count) && c->different++ < 5)
		print_message("  differs: %s", copy);
}

/* Rows of CIEs come before an entry's and have no place. */
static void compare_output(struct comparison *c, FILE *from)
{
	char line[2048];
	int in_entry = 0;

	while (fgets(line, sizeof(line), from)) {
		if (strstr(line, " CIE "))
			in_entry = 0;
		else if (strstr(line, " FDE "))
			in_entry = 1;
		else if (in_entry)
			compare_line(c, line);
	}
}

static void compare_file(const char *path)
{
	struct comparison c = {.rows = 0};
	struct elf_module *module;
	char command[4096];
	FILE *from;

	assert_int_equal(elf_module_open(&module, path, -1, path), 0);
	c.table = elf_module_table(module);
	c.machine = elf_module_machine(module);
	assert_non_null(c.table);
	assert_int_equal(unwind_table_check(c.table, c.table->bytes), 0);
	snprintf(command, sizeof(command), "readelf -wF '%s' 2>/dev/null", path);
	from = popen(command, "re");
	assert_non_null(from);
	compare_output(&c, from);
	pclose(from);
	print_message("%s: %u rows, %u different\n", path, c.rows, c.different);
	elf_module_free(module);
	assert_true(c.rows > 50);
	assert_int_equal(c.different, 0);
}

static void tables_agree_with_readelf(void **state)
{
	unsigned int compared = 0;

	(void)state;
	for (char **file = files; *file; file++)
		if (access(*file, R_OK) == 0) {
			compare_file(*file);
			compared++;
		}
	assert_true(compared > 0);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tables_agree_with_readelf),
	};

	(void)argc;
	files = argv + 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
