/* SPDX-License-Identifier: Apache-2.0 */
/* The functions and source lines that a code address belongs to: see module.h. */
#include "elf/internal.h"

#include <elfutils/libdw.h>

void elf_module_set_debug(struct elf_module *m, const struct elf_debug *debug)
{
	(void)m;
	(void)debug;
}

static void find_line(struct elf_module *m, uint64_t address, struct elf_place *out)
{
	Dwarf_Line *line;
	Dwarf_Die unit;

	if (!m->has_tried_lines) {
		m->has_tried_lines = 1;
		m->dwarf = dwarf_begin_elf(m->elf, DWARF_C_READ, NULL);
	}
	if (!m->dwarf || !dwarf_addrdie(m->dwarf, address, &unit))
		return;
	line = dwarf_getsrc_die(&unit, address);
	if (!line)
		return;
	out->file = dwarf_linesrc(line, NULL, NULL);
	if (dwarf_lineno(line, &out->line) != 0)
		out->line = 0;
}

size_t elf_module_places(struct elf_module *m, uint64_t address, struct elf_place *out, size_t max)
{
	struct elf_place place = {0};
	struct elf_symbol symbol;

	if (max == 0 || elf_module_symbol(m, address, &symbol) != 0)
		return 0;
	place.function = symbol.name;
	place.address = symbol.address;
	place.is_cpp = symbol.is_cpp;
	find_line(m, address, &place);
	*out = place;
	return 1;
}
