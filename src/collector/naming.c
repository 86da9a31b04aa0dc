/* SPDX-License-Identifier: Apache-2.0 */
/* From a code address to frames: see naming.h. */
#include "collector/naming.h"

#include "base/map.h"
#include "collector/jit.h"
#include "elf/module.h"

#include <stdio.h>
#include <stdlib.h>

#define PLACES_MAX 64 /* functions inlined into each other; compilers stop far below */

/*
 * What an address means for ever: the id of a mapping is never used again, so the cache
 * needs no flush when addresses are.
 */
struct function_key {
	uint64_t mapping; /* its id; 0 = none */
	uint64_t pc;
};

/* The frames of one address. */
struct named {
	size_t count;
	struct weft_jfr_frame frame[];
};

static int32_t offset_in(uint64_t address, uint64_t start)
{
	uint64_t offset = address >= start ? address - start : 0;

	return offset < INT32_MAX ? (int32_t)offset : INT32_MAX;
}

static enum weft_jfr_frame_type type_of(const struct elf_place *place)
{
	if (place->is_inlined)
		return WEFT_JFR_FRAME_INLINED;
	return place->is_cpp ? WEFT_JFR_FRAME_CPP : WEFT_JFR_FRAME_NATIVE;
}

/* Inlined functions have the offset of the real one: that is where their code is. */
static size_t place_frames(struct weft_jfr_writer *writer, const char *module,
			   const struct elf_place *places, size_t count, uint64_t address,
			   struct weft_jfr_frame *out)
{
	int32_t offset = count ? offset_in(address, places[count - 1].address) : 0;

	for (size_t i = 0; i < count; i++) {
		const struct elf_place *p = &places[i];

		out[i] = (struct weft_jfr_frame){
			.method = weft_jfr_method_in(writer, module, p->function, p->file),
			.line = p->file && p->line > 0 ? p->line : 0,
			.bytecode_index = offset,
			.type = type_of(p),
		};
		if (!out[i].method)
			return 0;
	}
	return count;
}

static size_t one_frame(struct weft_jfr_writer *writer, const char *module, const char *function,
			int32_t offset, struct weft_jfr_frame *out)
{
	*out = (struct weft_jfr_frame){
		.method = weft_jfr_method(writer, module, function),
		.bytecode_index = offset,
		.type = WEFT_JFR_FRAME_NATIVE,
	};
	return out->method != 0;
}

/* At most PLACES_MAX frames to @out; 0: no memory. */
static size_t name_address(struct weft_jfr_writer *writer, const struct mapping *m, uint64_t pc,
			   struct weft_jfr_frame *out)
{
	struct elf_place places[PLACES_MAX];
	char module[256], function[300];
	uint64_t address, entry;
	size_t count = 0;

	if (!m || m->path[0] == 0)
		return one_frame(writer, "", "[unknown]", 0, out);
	mapping_name(m, module, sizeof(module));
	address = m->has_bias ? pc - m->bias : pc - m->start + m->offset;
	if (m->module)
		count = elf_module_places(m->module, address, places, PLACES_MAX);
	if (count)
		return place_frames(writer, module, places, count, address, out);
	/* One row for a function without a name, not one for every pc in it. */
	entry = address;
	if (m->module)
		elf_module_entry(m->module, address, &entry);
	snprintf(function, sizeof(function), "%s+0x%llx", module, (unsigned long long)entry);
	return one_frame(writer, module, function, offset_in(address, entry), out);
}

static struct named *name_pc(struct weft_jfr_writer *writer, const struct mapping *m, uint64_t pc)
{
	struct weft_jfr_frame frames[PLACES_MAX];
	size_t count = name_address(writer, m, pc, frames);
	struct named *named = count ? malloc(sizeof(*named) + count * sizeof(*frames)) : NULL;

	if (!named)
		return NULL;
	named->count = count;
	for (size_t i = 0; i < count; i++)
		named->frame[i] = frames[i];
	return named;
}

/* Not for the cache: an address of JIT code may hold another function the next time. */
static size_t name_jit(struct weft_jfr_writer *writer, const struct elf_place *place, uint64_t pc,
		       struct weft_jfr_frame *out)
{
	*out = (struct weft_jfr_frame){
		.method = weft_jfr_method_in(writer, "[jit]", place->function, place->file),
		.line = place->file && place->line > 0 ? place->line : 0,
		.bytecode_index = place->address ? offset_in(pc, place->address) : 0,
		.type = WEFT_JFR_FRAME_JIT,
	};
	return out->method != 0;
}

size_t naming_frames(struct weft_jfr_writer *writer, struct process *p, const struct mapping *m,
		     uint64_t pc, struct weft_jfr_frame *out, size_t max)
{
	struct function_key key = {m ? m->id : 0, m && m->path[0] ? pc : 0};
	const struct named *named;
	struct elf_place jit;
	uint64_t *value;
	size_t count;

	if (jit_is_code(m) && jit_find(p->jit, pc, &jit) == 0)
		return name_jit(writer, &jit, pc, out);
	value = map_put(p->functions, &key, sizeof(key), NULL);
	if (!value || max == 0)
		return 0;
	if (!*value)
		*value = (uint64_t)(uintptr_t)name_pc(writer, m, pc);
	named = (const struct named *)(uintptr_t)*value;
	if (!named)
		return 0;
	count = named->count < max ? named->count : max;
	/* Where there is no room for all, the real function is the one to keep. */
	for (size_t i = 0; i < count; i++)
		out[i] = named->frame[i + 1 < count ? i : named->count - count + i];
	return count;
}

void naming_free(struct map *functions)
{
	size_t cursor = 0, bytes;
	const void *key;
	uint64_t *value;

	while (functions && map_next(functions, &cursor, &key, &bytes, &value))
		free((void *)(uintptr_t)*value);
	map_free(functions);
}
