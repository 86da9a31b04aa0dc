/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Mappings of code, sorted by process and address; each file is opened once, when an address of
 * it is asked for. Files are hostile, and mappings may be of a process that is gone: the worst
 * that comes of it is a number instead of a name.
 */
#include "coro/look/names.h"

#include "base/array.h"
#include "base/map.h"
#include "elf/module.h"
#include "proc/proc_maps.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct file {
	char *path;
	uint32_t pid; /* in whose root it is looked for first; 0 = ours */
	struct elf_module *module;
	int is_tried;
};

struct mapping {
	uint32_t pid;
	uint64_t start, end, offset;
	size_t file;
	int is_at_home; /* at the addresses that the file says */
};

struct coro_names {
	struct file *files;
	size_t file_count, file_room;
	struct mapping *mappings;
	size_t count, room;
	int is_sorted;
	struct map *said; /* address -> a copy */
};

struct coro_names *coro_names_new(void)
{
	return calloc(1, sizeof(struct coro_names));
}

void coro_names_free(struct coro_names *n)
{
	if (!n)
		return;
	for (size_t i = 0; i < n->file_count; i++) {
		free(n->files[i].path);
		elf_module_free(n->files[i].module);
	}
	map_free_values(n->said, free);
	free(n->files);
	free(n->mappings);
	free(n);
}

int coro_names_say(struct coro_names *n, uint64_t address, const char *name, size_t bytes)
{
	uint64_t *kept;
	int fresh;

	if (!n->said)
		n->said = map_new();
	kept = n->said ? map_put(n->said, &address, sizeof(address), &fresh) : NULL;
	if (kept && fresh)
		*kept = (uint64_t)(uintptr_t)strndup(name, bytes);
	return kept && *kept ? 0 : -ENOMEM;
}

static const char *said(const struct coro_names *n, uint64_t address)
{
	uint64_t *kept = n->said ? map_get(n->said, &address, sizeof(address)) : NULL;

	return kept ? (const char *)(uintptr_t)*kept : NULL;
}

static int file_add(struct coro_names *n, const char *path, uint32_t pid, size_t *index)
{
	struct file one = {.pid = pid}, *added;

	for (*index = 0; *index < n->file_count; ++*index)
		if (!strcmp(n->files[*index].path, path))
			return 0;
	one.path = strdup(path);
	added = one.path ? array_add(&n->files, &n->file_count, &n->file_room, sizeof(one)) : NULL;
	if (added)
		*added = one;
	else
		free(one.path);
	return added ? 0 : -ENOMEM;
}

static int mapping_add(struct coro_names *n, const struct mapping *m)
{
	struct mapping *one = array_add(&n->mappings, &n->count, &n->room, sizeof(*one));

	if (!one)
		return -ENOMEM;
	*one = *m;
	n->is_sorted = 0;
	return 0;
}

/* Adds what is code of a file. 0 or -errno. */
static int names_add_map(struct coro_names *n, uint32_t pid, const struct proc_map *map)
{
	struct mapping m = {
		.pid = pid, .start = map->start, .end = map->end, .offset = map->offset};
	int rc;

	if (map->permissions[2] != 'x' || map->path[0] != '/')
		return 0;
	rc = file_add(n, map->path, pid, &m.file);
	if (rc == 0)
		rc = mapping_add(n, &m);
	return rc;
}

struct names_reading {
	struct coro_names *names;
	uint32_t pid;
	dev_t device; /* of the file that a process of ours has mapped */
	ino_t inode;
	int is_ours;
};

static int names_read_map(void *arg, struct proc_map *map)
{
	struct names_reading *r = arg;

	r->is_ours |= proc_map_is_of(map, r->device, r->inode);
	return names_add_map(r->names, r->pid, map);
}

int coro_names_process(struct coro_names *n, uint32_t pid, dev_t device, ino_t inode)
{
	struct names_reading r = {
		.names = n, .pid = pid, .device = device, .inode = inode, .is_ours = inode == 0};
	size_t had = n->count;
	int rc = proc_maps_each((pid_t)pid, names_read_map, &r);

	if (rc == -ENOENT || (rc == 0 && !r.is_ours))
		rc = -ESRCH;
	if (rc < 0)
		n->count = had;
	return rc < 0 ? rc : (int)(n->count - had);
}

int coro_names_file(struct coro_names *n, const char *path)
{
	struct mapping m = {.start = 0, .end = UINT64_MAX, .is_at_home = 1};
	int rc = file_add(n, path, 0, &m.file);

	if (rc)
		return rc;
	rc = elf_module_open(&n->files[m.file].module, path, -1, path);
	n->files[m.file].is_tried = 1;
	return rc ? rc : mapping_add(n, &m);
}

int coro_names_noted(struct coro_names *n, const char *path)
{
	FILE *in = fopen(path, "re");
	size_t had = n->count, room = 0;
	char *line = NULL, *rest;
	int rc = 0;

	if (!in)
		return -errno;
	while (rc >= 0 && getline(&line, &room, in) > 0) {
		unsigned long pid = strtoul(line, &rest, 10);
		struct proc_map map;

		if (rest == line || *rest != ' ' || pid > UINT32_MAX ||
		    proc_map_parse(rest + 1, strcspn(rest + 1, "\n"), &map))
			continue;
		rc = names_add_map(n, (uint32_t)pid, &map);
		free(map.path);
	}
	free(line);
	fclose(in);
	return rc < 0 ? rc : (int)(n->count - had);
}

/* ---- looking up */

static int names_compare(const void *a, const void *b)
{
	const struct mapping *x = a, *y = b;

	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	return x->start < y->start ? -1 : x->start > y->start;
}

/* A binary search among the process's mappings, then all that hold for any process. */
static const struct mapping *look_names_find(struct coro_names *n, uint32_t pid, uint64_t address)
{
	size_t low = 0, high = n->count;

	if (!n->is_sorted && n->count)
		qsort(n->mappings, n->count, sizeof(*n->mappings), names_compare);
	n->is_sorted = 1;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct mapping *m = &n->mappings[middle];

		if (m->pid < pid || (m->pid == pid && m->end <= address))
			low = middle + 1;
		else
			high = middle;
	}
	if (low < n->count && n->mappings[low].pid == pid && n->mappings[low].start <= address)
		return &n->mappings[low];
	for (size_t i = 0; i < n->count; i++)
		if ((!pid || n->mappings[i].is_at_home) && n->mappings[i].start <= address &&
		    address < n->mappings[i].end)
			return &n->mappings[i];
	return NULL;
}

static struct elf_module *module_of(struct file *f)
{
	char path[4096 + 64];

	if (f->is_tried)
		return f->module;
	f->is_tried = 1;
	snprintf(path, sizeof(path), "/proc/%u/root%s", (unsigned int)f->pid, f->path);
	if (f->pid && elf_module_open(&f->module, path, -1, f->path) == 0)
		return f->module;
	if (elf_module_open(&f->module, f->path, -1, f->path))
		f->module = NULL;
	return f->module;
}

static int coro_names_locate(struct coro_names *n, uint32_t pid, uint64_t address,
			     const struct mapping **mapping, struct elf_module **module,
			     uint64_t *in_file)
{
	const struct mapping *m = address ? look_names_find(n, pid, address) : NULL;

	if (!m)
		return -ENOENT;
	*mapping = m;
	*module = module_of(&n->files[m->file]);
	*in_file = address;
	if (!*module || m->is_at_home)
		return 0;
	if (elf_module_address(*module, address - m->start + m->offset, in_file))
		*module = NULL;
	return 0;
}

static const char *base_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* A place in a function, or in a file without symbols. */
static void print_place(char out[CORO_NAME_BYTES], const char *name, uint64_t offset)
{
	if (offset)
		snprintf(out, CORO_NAME_BYTES, "%.*s+0x%llx", CORO_NAME_BYTES - 24, name,
			 (unsigned long long)offset);
	else
		snprintf(out, CORO_NAME_BYTES, "%s", name);
}

const char *coro_names_text(struct coro_names *n, uint32_t pid, uint64_t address,
			    char out[CORO_NAME_BYTES])
{
	const struct mapping *m = NULL;
	struct elf_module *module = NULL;
	struct elf_symbol symbol;
	uint64_t at = 0;

	if (!address)
		print_place(out, "-", 0);
	else if (said(n, address))
		print_place(out, said(n, address), 0);
	else if (!coro_names_locate(n, pid, address, &m, &module, &at) && module &&
		 elf_module_symbol(module, at, &symbol) == 0)
		print_place(out, symbol.name, at - symbol.address);
	else if (m && !m->is_at_home)
		print_place(out, base_of(n->files[m->file].path), address - m->start + m->offset);
	else
		snprintf(out, CORO_NAME_BYTES, "0x%llx", (unsigned long long)address);
	return out;
}
