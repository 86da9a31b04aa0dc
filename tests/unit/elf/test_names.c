/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Description: code has the names that people know it by: of aliases the plain one, static
 * functions, untyped assembler, PLT stubs, C++ and Rust demangled; and every function of
 * libc that nm lists is found. Arguments: a library, the same without .symtab.
 */
#include "elf/image/internal.h"
#include "elf/module.h"

#include <errno.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const char *library, *stripped;

/* Address of @symbol by nm; 0 when it has none. */
static uint64_t address_of(const char *path, const char *symbol)
{
	char line[4096], name[1024];
	uint64_t address, found = 0;
	FILE *from;

	snprintf(line, sizeof(line), "nm '%s' 2>/dev/null", path);
	from = popen(line, "re");
	while (fgets(line, sizeof(line), from))
		if (sscanf(line, "%" SCNx64 " %*c %1023s", &address, name) == 2 &&
		    strcmp(name, symbol) == 0)
			found = address;
	pclose(from);
	return found;
}

static void check_name(struct elf_module *m, uint64_t address, const char *expected, int is_cpp)
{
	struct elf_symbol symbol;

	assert_true(address > 0);
	assert_int_equal(elf_module_symbol(m, address, &symbol), 0);
	assert_string_equal(symbol.name, expected);
	assert_int_equal(symbol.is_cpp, is_cpp);
	assert_int_equal(symbol.address, address);
}

static void knows_every_kind(void **state)
{
	static const struct {
		const char *symbol, *shown;
		int is_cpp;
	} expected[] = {
		{"__fixture_plain", "fixture_plain", 0},
		{"fixture_static", "fixture_static", 0},
		{"fixture_assembler", "fixture_assembler", 0},
		{"fixture_after", "fixture_after", 0},
		{"_ZN4demo6Widget4drawEi", "demo::Widget::draw(int)", 1},
		{"_ZN4core3fmt9Formatter3pad17h0123456789abcdefE", "core::fmt::Formatter::pad", 1},
		{"_RNvC6_123foo3bar", "123foo::bar", 1},
	};
	struct elf_symbol symbol;
	struct elf_module *m;
	uint64_t at;

	(void)state;
	assert_int_equal(elf_module_open(&m, library, -1, "fixture"), 0);
	for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++)
		check_name(m, address_of(library, expected[i].symbol), expected[i].shown,
			   expected[i].is_cpp);
	at = address_of(library, "fixture_assembler");
	assert_int_equal(elf_module_symbol(m, at + 2, &symbol), 0);
	assert_string_equal(symbol.name, "fixture_assembler");
	assert_int_equal(symbol.size, address_of(library, "fixture_after") - at);
	assert_int_equal(elf_module_symbol(m, 1, &symbol), -ENOENT);
	assert_int_equal(elf_module_symbol(m, UINT64_MAX, &symbol), -ENOENT);
	elf_module_free(m);
}

static void dynsym_is_second_best(void **state)
{
	struct elf_symbol symbol;
	struct elf_module *m;

	(void)state;
	assert_int_equal(elf_module_open(&m, stripped, -1, "stripped"), 0);
	check_name(m, address_of(library, "_ZN4demo6Widget4drawEi"), "demo::Widget::draw(int)", 1);
	check_name(m, address_of(library, "__fixture_plain"), "fixture_plain", 0);
	/* A static function has no name any more, and does not get its neighbour's. */
	assert_int_equal(elf_module_symbol(m, address_of(library, "fixture_static"), &symbol),
			 -ENOENT);
	elf_module_free(m);
}

/* A stripped static function still begins where its unwind entry says. */
static void nameless_code_has_a_beginning(void **state)
{
	uint64_t at = address_of(library, "fixture_static"), start = 0;
	struct elf_module *m;

	(void)state;
	assert_true(at > 0);
	assert_int_equal(elf_module_open(&m, stripped, -1, "stripped"), 0);
	assert_int_equal(elf_module_entry(m, at, &start), 0);
	assert_int_equal(start, at);
	start = 0;
	assert_int_equal(elf_module_entry(m, at + 1, &start), 0);
	assert_int_equal(start, at);
	assert_int_equal(elf_module_entry(m, 1, &start), -ENOENT);
	assert_int_equal(elf_module_entry(m, UINT64_MAX, &start), -ENOENT);
	assert_int_equal(start, at);
	elf_module_free(m);
}

/* Each stub's place by objdump, which finds it in another way. */
static void stubs_have_names(void **state)
{
	char line[4096], name[256];
	unsigned int found = 0;
	struct elf_module *m;
	uint64_t address;
	FILE *from;

	(void)state;
	assert_int_equal(elf_module_open(&m, library, -1, "fixture"), 0);
	snprintf(line, sizeof(line), "objdump -d '%s'", library);
	from = popen(line, "re");
	while (fgets(line, sizeof(line), from)) {
		if (sscanf(line, "%" SCNx64 " <%255[^>]>:", &address, name) != 2 ||
		    !strstr(name, "@plt") || strchr(name, '-') || strchr(name, '*'))
			continue;
		check_name(m, address, name, 0);
		found += strcmp(name, "getenv@plt") == 0 || strcmp(name, "strlen@plt") == 0;
	}
	pclose(from);
	elf_module_free(m);
	assert_int_equal(found, 2);
}

static void finds_all_of_libc(void **state)
{
	static const char libc[] = "/lib/x86_64-linux-gnu/libc.so.6";
	char line[4096], name[1024], kind;
	unsigned int functions = 0, by_name = 0;
	struct elf_symbol symbol;
	struct elf_module *m;
	uint64_t address;
	FILE *from;

	(void)state;
	if (elf_module_open(&m, libc, -1, "libc.so.6") != 0)
		skip();
	snprintf(line, sizeof(line), "nm -D --defined-only '%s'", libc);
	from = popen(line, "re");
	while (fgets(line, sizeof(line), from)) {
		if (sscanf(line, "%" SCNx64 " %c %1023[^@\n]", &address, &kind, name) != 3 ||
		    !strchr("TWi", kind))
			continue;
		functions++;
		assert_int_equal(elf_module_symbol(m, address, &symbol), 0);
		assert_int_equal(symbol.address, address);
		assert_null(strchr(symbol.name, '@'));
		by_name += strcmp(symbol.name, name) == 0;
		if (strcmp(name, "malloc") == 0 || strcmp(name, "qsort") == 0)
			assert_string_equal(symbol.name, name);
	}
	pclose(from);
	elf_module_free(m);
	print_message("%u functions of libc, %u by that of their names\n", functions, by_name);
	assert_true(functions > 1000 && by_name > functions / 2);
}

/* Each level names the one before twice: written out, 2^30 words. */
static char *bomb(void)
{
	static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
	char *text = calloc(1, 1024), *at = text;

	assert_non_null(text);
	at += sprintf(at, "_Z1f1aIiiE");
	for (int i = 0; i < 30; i++)
		at += sprintf(at, i == 0 ? "S_IS0_S0_E" : "S_IS%c_S%c_E", digits[i], digits[i]);
	return text;
}

static void bombs_do_not_go_off(void **state)
{
	char *mangled = bomb(), *shown = elf_demangle(mangled);

	(void)state;
	assert_null(shown);
	free(mangled);
	shown = elf_demangle("_ZN1aIiE1fEv");
	assert_string_equal(shown, "a<int>::f()");
	free(shown);
	assert_null(elf_demangle("main"));
	assert_null(elf_demangle("_start"));
	assert_null(elf_demangle("_Z"));
	assert_null(elf_demangle("_ZN"));
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(knows_every_kind),
		cmocka_unit_test(dynsym_is_second_best),
		cmocka_unit_test(nameless_code_has_a_beginning),
		cmocka_unit_test(stubs_have_names),
		cmocka_unit_test(finds_all_of_libc),
		cmocka_unit_test(bombs_do_not_go_off),
	};

	if (argc != 3)
		return 2;
	library = argv[1];
	stripped = argv[2];
	return cmocka_run_group_tests(tests, NULL, NULL);
}
