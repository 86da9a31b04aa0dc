/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libFuzzer target: the handler's finder (src/runtime/stack/module_map.c) on a session that its own
 * program has written over: any snapshot, any counts and offsets, and walks by what it finds.
 * The table memfd is the collector's: only its sealed content is sound, but every offset and
 * every size that tells of it may lie. Only bytes that are in use may be read: the rest of
 * the mapping is closed.
 */
#include "table_recipe.h"

#include <weft/abi/module_map.h>

#include <stdlib.h>
#include <sys/mman.h>

#include "runtime/core/runtime.h"
#include "runtime/stack/module_map.h"

#include "unwind/walk_body.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define TABLES_BYTES (UINT64_C(4) << 20)
#define TABLES 3
#define TABLE_ROOM ((RECIPE_BYTES + WEFT_TABLE_ALIGN - 1) & ~(uint64_t)(WEFT_TABLE_ALIGN - 1))
#define SESSION_BYTES 8192
#define CODE UINT64_C(0x500000000000)
#define STACK UINT64_C(0x7ff000000000)
#define STACK_WORDS 64
#define FRAMES 32

struct weft_rt weft_rt;
struct weft_session_header weft_layout;

/* A host's build walks as the host does. */
#if defined(__x86_64__)
#define MACHINE UNWIND_X86_64
#else
#define MACHINE UNWIND_AARCH64
#endif

static uint8_t *tables;

static void make_tables(struct recipe *r)
{
	struct unwind_table *t;

	if (!tables)
		tables = mmap(NULL, TABLES_BYTES, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (tables == MAP_FAILED || mprotect(tables, TABLES_BYTES, PROT_READ | PROT_WRITE))
		abort();
	for (unsigned int i = 0; i < TABLES; i++) {
		t = recipe_table(r, MACHINE, tables + WEFT_TABLES_FIRST + i * TABLE_ROOM);
		if (unwind_table_check(t, RECIPE_BYTES))
			abort();
	}
	mprotect(tables, TABLES_BYTES, PROT_NONE);
	weft_tables = (struct weft_tables){.base = tables, .bytes = TABLES_BYTES};
	weft_rules_forget(); /* as whoever takes a mapping away does */
}

static uint64_t any_offset(struct recipe *r)
{
	uint64_t kind = recipe_take(r, 1);

	if (kind < 192)
		return WEFT_TABLES_FIRST + kind % TABLES * TABLE_ROOM;
	if (kind < 224)
		return kind % 2;
	return kind < 240 ? recipe_take(r, 4) : recipe_take(r, 8);
}

/* Ascending as a rule, so that searches get somewhere. */
static void make_modules(struct weft_map_module *list, size_t room, struct recipe *r)
{
	uint64_t at = CODE;

	for (size_t i = 0; i < room; i++) {
		uint64_t kind = recipe_take(r, 1);

		at += recipe_take(r, 2);
		list[i].start = at;
		at += recipe_take(r, 2);
		list[i].end = at;
		list[i].bias = list[i].start - RECIPE_BASE;
		list[i].table = any_offset(r);
		list[i].object_start = kind < 200 ? 0 : list[i].start;
		list[i].object_eh = kind < 200 ? 0 : recipe_take(r, 4);
		if (kind == 255) {
			list[i].bias = recipe_take(r, 8);
			list[i].start = recipe_take(r, 8);
		}
		if (kind == 254)
			list[i].end = recipe_take(r, 8);
	}
}

static void make_session(uint8_t *session, struct recipe *r)
{
	struct weft_session_header *h = (void *)session;
	struct weft_map_snapshot *snapshot = (void *)(session + 4096);
	size_t room = (SESSION_BYTES - 4096 - sizeof(*snapshot)) / sizeof(struct weft_map_module);
	uint64_t kind = recipe_take(r, 1);

	weft_rt = (struct weft_rt){.base = session, .header = h, .total_bytes = SESSION_BYTES};
	weft_layout.map_offset = 4096;
	weft_layout.map_bytes = SESSION_BYTES - 4096;
	weft_layout.session_id = recipe_take(r, 1);
	h->map_current = kind < 240 ? 4096 : kind < 248 ? recipe_take(r, 2) : recipe_take(r, 8);
	kind = recipe_take(r, 1);
	h->tables_used = kind < 200 ? WEFT_TABLES_FIRST + TABLES * TABLE_ROOM : recipe_take(r, 8);
	kind = recipe_take(r, 1);
	snapshot->number = kind < 240 ? 1 + (uint32_t)kind % 2 : (uint32_t)recipe_take(r, 4);
	kind = recipe_take(r, 1);
	snapshot->count = kind < 240 ? (uint32_t)(kind % (room + 1)) : (uint32_t)recipe_take(r, 4);
	make_modules((struct weft_map_module *)(snapshot + 1), room, r);
}

static int find_rule(void *arg, uint64_t pc, const struct unwind_rule **rule)
{
	return weft_map_rule(arg, pc, rule);
}

static void crossed(void *arg, const struct unwind_registers *regs)
{
	(void)arg, (void)regs;
}

static void walk(struct map_view *view, struct recipe *r)
{
	static const struct unwind_walker walker = {.find = find_rule, .crossed = crossed};
	uint64_t *words = malloc(STACK_WORDS * 8);
	struct unwind_memory memory = {(const uint8_t *)words, STACK, STACK_WORDS * 8, NULL};
	struct unwind_registers regs = {.valid = UINT64_MAX};
	uint64_t pcs[FRAMES];
	enum unwind_end end = UNWIND_END_COUNT;
	size_t count;

	regs.pc = CODE + recipe_take(r, 3);
	for (unsigned int i = 0; i < UNWIND_REGISTERS; i++)
		regs.r[i] = recipe_word(r, CODE, STACK);
	for (size_t i = 0; i < STACK_WORDS; i++)
		words[i] = recipe_word(r, CODE, STACK);
	count = walk_stack(&regs, &memory, &walker, view, MACHINE, pcs, FRAMES, &end);
	if (count > FRAMES || end >= UNWIND_END_COUNT)
		abort();
	if (weft_map_confirm(view, pcs, (uint32_t)count) > count)
		abort();
	free(words);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static int begun;
	struct recipe r = {data, data + size};
	uint8_t *session = calloc(1, SESSION_BYTES);
	struct map_view view = {.number = 0};

	if (!begun++)
		weft_map_begin();
	make_session(session, &r);
	make_tables(&r);
	for (unsigned int i = 0; i < 4; i++)
		if (weft_map_open(&view))
			walk(&view, &r);
	free(session);
	return 0;
}
