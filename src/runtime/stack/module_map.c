/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The map's reader: see abi/module_map.h for the protocol between handler and collector, and
 * module_map.h for the cache. All but weft_map_begin() runs in signal handlers.
 *
 * Nothing of a snapshot that is overwritten meanwhile gets into the cache: a lookup that has read
 * entries compares the snapshot's number again before it keeps what it found.
 */
#include "runtime/stack/module_map.h"

#include <dlfcn.h>
#include <string.h>

#include "runtime/core/runtime.h"

WEFT_LARGE uint64_t weft_rule_cache[1 << RULE_CACHE_BITS];

/* glibc's struct dl_find_object (2.35 and later): lock-free, async-signal-safe. */
struct loader_object {
	uint64_t flags;
	uint64_t map_start, map_end;
	uint64_t link_map;
	uint64_t eh_frame; /* .eh_frame_hdr */
	uint64_t rsv[7];
};

static int (*ask_loader)(void *pc, struct loader_object *out);

void weft_map_begin(void)
{
	*(void **)(void *)&ask_loader = dlsym(RTLD_DEFAULT, "_dl_find_object");
}

void weft_rules_forget(void)
{
	memset(weft_rule_cache, 0, sizeof(weft_rule_cache));
}

static const struct weft_map_module *modules_of(const struct map_view *view)
{
	return (const struct weft_map_module *)(const void *)(view->snapshot + 1);
}

/* Consecutive numbers give salts that are far apart. */
static uint64_t salt_of(uint64_t session_id, uint32_t number)
{
	uint64_t x = session_id + number * UINT64_C(0xD1B54A32D192ED03);

	x = (x ^ x >> 32) * UINT64_C(0xDABA0B6EB09322E3);
	return x ^ x >> 29;
}

/* Pairs: acquire of map_current and number with the collector's release stores. */
int weft_map_open(struct map_view *view)
{
	uint64_t at = load_acquire(&weft_rt.header->map_current);
	uint64_t room = at - weft_layout.map_offset;

	if (at == 0 || !weft_tables.base)
		return 0;
	if (at % 8 || at < weft_layout.map_offset || room > weft_layout.map_bytes ||
	    weft_layout.map_bytes - room < sizeof(*view->snapshot))
		return 0;
	room = weft_layout.map_bytes - room - sizeof(*view->snapshot);
	view->snapshot = (const struct weft_map_snapshot *)(const void *)(weft_rt.base + at);
	view->number = load_acquire(&view->snapshot->number);
	view->count = load_relaxed(&view->snapshot->count);
	view->salt = salt_of(weft_layout.session_id, view->number);
	view->epoch = load_relaxed(&view->snapshot->epoch);
	view->miss = MAP_FOUND;
	return (view->number & WEFT_MAP_NUMBER_BITS) != 0 && view->count <= WEFT_MAP_MODULES_MAX &&
	       view->count <= room / sizeof(struct weft_map_module);
}

/* Pairs: the acquire fence with the collector's release fence after it takes the number away. */
int weft_map_holds(const struct map_view *view)
{
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return load_relaxed(&view->snapshot->number) == view->number;
}

/* The last module that starts at or below @pc, if it reaches it; never past the count. */
static const struct weft_map_module *module_map_find_module(const struct map_view *view,
							    uint64_t pc)
{
	const struct weft_map_module *list = modules_of(view);
	uint32_t first = 0, count = view->count;

	while (count > 0) {
		uint32_t half = (count + 1) / 2;

		first += load_relaxed(&list[first + half - 1].start) <= pc ? half : 0;
		count -= half;
	}
	return first > 0 && pc < load_relaxed(&list[first - 1].end) ? &list[first - 1] : NULL;
}

static int module_map_is_readable(uint64_t bytes)
{
	return weft_tables_are_open(bytes) || weft_tables_open(bytes) == 0;
}

/* The table at an offset from the map if all of it is readable; else NULL. */
static const struct unwind_table *open_table(uint64_t offset)
{
	const struct unwind_table *table;

	if (offset % WEFT_TABLE_ALIGN || offset < WEFT_TABLES_FIRST ||
	    offset > weft_tables.bytes - sizeof(*table) ||
	    !module_map_is_readable(offset + sizeof(*table)))
		return NULL;
	table = (const struct unwind_table *)(const void *)(weft_tables.base + offset);
	if (table->magic != UNWIND_TABLE_MAGIC || table->bytes > weft_tables.bytes - offset ||
	    !module_map_is_readable(offset + table->bytes))
		return NULL;
	return table;
}

static void module_map_keep(const struct map_view *view, uint64_t pc,
			    const struct unwind_rule *rule)
{
	uint64_t key = rule_key(view->salt, pc);
	uint64_t place = RULE_PLACE_NONE;

	if (rule)
		place = (uint64_t)((const uint8_t *)rule - weft_tables.base) / sizeof(*rule);
	if (pc >> RULE_KEY_BITS == 0)
		store_relaxed(rule_word(key), rule_tag(key) << RULE_PLACE_BITS | place);
}

static int module_map_miss(struct map_view *view, uint64_t pc, enum map_miss why)
{
	view->miss = weft_map_holds(view) ? why : MAP_CHANGED;
	view->missed_pc = pc;
	return 0;
}

int weft_map_search(struct map_view *view, uint64_t pc, const struct unwind_rule **rule)
{
	const struct weft_map_module *module = module_map_find_module(view, pc);
	const struct unwind_table *table = NULL;
	const struct unwind_rule *found = NULL;
	uint64_t offset, bias;

	*rule = NULL;
	if (!module)
		return module_map_miss(view, pc, MAP_NO_MODULE);
	offset = load_relaxed(&module->table);
	bias = load_relaxed(&module->bias);
	if (offset != WEFT_TABLE_NONE) {
		table = open_table(offset);
		if (!table)
			return module_map_miss(view, pc, MAP_NO_TABLE);
		found = unwind_table_find(table, pc - bias);
	}
	if (!weft_map_holds(view))
		return module_map_miss(view, pc, MAP_CHANGED);
	module_map_keep(view, pc, found);
	*rule = found;
	return 1;
}

/*
 * For an object with gaps between its segments glibc returns the segment, not where the object
 * begins; then its .eh_frame_hdr identifies it.
 */
static int loader_agrees(const struct weft_map_module *module, uint64_t pc)
{
	uint64_t start = load_relaxed(&module->object_start), eh = load_relaxed(&module->object_eh);
	struct loader_object object;

	if (start == 0 || !ask_loader)
		return 1;
	return ask_loader((void *)(uintptr_t)pc, &object) == 0 && object.eh_frame == eh &&
	       (object.map_start == start ||
		(eh != 0 && object.map_start > start && object.map_start <= pc));
}

int weft_map_is_behind(const struct map_view *view)
{
	struct loader_object object;

	if (view->miss != MAP_NO_MODULE)
		return view->miss == MAP_NO_TABLE;
	return ask_loader && ask_loader((void *)(uintptr_t)view->missed_pc, &object) == 0;
}

uint32_t weft_map_confirm(const struct map_view *view, const uint64_t *pcs, uint32_t count)
{
	uint64_t start = 0, end = 0;

	if (load_acquire(&weft_rt.header->modules_epoch) != view->epoch)
		return 0;
	for (uint32_t i = 0; i < count; i++) {
		uint64_t pc = pcs[i] - (i > 0);
		const struct weft_map_module *module;

		if (pc - start < end - start)
			continue;
		module = module_map_find_module(view, pc);
		if (!module) /* the last pc lies in no module, which the walk's end reports */
			continue;
		if (!loader_agrees(module, pc))
			return i;
		start = load_relaxed(&module->start);
		end = load_relaxed(&module->end);
	}
	return count;
}
