/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Description: ELF files open by path, descriptor and image, and say who they are; what is
 * no ELF file is refused; damage costs at most the table or the names. Argument: a library.
 */
#include "elf/module.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static const char *library;
static char directory[] = "/tmp/weft-elf-XXXXXX";

static uint8_t *read_library(size_t *bytes)
{
	FILE *from = fopen(library, "re");
	uint8_t *data;
	long size;

	assert_non_null(from);
	assert_int_equal(fseek(from, 0, SEEK_END), 0);
	size = ftell(from);
	rewind(from);
	data = malloc((size_t)size);
	assert_int_equal(fread(data, 1, (size_t)size, from), (size_t)size);
	fclose(from);
	*bytes = (size_t)size;
	return data;
}

static int open_text(const void *text, size_t bytes)
{
	struct elf_module *m = NULL;
	char path[64];
	FILE *to;
	int err;

	snprintf(path, sizeof(path), "%s/file", directory);
	to = fopen(path, "we");
	assert_int_equal(fwrite(text, 1, bytes, to), bytes);
	fclose(to);
	err = elf_module_open(&m, path, -1, "file");
	if (!err)
		elf_module_free(m);
	unlink(path);
	return err;
}

static void refuses_what_is_no_elf_file(void **state)
{
	struct elf_module *m = NULL;
	uint8_t *data;
	char path[64];
	size_t bytes;

	(void)state;
	snprintf(path, sizeof(path), "%s/fifo", directory);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(elf_module_open(&m, path, -1, "fifo"), -ENOEXEC);
	unlink(path);
	assert_int_equal(elf_module_open(&m, directory, -1, "directory"), -ENOEXEC);
	assert_int_equal(elf_module_open(&m, "/dev/null", -1, "null"), -ENOEXEC);
	assert_int_equal(elf_module_open(&m, "/no/such/file", -1, "none"), -ENOENT);
	assert_int_equal(elf_module_open_image(&m, "", 0, "nothing"), -ENOEXEC);
	assert_int_equal(open_text("", 0), -ENOEXEC);
	assert_int_equal(open_text("#!/bin/sh\n", 10), -ENOEXEC);
	data = read_library(&bytes);
	assert_int_equal(open_text(data, bytes), 0);
	assert_int_equal(open_text(data, 63), -ENOEXEC);
	data[EI_CLASS] = ELFCLASS32;
	assert_int_equal(open_text(data, bytes), -ENOEXEC);
	data[EI_CLASS] = ELFCLASS64;
	data[EI_DATA] = ELFDATA2MSB;
	assert_int_equal(open_text(data, bytes), -ENOEXEC);
	data[EI_DATA] = ELFDATA2LSB;
	data[offsetof(Elf64_Ehdr, e_machine)] = EM_RISCV;
	assert_int_equal(open_text(data, bytes), -ENOEXEC);
	assert_null(m);
	free(data);
}

static void check_identity(struct elf_module *m)
{
	static const uint8_t expected[] = {0xab, 0xcd, 0xef, 0x01, 0x23, 0x45, 0x67, 0x89};
	const struct unwind_table *table = elf_module_table(m);
	const uint8_t *id;

	assert_string_equal(elf_module_name(m), "fixture");
	assert_int_equal(elf_module_build_id(m, &id),
			 sizeof(expected)); /* by the linker's option */
	assert_memory_equal(id, expected, sizeof(expected));
	assert_non_null(table);
	assert_int_equal(unwind_table_check(table, table->bytes), 0);
	assert_int_equal(table->machine, elf_module_machine(m));
	assert_ptr_equal(table, elf_module_table(m));
	assert_int_equal(elf_module_rejected(m), 0);
}

static void opens_in_three_ways(void **state)
{
	struct elf_module *m;
	uint8_t *data;
	size_t bytes;
	int fd;

	(void)state;
	assert_int_equal(elf_module_open(&m, library, -1, "fixture"), 0);
	check_identity(m);
	elf_module_free(m);
	fd = open(library, O_RDONLY | O_CLOEXEC);
	assert_int_equal(elf_module_open(&m, NULL, fd, "fixture"), 0);
	assert_int_equal(close(fd), 0);
	check_identity(m);
	elf_module_free(m);
	data = read_library(&bytes);
	assert_int_equal(elf_module_open_image(&m, data, bytes, "fixture"), 0);
	memset(data, 0, bytes);
	free(data);
	check_identity(m);
	elf_module_free(m);
	elf_module_free(NULL);
}

/* By the loader's own view of this process. */
static int check_object(struct dl_phdr_info *info, size_t size, void *arg)
{
	unsigned int *checked = arg;
	struct elf_module *m;
	char code[16];

	(void)size;
	if (info->dlpi_name[0] != '/' ||
	    elf_module_open(&m, info->dlpi_name, -1, info->dlpi_name) != 0)
		return 0;
	for (unsigned int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		uint64_t address;

		if (p->p_type != PT_LOAD || !(p->p_flags & PF_X))
			continue;
		assert_int_equal(elf_module_address(m, p->p_offset + 16, &address), 0);
		assert_int_equal(address, p->p_vaddr + 16);
		assert_int_equal(elf_module_read(m, p->p_vaddr + 64, code, sizeof(code)), 0);
		assert_memory_equal(code, (void *)(info->dlpi_addr + p->p_vaddr + 64),
				    sizeof(code));
		++*checked;
	}
	assert_int_equal(elf_module_address(m, UINT64_MAX, &(uint64_t){0}), -ENOENT);
	assert_int_equal(elf_module_read(m, UINT64_MAX - 3, code, 8), -ENOENT);
	elf_module_free(m);
	return 0;
}

static void places_are_the_loaders(void **state)
{
	unsigned int checked = 0;

	(void)state;
	dl_iterate_phdr(check_object, &checked);
	assert_true(checked >= 2);
}

/* As lld lays files out: code begins in the middle of a page of the file whose beginning is of
 * the segment before. The mapping begins with the page, and is of the code. */
static void code_that_shares_its_first_page(void **state)
{
	const uint64_t moved = 0x7a0;
	struct elf_module *m = NULL;
	size_t bytes, code = 0;
	Elf64_Phdr p, before = {0};
	uint8_t *data = read_library(&bytes);
	uint64_t address;
	Elf64_Ehdr h;

	(void)state;
	memcpy(&h, data, sizeof(h));
	for (size_t at = h.e_phoff; !code; at += sizeof(p)) {
		memcpy(&p, data + at, sizeof(p));
		if (p.p_type == PT_LOAD && (p.p_flags & PF_X))
			code = at;
		else
			before = p;
	}
	/* The segment before is that of the headers, next to it in the table. */
	assert_int_equal(before.p_type, PT_LOAD);
	assert_int_equal(p.p_offset % 4096, 0);
	before.p_filesz = before.p_memsz = p.p_offset + moved - before.p_offset;
	p.p_offset += moved;
	p.p_vaddr += moved + 4096;
	p.p_filesz -= moved;
	memcpy(data + code - sizeof(p), &before, sizeof(before));
	memcpy(data + code, &p, sizeof(p));
	assert_int_equal(elf_module_open_image(&m, data, bytes, "lld"), 0);
	assert_int_equal(elf_module_address(m, p.p_offset - moved, &address), 0);
	assert_int_equal(address, p.p_vaddr - moved);
	assert_int_equal(elf_module_address(m, p.p_offset, &address), 0);
	assert_int_equal(address, p.p_vaddr);
	assert_int_equal(elf_module_address(m, before.p_offset, &address), 0);
	assert_int_equal(address, before.p_vaddr);
	elf_module_free(m);
	free(data);
}

static void exercise(struct elf_module *m)
{
	const struct unwind_table *table = elf_module_table(m);
	struct elf_symbol symbol;

	if (table)
		assert_int_equal(unwind_table_check(table, table->bytes), 0);
	for (uint64_t at = 0; at < 0x5000; at += 61)
		if (elf_module_symbol(m, at, &symbol) == 0)
			assert_true(symbol.address <= at && strlen(symbol.name) > 0);
}

static void every_truncation(void **state)
{
	size_t bytes;
	uint8_t *data = read_library(&bytes);

	(void)state;
	for (size_t cut = 0; cut < bytes; cut += cut < 1024 ? 7 : 211) {
		uint8_t *exact = malloc(cut + 1);
		struct elf_module *m = NULL;

		memcpy(exact, data, cut);
		if (elf_module_open_image(&m, exact, cut, "cut") == 0)
			exercise(m);
		elf_module_free(m);
		free(exact);
	}
	free(data);
}

/* Where damage hurts: headers, section headers, unwind data, symbols. */
static size_t place_to_damage(const uint8_t *data, size_t bytes, uint64_t noise)
{
	Elf64_Ehdr h;
	Elf64_Shdr s;
	size_t section;

	memcpy(&h, data, sizeof(h));
	section = h.e_shoff + sizeof(s) * (noise / 7 % h.e_shnum);
	memcpy(&s, data + section, sizeof(s));
	switch (noise % 7) {
	case 0:
		return noise / 512 % (64 + 56 * 12);
	case 1:
	case 2:
		return section + noise / 512 % sizeof(s);
	case 3:
		return noise / 512 % bytes;
	default:
		return s.sh_type == SHT_NOBITS || s.sh_size == 0
			       ? 0x20 + noise / 512 % 32
			       : s.sh_offset + noise / 65536 % s.sh_size;
	}
}

static void every_damage(void **state)
{
	unsigned int opened = 0, with_table = 0, with_rejects = 0;
	uint64_t seed = 20;
	size_t bytes;
	uint8_t *data = read_library(&bytes), *damaged = malloc(bytes);

	(void)state;
	for (unsigned int i = 0; i < 4000; i++) {
		struct elf_module *m = NULL;

		memcpy(damaged, data, bytes);
		for (unsigned int j = 0; j < 1 + i % 6; j++) {
			seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
			damaged[place_to_damage(data, bytes, seed >> 24) % bytes] =
				(uint8_t)(i % 3 ? seed >> 56 : 0xff);
		}
		if (elf_module_open_image(&m, damaged, bytes, "damaged") != 0)
			continue;
		opened++;
		exercise(m);
		with_table += elf_module_table(m) != NULL;
		with_rejects += elf_module_rejected(m) > 0;
		elf_module_free(m);
	}
	print_message("4000 damaged files: %u opened, %u with a table, %u with entries rejected\n",
		      opened, with_table, with_rejects);
	assert_true(opened > 1000 && with_table > 500 && with_rejects > 20);
	free(damaged);
	free(data);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(refuses_what_is_no_elf_file),
		cmocka_unit_test(opens_in_three_ways),
		cmocka_unit_test(places_are_the_loaders),
		cmocka_unit_test(code_that_shares_its_first_page),
		cmocka_unit_test(every_truncation),
		cmocka_unit_test(every_damage),
	};
	int failed;

	if (argc != 2 || !mkdtemp(directory))
		return 2;
	library = argv[1];
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	rmdir(directory);
	return failed;
}
