/* SPDX-License-Identifier: Apache-2.0 */
/* From a code address to frames: see naming.h. */
#include "collector/naming.h"

#include "base/map.h"
#include "collector/jit.h"
#include "elf/module.h"

#include <stdio.h>

#define FUNCTION_CPP 1 /* lowest bit of a cached function: its name was a C++ or Rust one */

/*
 * What an address means for ever: the id of a mapping is never used again, so the cache
 * needs no flush when addresses are.
 */
struct function_key {
	uint64_t mapping; /* its id; 0 = none */
	uint64_t pc;
};

static uint64_t name_function(struct weft_jfr_writer *writer, const struct mapping *m, uint64_t pc)
{
	char module[256], function[300];
	struct elf_symbol symbol;
	uint64_t address;

	if (!m || m->path[0] == 0)
		return weft_jfr_method(writer, "", "[unknown]") << 1;
	mapping_name(m, module, sizeof(module));
	address = m->has_bias ? pc - m->bias : pc - m->start + m->offset;
	if (m->module && elf_module_symbol(m->module, address, &symbol) == 0)
		return weft_jfr_method(writer, module, symbol.name) << 1 |
		       (symbol.is_cpp ? FUNCTION_CPP : 0);
	/* One row for a function without a name, not one for every pc in it. */
	if (m->module)
		elf_module_entry(m->module, address, &address);
	snprintf(function, sizeof(function), "%s+0x%llx", module, (unsigned long long)address);
	return weft_jfr_method(writer, module, function) << 1;
}

/* Not for the cache: an address of JIT code may hold another function the next time. */
static size_t name_jit(struct weft_jfr_writer *writer, const struct elf_place *place,
		       struct weft_jfr_frame *out)
{
	*out = (struct weft_jfr_frame){
		.method = weft_jfr_method(writer, "[jit]", place->function),
		.line = place->file && place->line > 0 ? place->line : 0,
		.type = WEFT_JFR_FRAME_JIT,
	};
	return out->method != 0;
}

size_t naming_frames(struct weft_jfr_writer *writer, struct process *p, const struct mapping *m,
		     uint64_t pc, struct weft_jfr_frame *out, size_t max)
{
	struct function_key key = {m ? m->id : 0, pc};
	struct elf_place jit;
	uint64_t *value;
	int fresh;

	if (jit_is_code(m) && jit_find(p->jit, pc, &jit) == 0)
		return name_jit(writer, &jit, out);
	value = map_put(p->functions, &key, sizeof(key), &fresh);
	if (!value || max == 0)
		return 0;
	if (fresh)
		*value = name_function(writer, m, pc);
	if (!*value)
		return 0;
	out[0] = (struct weft_jfr_frame){
		.method = *value >> 1,
		.type = *value & FUNCTION_CPP ? WEFT_JFR_FRAME_CPP : WEFT_JFR_FRAME_NATIVE,
	};
	return 1;
}
