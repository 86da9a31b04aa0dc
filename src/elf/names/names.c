/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Function names by address: .symtab, the file's own or of its separate debug file, else
 * .dynsym with MiniDebugInfo; and the stubs of the PLT.
 *
 * One name for each address, chosen as a person would (see names_compare_names()); sorted; names
 * are demangled when first asked for. The raw names are libelf's and live as long as its Elf does.
 */
#include "base/array.h"
#include "elf/image/debug_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SECTIONS_MAX 65536
#define SYMBOLS_MAX (1u << 28)
/* Symbols that lie inside another: how many to look past for the one around. */
#define NESTED_MAX 256

struct entry {
	uint64_t address, end;
	uint64_t reach;   /* highest end of this and all entries before */
	const char *name; /* raw */
	char *shown;      /* as asked for first */
	uint8_t is_plt, is_untyped, is_sizeless, binding, is_cpp;
};

struct elf_names {
	struct entry *entries;
	size_t count, room;
	Elf *other; /* a file whose names these are too */
	void *other_image;
};

struct code_range {
	uint64_t start, end;
};

struct loader {
	const struct elf_module *module;
	Elf *elf; /* the module's, or another one that has symbols for it */
	struct elf_names *names;
	struct code_range *sections; /* by section number; empty for what holds no code */
	size_t section_count;
};

static int names_add_entry(struct elf_names *n, const struct entry *entry)
{
	struct entry *one = array_add(&n->entries, &n->count, &n->room, sizeof(*one));

	if (!one)
		return -ENOMEM;
	*one = *entry;
	return 0;
}

static int load_sections(struct loader *l)
{
	Elf_Scn *section = NULL;
	GElf_Shdr h;

	if (elf_getshdrnum(l->elf, &l->section_count) != 0 || l->section_count > SECTIONS_MAX)
		return -ENOEXEC;
	l->sections = calloc(l->section_count + 1, sizeof(*l->sections));
	if (!l->sections)
		return -ENOMEM;
	while ((section = elf_nextscn(l->elf, section)) != NULL) {
		size_t number = elf_ndxscn(section);

		if (number < l->section_count && gelf_getshdr(section, &h) &&
		    (h.sh_flags & SHF_EXECINSTR) && h.sh_addr <= UINT64_MAX - h.sh_size)
			l->sections[number] = (struct code_range){h.sh_addr, h.sh_addr + h.sh_size};
	}
	return 0;
}

static int is_function_type(unsigned int type)
{
	return type == STT_FUNC || type == STT_GNU_IFUNC || type == STT_NOTYPE;
}

/* Mapping symbols of aarch64 and local labels of assemblers name no function. */
static int is_function_name(const char *name)
{
	return name && name[0] != '\0' && name[0] != '$' && strncmp(name, ".L", 2) != 0;
}

static int add_symbol(struct loader *l, const GElf_Sym *symbol, const char *name)
{
	const struct code_range *code;
	struct entry e = {
		.address = symbol->st_value,
		.name = name,
		.is_untyped = GELF_ST_TYPE(symbol->st_info) == STT_NOTYPE,
		.is_sizeless = symbol->st_size == 0,
		.binding = GELF_ST_BIND(symbol->st_info),
	};

	if (!is_function_type(GELF_ST_TYPE(symbol->st_info)) ||
	    symbol->st_shndx >= l->section_count || !is_function_name(name))
		return 0;
	code = &l->sections[symbol->st_shndx];
	if (e.address < code->start || e.address >= code->end)
		return 0;
	/* Without a size it reaches up to the next one: set when all are sorted. */
	e.end = symbol->st_size && symbol->st_size < code->end - e.address
			? e.address + symbol->st_size
			: code->end;
	return names_add_entry(l->names, &e);
}

static int load_symbols(struct loader *l, GElf_Word type)
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;
	GElf_Sym symbol;
	int err = 0;

	while (!err && (section = elf_nextscn(l->elf, section)) != NULL) {
		Elf_Data *data;

		if (!gelf_getshdr(section, &header) || header.sh_type != type)
			continue;
		data = elf_section_data(section);
		for (int i = 1;
		     data && !err && i < (int)SYMBOLS_MAX && gelf_getsym(data, i, &symbol); i++)
			err = add_symbol(l, &symbol,
					 elf_strptr(l->elf, header.sh_link, symbol.st_name));
	}
	return err;
}

static int add_stub(void *arg, uint64_t address, uint64_t size, const char *name)
{
	struct entry e = {.address = address, .end = address + size, .name = name, .is_plt = 1};

	return e.end > address ? names_add_entry(arg, &e) : 0;
}

static size_t leading_underscores(const char *name)
{
	if (strncmp(name, "_Z", 2) == 0 || strncmp(name, "_R", 2) == 0)
		return 0;
	return strspn(name, "_");
}

static int by_binding(uint8_t binding)
{
	return binding == STB_GLOBAL ? 0 : binding == STB_WEAK ? 1 : 2;
}

/* Of names at one address the first in this order is shown: "malloc", not "__libc_malloc". */
static int names_compare_names(const struct entry *x, const struct entry *y)
{
	size_t length_x = strlen(x->name), length_y = strlen(y->name);
	size_t under_x = leading_underscores(x->name), under_y = leading_underscores(y->name);

	if (x->is_untyped != y->is_untyped)
		return x->is_untyped - y->is_untyped;
	if (x->is_sizeless != y->is_sizeless)
		return x->is_sizeless - y->is_sizeless;
	if (under_x != under_y)
		return under_x < under_y ? -1 : 1;
	if (x->binding != y->binding)
		return by_binding(x->binding) - by_binding(y->binding);
	if (length_x != length_y)
		return length_x < length_y ? -1 : 1;
	return strcmp(x->name, y->name);
}

static int compare_entries(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	if (x->address != y->address)
		return x->address < y->address ? -1 : 1;
	return names_compare_names(x, y);
}

static void names_settle(struct elf_names *n)
{
	size_t kept = 0;
	uint64_t reach = 0;

	if (n->count)
		qsort(n->entries, n->count, sizeof(*n->entries), compare_entries);
	for (size_t i = 0; i < n->count; i++)
		if (kept == 0 || n->entries[kept - 1].address != n->entries[i].address)
			n->entries[kept++] = n->entries[i];
	n->count = kept;
	for (size_t i = 0; i < kept; i++) {
		struct entry *e = &n->entries[i];

		if (e->is_sizeless && i + 1 < kept && e[1].address < e->end)
			e->end = e[1].address;
		if (e->end > reach)
			reach = e->end;
		e->reach = reach;
	}
}

static int load_from(struct loader *l, Elf *elf, GElf_Word type)
{
	int err;

	free(l->sections);
	l->sections = NULL;
	l->elf = elf;
	err = load_sections(l);
	return err ? err : load_symbols(l, type);
}

/* The whole table, where it was split off. */
static int names_load_separate(struct loader *l)
{
	struct debug_file found;
	int err;

	if (debug_file_find(l->module, DEBUG_WANT_SYMBOLS, &found) != 0)
		return 0;
	err = load_from(l, found.elf, SHT_SYMTAB);
	if (err == -ENOEXEC)
		err = 0;
	l->names->other = debug_file_keep(&found);
	return err;
}

/* What is exported, and what is packed beside it. */
static int load_exported(struct loader *l)
{
	struct elf_names *n = l->names;
	int err = load_from(l, l->module->elf, SHT_DYNSYM);

	if (err || n->other || elf_mini_debug(l->module, &n->other, &n->other_image) != 0)
		return err;
	err = load_from(l, n->other, SHT_SYMTAB);
	return err == -ENOEXEC ? 0 : err;
}

static int load_all(struct loader *l)
{
	int err = load_from(l, l->module->elf, SHT_SYMTAB);

	if (!err && l->names->count == 0)
		err = names_load_separate(l);
	if (!err && l->names->count == 0)
		err = load_exported(l);
	if (!err)
		err = elf_plt_scan(l->module, add_stub, l->names);
	return err;
}

static int names_load(const struct elf_module *m, struct elf_names **out)
{
	struct elf_names *n = calloc(1, sizeof(*n));
	struct loader l = {.module = m, .names = n};
	int err = n ? load_all(&l) : -ENOMEM;

	free(l.sections);
	if (err) {
		elf_names_free(n);
		return err;
	}
	names_settle(n);
	*out = n;
	return 0;
}

void elf_names_free(struct elf_names *n)
{
	if (!n)
		return;
	for (size_t i = 0; i < n->count; i++)
		free(n->entries[i].shown);
	free(n->entries);
	elf_end(n->other);
	free(n->other_image);
	free(n);
}

/* "name@@VERSION" without its version, demangled, "@plt" for a stub. */
static int names_show(struct entry *e)
{
	char *plain = strndup(e->name, strcspn(e->name, "@"));
	char *nice = plain ? elf_demangle(plain) : NULL;

	if (!plain)
		return -ENOMEM;
	e->is_cpp = nice != NULL;
	if (nice) {
		free(plain);
		plain = nice;
	}
	if (e->is_plt && asprintf(&nice, "%s@plt", plain) >= 0) {
		free(plain);
		plain = nice;
	}
	e->shown = plain;
	return 0;
}

/* The innermost symbol around @address: the last that begins before it, or one around it. */
static struct entry *names_find_entry(struct elf_names *n, uint64_t address)
{
	size_t low = array_upto(n->entries, n->count, sizeof(*n->entries),
				offsetof(struct entry, address), address);

	for (size_t i = 0; i < NESTED_MAX && low > 0; i++) {
		struct entry *e = &n->entries[--low];

		if (e->end > address)
			return e;
		if (e->reach <= address)
			break;
	}
	return NULL;
}

static struct elf_symbol symbol_of(const struct entry *e)
{
	return (struct elf_symbol){e->shown, e->address, e->end - e->address, e->is_cpp};
}

static struct elf_names *names_of(struct elf_module *m)
{
	if (!m->has_tried_names) {
		m->has_tried_names = 1;
		if (names_load(m, &m->names) != 0)
			m->names = NULL;
	}
	return m->names;
}

int elf_module_symbol(struct elf_module *m, uint64_t address, struct elf_symbol *out)
{
	struct elf_names *n = names_of(m);
	struct entry *e = n ? names_find_entry(n, address) : NULL;

	if (!e)
		return -ENOENT;
	if (!e->shown && names_show(e) != 0)
		return -ENOMEM;
	*out = symbol_of(e);
	return 0;
}

size_t elf_module_functions(struct elf_module *m, const char *name, struct elf_symbol *out,
			    size_t max)
{
	struct elf_names *n = names_of(m);
	size_t found = 0;

	for (size_t i = 0; n && i < n->count; i++) {
		struct entry *e = &n->entries[i];

		if ((!e->shown && names_show(e) != 0) || strcmp(e->shown, name) != 0)
			continue;
		if (found < max)
			out[found] = symbol_of(e);
		found++;
	}
	return found;
}
