/* SPDX-License-Identifier: Apache-2.0 */
/* From a code address to frames: see naming.h. */
#include "collector/write/naming.h"

#include "base/map.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WAITS "libweft-waits.so"
#define NAMES_MAX 262144 /* addresses that are remembered: some 40 MB */
#define PLACES_MAX 64    /* functions inlined into each other; compilers stop far below */

struct function_key {
	uint64_t code; /* its address: never used again */
	uint64_t address;
};

/* The frames of one address. */
struct named {
	size_t count;
	struct weft_jfr_frame frame[];
};

static enum weft_jfr_frame_type naming_type_of(const struct elf_place *place)
{
	if (place->is_inlined)
		return WEFT_JFR_FRAME_INLINED;
	return place->is_cpp ? WEFT_JFR_FRAME_CPP : WEFT_JFR_FRAME_NATIVE;
}

/* Inlined functions have the offset of the real one: that is where their code is. */
static size_t naming_place_frames(struct weft_jfr_writer *writer, const char *module,
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
			.type = naming_type_of(p),
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
static size_t name_address(const struct naming *n, const struct code *code, uint64_t address,
			   struct weft_jfr_frame *out)
{
	struct elf_place places[PLACES_MAX];
	uint64_t entry = address;
	char function[300];
	size_t count = 0;

	if (code->elf)
		count = n->places(code->elf, address, places, PLACES_MAX);
	if (count)
		return naming_place_frames(n->writer, code->name, places, count, address, out);
	/* One row for a function without a name, not one for every pc in it. */
	if (code->elf)
		elf_module_entry(code->elf, address, &entry);
	snprintf(function, sizeof(function), "%s+0x%llx", code->name, (unsigned long long)entry);
	return one_frame(n->writer, code->name, function, offset_in(address, entry), out);
}

static struct named *name_new(const struct naming *n, const struct code *code, uint64_t address)
{
	struct weft_jfr_frame frames[PLACES_MAX];
	size_t count = name_address(n, code, address, frames);
	struct named *named = count ? malloc(sizeof(*named) + count * sizeof(*frames)) : NULL;

	if (!named)
		return NULL;
	named->count = count;
	for (size_t i = 0; i < count; i++)
		named->frame[i] = frames[i];
	return named;
}

/* Programs load and unload code for weeks: all are forgotten at once, and what runs is named anew.
 */
static void naming_forget(struct naming *n)
{
	const void *key;
	size_t cursor = 0, bytes;
	uint64_t *value;

	while (map_next(n->known, &cursor, &key, &bytes, &value))
		free((void *)(uintptr_t)*value);
	map_clear(n->known);
}

static const struct named *naming_name_of(struct naming *n, const struct walked_frame *f)
{
	const struct function_key key = {(uint64_t)(uintptr_t)f->code, f->address};
	uint64_t *value;

	if (map_count(n->known) >= NAMES_MAX && !map_get(n->known, &key, sizeof(key)))
		naming_forget(n);
	value = map_put(n->known, &key, sizeof(key), NULL);
	if (value && !*value)
		*value = (uint64_t)(uintptr_t)name_new(n, f->code, f->address);
	return value ? (const struct named *)(uintptr_t)*value : NULL;
}

/* Not for the cache: an address of JIT code may hold another function the next time. */
static size_t name_jit(struct weft_jfr_writer *writer, const struct walked_jit *jit,
		       struct weft_jfr_frame *out)
{
	*out = (struct weft_jfr_frame){
		.method =
			weft_jfr_method_in(writer, walked_jit_code.name, jit->function, jit->file),
		.line = jit->file && jit->line > 0 ? jit->line : 0,
		.bytecode_index = jit->offset,
		.type = WEFT_JFR_FRAME_JIT,
	};
	return out->method != 0;
}

/* At most @max frames to @out; @jit: its names, if it lies in no file. Where
 * there is no room for all, the outermost inlined functions are left out, never the real one. */
static size_t naming_put_frames(struct naming *n, struct process *p, const struct walked_frame *f,
				const struct walked_jit *jit, struct weft_jfr_frame *out,
				size_t max)
{
	const struct named *named;
	size_t count;

	if (!f->code)
		return one_frame(n->writer, "", "[unknown]", 0, out);
	if (f->code == &walked_jit_code)
		return name_jit(n->writer, jit, out);
	recording_module(p, f->code);
	named = naming_name_of(n, f);
	if (!named)
		return 0;
	count = named->count < max ? named->count : max;
	for (size_t i = 0; i < count; i++)
		out[i] = named->frame[i + 1 < count ? i : named->count - count + i];
	return count;
}

static struct recording_trace name_frames(struct naming *n, struct process *p,
					  const struct walked_stack *walked, size_t first)
{
	struct recording_trace trace = {n->frame, 0, walked->truncated};
	uint8_t hidden[WEFT_FRAMES_MAX];

	own_frames_hide(walked, first, hidden);
	for (size_t i = first; i < walked->frame_count; i++) {
		const struct walked_frame *f = &walked_frames(walked)[i];
		int is_jit = f->code == &walked_jit_code;
		struct weft_jfr_frame *out = n->frame + trace.count;

		if (hidden[i])
			continue;
		if (trace.count == RECORDING_FRAMES_MAX) {
			trace.truncated = 1;
			break;
		}
		trace.count +=
			naming_put_frames(n, p, f, is_jit ? &walked_jits(walked)[f->address] : NULL,
					  out, RECORDING_FRAMES_MAX - trace.count);
	}
	return trace;
}

struct recording_trace naming_stack(struct naming *n, struct process *p,
				    const struct walked_stack *walked)
{
	return name_frames(n, p, walked, 0);
}

static int is_wrapper(const struct walked_frame *f)
{
	return f->code && f->code->name && !strcmp(f->code->name, WAITS);
}

struct recording_trace naming_event_stack(struct naming *n, struct process *p,
					  const struct walked_stack *walked)
{
	size_t first = 0;

	while (first < walked->frame_count && is_wrapper(&walked_frames(walked)[first]))
		first++;
	return name_frames(n, p, walked, first < walked->frame_count ? first : 0);
}

struct recording_trace naming_site(struct naming *n, struct process *p,
				   const struct walked_switch *placed)
{
	struct recording_trace trace = {n->frame, 0, 1}; /* of its callers nobody knows */

	if (placed->site.code)
		trace.count = naming_put_frames(n, p, &placed->site, &placed->jit, n->frame,
						RECORDING_FRAMES_MAX);
	return trace;
}

int naming_init(struct naming *n)
{
	*n = (struct naming){.known = map_new(), .places = elf_module_places};
	return n->known ? 0 : -ENOMEM;
}

void naming_free(struct naming *n)
{
	map_free_values(n->known, free);
	n->known = NULL;
}
