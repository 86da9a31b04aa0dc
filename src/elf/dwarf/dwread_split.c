/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Split DWARF: a skeleton unit names a .dwo file, which may also be in the package (.dwp)
 * beside the module. Both are taken only when they hold a unit with the skeleton's id.
 */
#include "base/array.h"
#include "elf/dwarf/dwread.h"
#include "elf/image/debug_file.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>

#define COLUMNS_MAX 16

/* ---- packages: a hash table from ids to rows of offsets */

struct package_index {
	struct elf_cursor hashes, rows, ids, offsets;
	uint64_t columns, units, slots;
	uint64_t version;
};

static struct elf_cursor dwread_split_cut(struct elf_cursor *c, uint64_t bytes)
{
	struct elf_cursor part = *c;

	cursor_skip(c, bytes);
	part.end = c->at;
	part.failed = c->failed;
	return part;
}

static int read_index(const struct dwread_file *f, struct package_index *x)
{
	struct elf_cursor c = dwread_cursor_at(f, DWREAD_CU_INDEX, 0);

	x->version = cursor_fixed(&c, 2); /* in version 2 of 4 bytes, else 2 of padding follow */
	cursor_skip(&c, 2);
	x->columns = cursor_fixed(&c, 4);
	x->units = cursor_fixed(&c, 4);
	x->slots = cursor_fixed(&c, 4);
	if (c.failed || (x->version != 2 && x->version != 5) || x->columns > COLUMNS_MAX ||
	    x->slots == 0 || (x->slots & (x->slots - 1)) != 0)
		return -EINVAL;
	x->hashes = dwread_split_cut(&c, x->slots * 8);
	x->rows = dwread_split_cut(&c, x->slots * 4);
	x->ids = dwread_split_cut(&c, x->columns * 4);
	x->offsets = dwread_split_cut(&c, x->units * x->columns * 4);
	return c.failed ? -EINVAL : 0;
}

static uint64_t item(const struct elf_cursor *table, uint64_t number, unsigned int bytes)
{
	struct elf_cursor c = *table;

	cursor_skip(&c, number * bytes);
	return cursor_fixed(&c, bytes);
}

/* Row of the id, from 1; 0 = not in it. */
static uint64_t find_row(const struct package_index *x, uint64_t id)
{
	uint64_t mask = x->slots - 1, at = id & mask, step = ((id >> 32) & mask) | 1;

	for (uint64_t i = 0; i < x->slots; i++, at = (at + step) & mask) {
		uint64_t row = item(&x->rows, at, 4);

		if (row == 0)
			return 0;
		if (item(&x->hashes, at, 8) == id)
			return row <= x->units ? row : 0;
	}
	return 0;
}

static int section_of_column(uint64_t version, uint64_t id)
{
	static const int8_t sections[] = {
		-1, DWREAD_INFO,        -1, DWREAD_ABBREV,  DWREAD_LINE,
		-1, DWREAD_STR_OFFSETS, -1, DWREAD_RNGLISTS /* from version 5 on */};

	return id < (version == 5 ? 9 : 8) ? sections[id] : -1;
}

static struct dwread_unit *unit_beginning_at(struct dwread_file *f, uint64_t offset)
{
	size_t count = array_upto(f->units, f->unit_count, sizeof(*f->units),
				  offsetof(struct dwread_unit, offset), offset);

	return count && f->units[count - 1].offset == offset ? &f->units[count - 1] : NULL;
}

static struct dwread_unit *find_in_package(struct dwread_file *f, struct dwread_unit *skeleton)
{
	uint64_t part[DWREAD_SECTIONS] = {0};
	struct package_index x;
	struct dwread_unit *u;
	uint64_t row;

	if (!f || read_index(f, &x) != 0 || !dwread_spend(f->reader, x.slots / 16, 0))
		return NULL;
	row = find_row(&x, skeleton->dwo_id);
	if (row == 0)
		return NULL;
	for (uint64_t i = 0; i < x.columns; i++) {
		int section = section_of_column(x.version, item(&x.ids, i, 4));

		if (section >= 0)
			part[section] = item(&x.offsets, (row - 1) * x.columns + i, 4);
	}
	u = unit_beginning_at(f, part[DWREAD_INFO]);
	if (!u || u->skeleton)
		return NULL;
	memcpy(u->part, part, sizeof(part));
	u->skeleton = skeleton;
	u->has_loaded = 0;
	return dwread_unit_load(u) == 0 ? u : NULL;
}

/* ---- files */

static struct dwread_file *open_split(struct dwread *r, struct debug_file *found)
{
	struct dwread_file *f = NULL;

	if (dwread_file_open(r, found->elf, 1, &f) == 0)
		f->elf = debug_file_keep(found);
	debug_file_close(found);
	return f;
}

static struct dwread_file *package_of(struct dwread *r)
{
	const char *beside[2] = {r->module->path, r->main_path};
	struct debug_file found;
	char path[PATH_MAX];

	if (r->has_tried_package)
		return r->package;
	r->has_tried_package = 1;
	for (int i = 0; i < 2 && !r->package; i++) {
		int nth = 0;

		if (!beside[i] || snprintf(path, sizeof(path), "%s.dwp", beside[i]) >= PATH_MAX)
			continue;
		while (!r->package && debug_file_next(r->module, path, &nth, &found) == 0)
			r->package = open_split(r, &found);
	}
	return r->package;
}

static struct dwread_unit *find_in_file(struct dwread_file *f, struct dwread_unit *skeleton)
{
	for (size_t i = 0; f && i < f->unit_count; i++) {
		struct dwread_unit *u = &f->units[i];

		if (u->type == DW_UT_type || u->type == DW_UT_split_type || u->skeleton)
			continue;
		u->skeleton = skeleton;
		if (dwread_unit_load(u) == 0 && u->dwo_id == skeleton->dwo_id)
			return u;
		u->skeleton = NULL;
	}
	return NULL;
}

/* A file with the wrong id is kept too, until the module goes: it is not asked for again. */
static struct dwread_unit *find_at(struct dwread_unit *skeleton, const char *path)
{
	struct dwread *r = skeleton->file->reader;
	struct dwread_unit *u = NULL;
	struct debug_file found;
	int nth = 0;

	while (!u && debug_file_next(r->module, path, &nth, &found) == 0)
		u = find_in_file(open_split(r, &found), skeleton);
	return u;
}

/* In the first @bytes of @directory. */
static struct dwread_unit *find_split_in(struct dwread_unit *skeleton, const char *directory,
					 size_t bytes, const char *name)
{
	char path[PATH_MAX];

	if (bytes >= PATH_MAX ||
	    snprintf(path, sizeof(path), "%.*s/%s", (int)bytes, directory, name) >= PATH_MAX)
		return NULL;
	return find_at(skeleton, path);
}

static struct dwread_unit *find_beside(struct dwread_unit *skeleton, const char *module)
{
	const char *slash = module ? strrchr(module, '/') : NULL, *name = skeleton->dwo_name;
	const char *base = strrchr(name, '/');
	struct dwread_unit *u = NULL;

	if (slash && name[0] != '/')
		u = find_split_in(skeleton, module, (size_t)(slash - module), name);
	if (slash && !u && base)
		u = find_split_in(skeleton, module, (size_t)(slash - module), base + 1);
	return u;
}

static struct dwread_unit *find_split(struct dwread_unit *skeleton)
{
	struct dwread *r = skeleton->file->reader;
	struct dwread_unit *u = find_in_package(package_of(r), skeleton);
	const char *name = skeleton->dwo_name, *directory = skeleton->comp_dir;

	if (u || strnlen(name, PATH_MAX) == PATH_MAX)
		return u;
	if (name[0] == '/')
		u = find_at(skeleton, name);
	else if (directory)
		u = find_split_in(skeleton, directory, strnlen(directory, PATH_MAX), name);
	if (!u)
		u = find_beside(skeleton, r->module->path);
	if (!u)
		u = find_beside(skeleton, r->main_path);
	return u;
}

struct dwread_unit *dwread_unit_of_functions(struct dwread_unit *u)
{
	if (dwread_unit_load(u) != 0)
		return NULL;
	if (u->is_split && !u->has_tried_split) {
		u->has_tried_split = 1;
		u->split = find_split(u);
	}
	return u->split ? u->split : u;
}
