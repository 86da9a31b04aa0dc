/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libFuzzer target: any bytes as an ELF file with DWARF; every place that it names for its
 * addresses is read. The seeds are small programs of several compilers and versions.
 */
#include "elf/module.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define PLACES 8
#define QUESTIONS 96

static volatile size_t touched;

static void ask(struct elf_module *m, uint64_t address)
{
	struct elf_place place[PLACES];
	size_t count = elf_module_places(m, address, place, PLACES);

	if (count > PLACES)
		abort();
	for (size_t i = 0; i < count; i++) {
		if (!place[i].function || place[i].line < 0)
			abort();
		/* The last is the real function, the others lie in it. */
		if (!place[i].is_inlined != (i + 1 == count))
			abort();
		touched += strlen(place[i].function) + (place[i].file ? strlen(place[i].file) : 0);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct elf_module *m;
	uint64_t address;

	if (elf_module_open_image(&m, data, size, "fuzz") != 0)
		return 0;
	for (uint64_t i = 0; i < QUESTIONS; i++)
		if (elf_module_address(m, i * size / QUESTIONS, &address) == 0)
			ask(m, address);
	/* Where a small program's functions lie, one question for every few instructions. */
	for (uint64_t i = 0; i < QUESTIONS; i++)
		ask(m, 0x1000 + i * 12);
	ask(m, 0);
	ask(m, UINT64_MAX);
	elf_module_free(m);
	return 0;
}
