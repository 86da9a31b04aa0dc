/* SPDX-License-Identifier: Apache-2.0 */
/* Module map snapshots out of mappings: see map_publish.h. */
#include "collector/map_publish.h"

#include "elf/module.h"

#include <stdlib.h>
#include <string.h>

/*
 * Programs map pieces of their own file once more: V8 puts its built-in functions near the
 * code that it makes. The loader's mappings begin where a segment does; of such a one pieces
 * may have been given other permissions.
 */
static int is_loaded(const struct process *p, const struct mapping *one)
{
	for (size_t i = 0; i < p->maps.count; i++) {
		const struct mapping *other = p->maps.item[i];

		if (other->file == one->file && other->has_bias && other->bias == one->bias &&
		    elf_module_is_code_start(one->file->elf, other->offset))
			return 1;
	}
	return 0;
}

/*
 * What the loader will say of a pc in here. It knows nothing of code that it did not load, and
 * of the vdso only where libc does.
 */
static void fill_object(struct weft_map_module *out, const struct process *p,
			const struct mapping *one)
{
	uint64_t start, header;

	if (!one->file || one->path[0] != '/' || !is_loaded(p, one) ||
	    elf_module_object(one->file->elf, &start, &header) != 0)
		return;
	out->object_start = start + one->bias;
	out->object_eh = header ? header + one->bias : 0;
}

static void fill_module(struct weft_map_module *out, const struct process *p,
			const struct mapping *one, uint64_t table)
{
	*out = (struct weft_map_module){
		.start = one->start,
		.end = one->end,
		.bias = one->has_bias ? one->bias : 0,
		.table = table,
	};
	fill_object(out, p, one);
}

/* One snapshot; returns how many of its tables are not there (yet). */
static size_t publish_once(struct modules *modules, const struct tables *tables, struct process *p,
			   int quick)
{
	struct weft_map_module *list = calloc(p->maps.count + 1, sizeof(*list));
	size_t pending = 0;

	if (!list)
		return 0;
	for (size_t i = 0; i < p->maps.count; i++) {
		struct mapping *one = p->maps.item[i];
		uint64_t table = WEFT_TABLE_NONE;

		if (!one->opened)
			modules_attach(modules, one, p->root_fd, p->proc_fd);
		if (one->file)
			table = modules_table(modules, one->file, quick);
		pending += table == WEFT_TABLE_PENDING;
		fill_module(&list[i], p, one, table);
	}
	p->maps.number =
		snapshots_put(&p->snapshots, list, (uint32_t)p->maps.count, tables->used, p->epoch);
	free(list);
	return pending;
}

void map_publish(struct modules *modules, const struct tables *tables, struct process *p)
{
	if (!p->snapshots.header || (p->snapshots.number && p->published == p->maps.generation &&
				     p->published_epoch == p->epoch))
		return;
	p->published = p->maps.generation;
	p->published_epoch = p->epoch;
	if (publish_once(modules, tables, p, 1))
		publish_once(modules, tables, p, 0);
}
