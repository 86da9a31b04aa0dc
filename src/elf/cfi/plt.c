/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names for the stubs of the procedure linkage table, which have no symbols of their own.
 *
 * A stub is known by its indirect jump: the GOT word that it jumps through is the target
 * of a relocation, and that one names the function. This holds for lazy and eager stubs,
 * with and without IBT or BTI, whatever the linker.
 */
#include "base/array.h"
#include "elf/image/internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define PLT_BYTES_MAX (64u << 20)

struct got_word {
	uint64_t address;
	const char *name;
};

struct got {
	struct got_word *words;
	size_t count, room;
};

static int is_import(int machine, uint64_t type)
{
	return machine == UNWIND_X86_64 ? type == R_X86_64_JUMP_SLOT || type == R_X86_64_GLOB_DAT
					: type == R_AARCH64_JUMP_SLOT || type == R_AARCH64_GLOB_DAT;
}

static int add_word(struct got *got, uint64_t address, const char *name)
{
	struct got_word *one = array_add(&got->words, &got->count, &got->room, sizeof(*one));

	if (!one)
		return -ENOMEM;
	*one = (struct got_word){address, name};
	return 0;
}

static int plt_read_relocations(const struct elf_module *m, Elf_Scn *section,
				const GElf_Shdr *header, struct got *got)
{
	Elf_Data *data = elf_section_data(section), *symbols;
	Elf_Scn *symbol_section = elf_getscn(m->elf, header->sh_link);
	GElf_Shdr symbol_header;
	GElf_Rela rela;
	GElf_Sym symbol;
	int err = 0;

	if (!data || !symbol_section || !gelf_getshdr(symbol_section, &symbol_header))
		return 0;
	symbols = elf_section_data(symbol_section);
	for (int i = 0; symbols && !err && gelf_getrela(data, i, &rela); i++) {
		const char *name;

		if (!is_import(m->machine, GELF_R_TYPE(rela.r_info)) ||
		    GELF_R_SYM(rela.r_info) == 0 ||
		    !gelf_getsym(symbols, (int)GELF_R_SYM(rela.r_info), &symbol))
			continue;
		name = elf_strptr(m->elf, symbol_header.sh_link, symbol.st_name);
		if (name && *name)
			err = add_word(got, rela.r_offset, name);
	}
	return err;
}

static int compare_words(const void *a, const void *b)
{
	const struct got_word *x = a, *y = b;

	return x->address < y->address ? -1 : x->address > y->address;
}

static int read_got(const struct elf_module *m, struct got *got)
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;
	int err = 0;

	while (!err && (section = elf_nextscn(m->elf, section)) != NULL)
		if (gelf_getshdr(section, &header) && header.sh_type == SHT_RELA &&
		    (header.sh_flags & SHF_ALLOC))
			err = plt_read_relocations(m, section, &header, got);
	if (got->count)
		qsort(got->words, got->count, sizeof(*got->words), compare_words);
	return err;
}

static const char *name_of_word(const struct got *got, uint64_t address)
{
	struct got_word key = {.address = address};
	const struct got_word *found =
		got->count ? bsearch(&key, got->words, got->count, sizeof(key), compare_words)
			   : NULL;

	return found ? found->name : NULL;
}

/* jmp *disp32(%rip), one in each stub of 8 or 16 bytes */
static int scan_x86_64(const GElf_Shdr *header, const uint8_t *code, size_t size,
		       const struct got *got, elf_plt_add add, void *arg)
{
	uint64_t stub = header->sh_entsize == 8 ? 8 : 16;

	for (size_t at = 0; at + 6 <= size; at++) {
		const char *name;
		int32_t relative;
		int err;

		if (code[at] != 0xff || code[at + 1] != 0x25)
			continue;
		memcpy(&relative, code + at + 2, 4);
		name = name_of_word(got, header->sh_addr + at + 6 + (uint64_t)(int64_t)relative);
		if (!name)
			continue;
		err = add(arg, header->sh_addr + at / stub * stub, stub, name);
		if (err)
			return err;
		at += 5;
	}
	return 0;
}

/* [bti c]; adrp x16, page; ldr x17, [x16, #offset]; add; br x17 */
static int scan_aarch64(const GElf_Shdr *header, const uint8_t *code, size_t size,
			const struct got *got, elf_plt_add add, void *arg)
{
	for (size_t at = 0; at + 16 <= size; at += 4) {
		uint32_t before = 0, adrp, ldr;
		uint64_t start = header->sh_addr + at, page;
		const char *name;
		int err;

		memcpy(&adrp, code + at, 4);
		memcpy(&ldr, code + at + 4, 4);
		if ((adrp & 0x9f00001f) != 0x90000010 || (ldr & 0xffc003ff) != 0xf9400211)
			continue;
		if (at >= 4)
			memcpy(&before, code + at - 4, 4);
		page = (uint64_t)((adrp >> 29 & 3) | (adrp >> 5 & 0x7ffff) << 2) << 43;
		page = (start & ~UINT64_C(0xfff)) + (uint64_t)((int64_t)page >> 31);
		name = name_of_word(got, page + (uint64_t)(ldr >> 10 & 0xfff) * 8);
		if (!name)
			continue;
		err = before == 0xd503245f ? add(arg, start - 4, 20, name)
					   : add(arg, start, 16, name);
		if (err)
			return err;
	}
	return 0;
}

int elf_plt_scan(const struct elf_module *m, elf_plt_add add, void *arg)
{
	static const char *const sections[] = {".plt", ".plt.sec", ".plt.got"};
	struct got got = {.words = NULL};
	int err = read_got(m, &got);

	for (size_t i = 0; !err && i < sizeof(sections) / sizeof(sections[0]); i++) {
		GElf_Shdr header;
		Elf_Scn *section = elf_find_section(m->elf, sections[i], &header);
		Elf_Data *data = section ? elf_section_data(section) : NULL;

		if (!data || !data->d_buf || data->d_size > PLT_BYTES_MAX)
			continue;
		err = (m->machine == UNWIND_X86_64 ? scan_x86_64 : scan_aarch64)(
			&header, data->d_buf, data->d_size, &got, add, arg);
	}
	free(got.words);
	return err;
}
