/* SPDX-License-Identifier: Apache-2.0 */
/* Module map snapshots out of mappings: see process_walk.h. */
#include "collector/walk/modules.h"
#include "collector/walk/process_walk.h"
#include "elf/module.h"

#include <stdlib.h>

/*
 * Where the loader has put files, in order. Programs map pieces of their own file a second time: V8
 * has its built-in functions near the code that it makes. A mapping of the loader's begins where a
 * segment does, and parts of it may have got other permissions since, so that it is told in pieces.
 */
struct loaded {
	const struct module_file *file;
	uint64_t bias;
};

struct loads_list {
	struct loaded *item;
	size_t count;
};

static int compare_loaded(const void *a, const void *b)
{
	const struct loaded *x = a, *y = b;

	if (x->file != y->file)
		return (uintptr_t)x->file < (uintptr_t)y->file ? -1 : 1;
	return x->bias < y->bias ? -1 : x->bias > y->bias;
}

static void list_loaded(struct loads_list *l, const struct maps *maps)
{
	l->count = 0;
	l->item = calloc(maps->count + 1, sizeof(*l->item));
	for (size_t i = 0; l->item && i < maps->count; i++) {
		const struct mapping *one = maps->item[i];

		if (one->file && one->has_bias &&
		    elf_module_is_code_start(one->file->elf, one->offset))
			l->item[l->count++] = (struct loaded){one->file, one->bias};
	}
	if (l->item)
		qsort(l->item, l->count, sizeof(*l->item), compare_loaded);
}

static int is_loaded(const struct loads_list *l, const struct mapping *one)
{
	struct loaded key = {one->file, one->bias};

	return l->item &&
	       bsearch(&key, l->item, l->count, sizeof(*l->item), compare_loaded) != NULL;
}

/*
 * What the loader will say of a pc in here. It knows nothing of code that it did not load, and
 * of the vdso only where libc does.
 */
static void fill_object(struct weft_map_module *out, const struct loads_list *loaded,
			const struct mapping *one)
{
	uint64_t start, header;

	if (!one->file || one->path[0] != '/' || !is_loaded(loaded, one) ||
	    elf_module_object(one->file->elf, &start, &header) != 0)
		return;
	out->object_start = start + one->bias;
	out->object_eh = header ? header + one->bias : 0;
}

/* A snapshot holds @most modules: those that the loader knows stay, and the first of the others. */
static uint32_t cut_list(struct weft_map_module *list, size_t count, uint32_t most)
{
	size_t others = 0, kept = 0;

	for (size_t i = 0; i < count; i++)
		others += list[i].object_start == 0;
	others = count - others < most ? most - (count - others) : 0;
	for (size_t i = 0; i < count && kept < most; i++) {
		if (list[i].object_start == 0 && others == 0)
			continue;
		others -= list[i].object_start == 0;
		list[kept++] = list[i];
	}
	return (uint32_t)kept;
}

/* Opens the tables that are not open yet; returns how many are still missing. */
static size_t fill_list(struct weft_map_module *list, struct modules *modules, struct process *p,
			int quick)
{
	const struct maps *maps = &p->walk->maps;
	struct loads_list loaded;
	size_t pending = 0;

	for (size_t i = 0; i < maps->count; i++)
		if (!maps->item[i]->opened)
			modules_attach(modules, maps->item[i], p->root_fd, p->proc_fd);
	list_loaded(&loaded, maps);
	for (size_t i = 0; i < maps->count; i++) {
		const struct mapping *one = maps->item[i];
		uint64_t table = WEFT_TABLE_NONE;

		if (one->file)
			table = modules_table(modules, one->file, quick);
		pending += table == WEFT_TABLE_PENDING;
		list[i] = (struct weft_map_module){
			.start = one->start,
			.end = one->end,
			.bias = one->has_bias ? one->bias : 0,
			.table = table,
		};
		fill_object(&list[i], &loaded, one);
	}
	free(loaded.item);
	return pending;
}

/* One snapshot; returns how many of its tables are not there (yet). */
static size_t map_publish_once(struct modules *modules, const struct tables *tables,
			       struct process *p, int quick)
{
	struct process_walk *w = p->walk;
	struct weft_map_module *list = calloc(w->maps.count + 1, sizeof(*list));
	size_t pending;
	uint32_t count;

	if (!list)
		return 0;
	pending = fill_list(list, modules, p, quick);
	count = cut_list(list, w->maps.count, snapshots_most(&w->snapshots));
	w->maps.number = snapshots_put(&w->snapshots, list, count, tables->used, w->epoch);
	free(list);
	return pending;
}

void map_publish(struct modules *modules, const struct tables *tables, struct process *p)
{
	struct process_walk *w = p->walk;
	size_t refused;

	if (!w->snapshots.header || (w->snapshots.number && w->published == w->maps.generation &&
				     w->published_epoch == w->epoch))
		return;
	w->published = w->maps.generation;
	w->published_epoch = w->epoch;
	if (!map_publish_once(modules, tables, p, 1))
		return;
	/* every table that can be built is built now: those that are missing found no room */
	refused = map_publish_once(modules, tables, p, 0);
	if (refused > w->tables_refused)
		store_relaxed(&w->tables_refused, (uint32_t)refused);
}
