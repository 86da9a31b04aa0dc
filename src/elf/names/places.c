/* SPDX-License-Identifier: Apache-2.0 */
/* The functions and source lines that a code address belongs to: see module.h. */
#include "elf/dwarf/dwread.h"
#include "elf/image/debug_file.h"

#include "base/map.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* The budget, to which the size of the DWARF is added. */
#define STEPS_FIRST (UINT64_C(1) << 22)
#define MEMORY_FIRST (UINT64_C(1) << 24)
/* Units that cover one address: after the linker merged equal functions several may. */
#define UNITS_MAX 8
#define CHAIN_MAX 256

/* ---- where debug files are */

static int is_our_root(int root_fd)
{
	struct stat theirs, ours;

	return root_fd < 0 || (fstat(root_fd, &theirs) == 0 && stat("/", &ours) == 0 &&
			       theirs.st_dev == ours.st_dev && theirs.st_ino == ours.st_ino);
}

void elf_debug_free(struct elf_module *m)
{
	if (m->debug.root_fd >= 0)
		close(m->debug.root_fd);
	m->debug = (struct elf_debug){.root_fd = -1};
}

void elf_module_set_debug(struct elf_module *m, const struct elf_debug *debug)
{
	elf_debug_free(m);
	m->debug.debuginfod = debug->debuginfod;
	/* Most processes have our own root: no descriptor for those. */
	if (!is_our_root(debug->root_fd))
		m->debug.root_fd = fcntl(debug->root_fd, F_DUPFD_CLOEXEC, 3);
}

/* ---- the reader */

static uint64_t lowest_code(Elf *elf)
{
	uint64_t lowest = UINT64_MAX;
	Elf_Scn *section = NULL;
	GElf_Shdr h;

	while ((section = elf_nextscn(elf, section)) != NULL)
		if (gelf_getshdr(section, &h) && (h.sh_flags & SHF_EXECINSTR) &&
		    (h.sh_flags & SHF_ALLOC) && h.sh_addr < lowest)
			lowest = h.sh_addr;
	return lowest == UINT64_MAX || lowest == 0 ? 1 : lowest;
}

static int open_alternate(struct dwread *r, Elf *elf)
{
	struct debug_file found;

	if (debug_file_alternate(r->module, elf, r->main_path, &found) != 0)
		return -ENOENT;
	if (dwread_file_open(r, found.elf, 0, &r->alt) == 0)
		r->alt->elf = debug_file_keep(&found);
	debug_file_close(&found);
	return 0;
}

static int open_separate(struct dwread *r)
{
	struct debug_file found;
	int err = debug_file_find(r->module, DEBUG_WANT_DWARF, &found);

	if (err)
		return err;
	r->main_path = found.path;
	found.path = NULL;
	err = dwread_file_open(r, found.elf, 0, &r->main);
	if (!err) {
		open_alternate(r, found.elf);
		r->main->elf = debug_file_keep(&found);
	}
	debug_file_close(&found);
	return err;
}

static int places_open_own(struct dwread *r)
{
	int err = dwread_file_open(r, r->module->elf, 0, &r->main);

	if (!err && r->module->path) {
		r->main_path = strdup(r->module->path);
		err = r->main_path ? 0 : -ENOMEM;
	}
	if (!err)
		open_alternate(r, r->module->elf);
	return err;
}

static int open_files(struct dwread *r)
{
	r->names = map_new();
	if (!r->names)
		return -ENOMEM;
	if (elf_has_debug_section(r->module->elf, "debug_info"))
		return places_open_own(r);
	return open_separate(r);
}

void dwread_free(struct dwread *r)
{
	if (!r)
		return;
	dwread_names_free(r);
	while (r->files) {
		struct dwread_file *next = r->files->next;

		dwread_file_free(r->files);
		r->files = next;
	}
	buf_free(&r->index);
	free(r->main_path);
	free(r);
}

static struct dwread *reader_of(struct elf_module *m)
{
	struct dwread *r;

	if (m->has_tried_dwarf)
		return m->dwarf;
	m->has_tried_dwarf = 1;
	r = calloc(1, sizeof(*r));
	if (!r)
		return NULL;
	r->module = m;
	r->steps = STEPS_FIRST;
	r->memory = MEMORY_FIRST;
	r->code_start = lowest_code(m->elf);
	if (open_files(r) != 0) {
		dwread_free(r);
		return NULL;
	}
	dwread_index_build(r);
	m->dwarf = r;
	return r;
}

/* ---- places */

/* All that DWARF says of an address. */
struct chain {
	struct dwread_unit *unit;                  /* that has the functions */
	const struct dwread_node *node[CHAIN_MAX]; /* outermost first */
	size_t count;
	struct dwread_lines *lines;
	const struct dwread_row *row;
};

static int find_chain(struct dwread *r, uint64_t address, struct chain *c)
{
	struct dwread_unit *u;

	for (unsigned int i = 0; i < UNITS_MAX && (u = dwread_index_find(r, address, i)); i++) {
		struct dwread_tree *tree;

		c->unit = dwread_unit_of_functions(u);
		tree = c->unit ? dwread_tree_get(c->unit) : NULL;
		c->count = tree ? dwread_tree_find(tree, address, c->node, CHAIN_MAX) : 0;
		if (c->count > CHAIN_MAX)
			c->count = CHAIN_MAX;
		c->lines = dwread_lines_get(u);
		c->row = c->lines ? dwread_lines_find(c->lines, address) : NULL;
		if (c->count || c->row)
			return 0;
	}
	return -ENOENT;
}

static uint64_t places_start_of(const struct chain *c)
{
	const struct dwread_range *ranges = (const void *)c->unit->tree->ranges.data;

	return ranges[c->node[0]->first_range].start;
}

static void places_put_line(struct elf_place *place, struct dwread_lines *lines, uint32_t file,
			    uint32_t line)
{
	if (!lines)
		return;
	place->line = line <= INT32_MAX ? (int)line : 0;
	place->file = dwread_lines_path(lines, file);
}

/* Of the place @depth, counted from the outermost: the address's own line, or the call's. */
static void places_set_line(struct chain *c, size_t depth, struct elf_place *place)
{
	if (depth + 1 < c->count)
		places_put_line(place, c->lines, c->node[depth + 1]->call_file,
				c->node[depth + 1]->call_line);
	else if (c->row)
		places_put_line(place, c->lines, c->row->file, c->row->line);
}

static int set_real(struct elf_module *m, struct chain *c, uint64_t address,
		    struct elf_place *place)
{
	struct elf_symbol symbol;

	if (elf_module_symbol(m, address, &symbol) == 0) {
		place->function = symbol.name;
		place->address = symbol.address;
		place->is_cpp = symbol.is_cpp;
	} else if (c->count) {
		place->function = dwread_name(c->unit, c->node[0]->offset, &place->is_cpp);
		place->address = places_start_of(c);
	}
	return place->function ? 0 : -ENOENT;
}

size_t elf_module_places(struct elf_module *m, uint64_t address, struct elf_place *out, size_t max)
{
	struct dwread *r = reader_of(m);
	struct chain c = {0};
	struct elf_place place = {0};
	size_t count = 0;

	if (r)
		find_chain(r, address, &c);
	if (max == 0 || set_real(m, &c, address, &place) != 0)
		return 0;
	for (size_t depth = c.count; depth-- > 1 && count + 1 < max;) {
		struct elf_place inlined = {.is_inlined = 1};

		inlined.function = dwread_name(c.unit, c.node[depth]->offset, &inlined.is_cpp);
		if (!inlined.function)
			continue;
		places_set_line(&c, depth, &inlined);
		out[count++] = inlined;
	}
	places_set_line(&c, 0, &place);
	out[count++] = place;
	return count;
}
