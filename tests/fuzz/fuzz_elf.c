/* SPDX-License-Identifier: Apache-2.0 */
/* libFuzzer target: any bytes as an ELF file; its table must be sound, its names and places
 * readable. A build-id in it is any bytes, too, so that /usr/lib/debug has no file of that name. */
#include "elf/module.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static volatile size_t touched;

static void touch_places(const struct elf_place *places, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		touched += strlen(places[i].function) + (size_t)places[i].line;
		if (places[i].file)
			touched += strlen(places[i].file);
		if (places[i].is_inlined == (i + 1 == count))
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct unwind_table *table;
	struct elf_place places[16];
	struct elf_symbol symbol;
	struct elf_module *m;
	uint64_t address;

	if (elf_module_open_image(&m, data, size, "fuzz") != 0)
		return 0;
	table = elf_module_table(m);
	if (table && unwind_table_check(table, table->bytes) != 0)
		abort();
	for (uint64_t offset = 0; offset < size; offset += 1 + size / 64)
		if (elf_module_address(m, offset, &address) == 0) {
			if (elf_module_symbol(m, address, &symbol) == 0)
				touched += strlen(symbol.name);
			touch_places(places, elf_module_places(m, address, places, 16));
		}
	elf_module_free(m);
	return 0;
}
