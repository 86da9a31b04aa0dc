/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading DWARF 2 to 5: of a code address the functions inlined there and the source lines.
 *
 * Why not libdw: it reads no packages (.dwp) of split DWARF, opens files that the DWARF
 * names wherever they point to (not below the target's root, FIFOs too), and sets no bound
 * on the work that a few hostile bytes can ask for. libelf still finds, reads and
 * unpacks the sections.
 *
 * A reader belongs to one module. It holds files: the main one (the module's own DWARF or
 * its separate debug file), an alternate one (dwz) and split ones. All their sections are
 * in memory and their descriptors closed. A file has units; of a unit only the first entry is read
 * until an address needs the rest: its tree of functions, its line table. Everything read is kept.
 *
 * Nothing in a file is trusted: offsets are checked against their section, all work is
 * paid from one budget per module that grows with the size of its DWARF. When that is used
 * up, what has been read so far still answers.
 */
#ifndef WEFT_ELF_DWREAD_H
#define WEFT_ELF_DWREAD_H

#include "base/buf.h"
#include "elf/image/cursor.h"
#include "elf/image/internal.h"

#include <dwarf.h>

enum dwread_section_id {
	DWREAD_INFO,
	DWREAD_ABBREV,
	DWREAD_STR,
	DWREAD_LINE_STR,
	DWREAD_STR_OFFSETS,
	DWREAD_ADDR,
	DWREAD_RANGES,
	DWREAD_RNGLISTS,
	DWREAD_LINE,
	DWREAD_CU_INDEX,
	DWREAD_SECTIONS
};

struct dwread_section {
	const uint8_t *bytes;
	size_t size;
};

struct dwread_attribute {
	uint16_t name, form;
	int64_t constant; /* DW_FORM_implicit_const */
};

struct dwread_abbrev {
	uint64_t code;
	uint32_t first, count; /* attributes */
	uint16_t tag;
	uint8_t has_children;
};

struct dwread_abbrevs {
	struct buf abbrevs;    /* struct dwread_abbrev, sorted by code */
	struct buf attributes; /* struct dwread_attribute */
};

/* An attribute as it stands in the file; what it means is for dwread_string() and the like. */
struct dwread_value {
	uint16_t form; /* 0: not there */
	uint64_t number;
	const uint8_t *text; /* DW_FORM_string */
};

/* An attribute that a reader of entries wants, and where its value goes (offsetof). */
struct dwread_wanted {
	uint16_t name, at;
};

/* A code range; those of a node, and what of the module a unit covers. */
struct dwread_range {
	uint64_t start, end;
};

/* A function with code, or a call inlined in the node around it. */
struct dwread_node {
	uint64_t offset; /* of its entry, in DWREAD_INFO */
	uint32_t after;  /* first node that is not below this one */
	uint32_t first_range, range_count;
	uint32_t call_file, call_line;
	uint8_t is_inlined;
};

/*
 * A stretch of code and what it belongs to: of functions that are not inlined their node, of
 * sequences of lines the first row and their number, of units their number.
 */
struct dwread_span {
	uint64_t start, end;
	uint64_t reach; /* highest end of this and all before */
	uint32_t first, count;
};

/* A namespace or class: the entries in [start, end) lie in it. */
struct dwread_scope {
	uint64_t start, end;
	const char *name;
};

struct dwread_tree {
	struct buf nodes, ranges, tops, scopes;
};

struct dwread_row {
	uint64_t address;
	uint32_t file, line;
};

struct dwread_source {
	const char *name;
	uint64_t directory;
	char *path; /* made when asked for */
};

struct dwread_lines {
	int version;
	const char *comp_dir;
	struct buf directories; /* const char * */
	struct buf sources;     /* struct dwread_source */
	struct buf rows, sequences;
};

struct dwread_file;

struct dwread_unit {
	struct dwread_file *file;
	uint64_t offset, entries, end; /* in DWREAD_INFO */
	uint64_t abbrev_offset;
	uint64_t dwo_id;
	uint16_t version;
	uint8_t type, offset_size;

	int has_loaded; /* what follows is of the first entry */
	int is_split;   /* its functions are in another file */
	uint16_t language;
	struct dwread_abbrevs *abbrevs;
	uint64_t str_offsets_base, addr_base, rnglists_base, ranges_base, low_pc;
	struct dwread_value low, high, ranges, stmt_list;
	const char *comp_dir, *dwo_name;

	/* A skeleton and its split unit know each other. */
	struct dwread_unit *split, *skeleton;
	int has_tried_split;
	uint64_t part[DWREAD_SECTIONS]; /* of a package's sections: where this unit's begin */

	struct dwread_tree *tree;
	struct dwread_lines *lines;
	int has_tried_lines;
};

struct dwread;

struct dwread_file {
	struct dwread_file *next;
	struct dwread *reader;
	Elf *elf; /* owned; NULL: the module's */
	struct buf joined;
	struct dwread_section section[DWREAD_SECTIONS];
	struct dwread_unit *units; /* sorted by offset */
	size_t unit_count;
	struct map *abbrevs; /* offset -> struct dwread_abbrevs */
	struct map *lines;   /* offset -> struct dwread_lines */
};

struct dwread {
	struct elf_module *module;
	struct dwread_file *files; /* all of them */
	struct dwread_file *main, *alt, *package;
	char *main_path; /* beside which split files may be */
	int has_tried_package;
	uint64_t code_start;    /* no code lies below */
	struct buf index;       /* struct dwread_span, of units of main */
	struct map *names;      /* struct name_key -> struct dwread_name */
	uint64_t steps, memory; /* what is left of the budget */
};

/* dwread_file.c */
int dwread_file_open(struct dwread *r, Elf *elf, int is_split, struct dwread_file **out);
void dwread_file_free(struct dwread_file *f);
struct dwread_unit *dwread_unit_at(struct dwread_file *f, uint64_t offset);
/* Read the first entry, once; 0 or -errno. */
int dwread_unit_load(struct dwread_unit *u);

/* Pay from the budget; 0 when it is used up. */
int dwread_spend(struct dwread *r, uint64_t steps, uint64_t memory);
/* Append to an array, paid; 0 or -ENOMEM. */
int dwread_append(struct dwread *r, struct buf *b, const void *item, size_t bytes);

/* dwread_abbrev.c */
struct dwread_abbrevs *dwread_abbrevs_get(struct dwread_file *f, uint64_t offset);
void dwread_abbrevs_free(void *abbrevs);
const struct dwread_abbrev *dwread_abbrev_find(const struct dwread_abbrevs *a, uint64_t code);

/* dwread_form.c */
void dwread_read_value(struct elf_cursor *c, const struct dwread_unit *u,
		       const struct dwread_attribute *attribute, struct dwread_value *out);
/* Read the attributes of an entry behind its code: those of the table @wanted, which ends with 0,
 * into their struct dwread_value of @out. 0 or -EINVAL: the rest is damaged. */
int dwread_entry_read(struct elf_cursor *c, const struct dwread_unit *u,
		      const struct dwread_abbrev *abbrev, const struct dwread_wanted *wanted,
		      void *out);
struct elf_cursor dwread_cursor_at(const struct dwread_file *f, enum dwread_section_id id,
				   uint64_t offset);
const char *dwread_string(const struct dwread_unit *u, const struct dwread_value *v);
int dwread_address(const struct dwread_unit *u, const struct dwread_value *v, uint64_t *out);
int dwread_address_by_index(const struct dwread_unit *u, uint64_t index, uint64_t *out);
/* The entry that @v refers to: the unit that holds it, and its offset there. */
struct dwread_unit *dwread_reference(const struct dwread_unit *u, const struct dwread_value *v,
				     uint64_t *offset);

/* dwread_ranges.c: ranges of code by low and high, or ranges; damaged ones are left out. Appended
 * to @out, struct dwread_range. */
int dwread_ranges(struct dwread_unit *u, const struct dwread_value *low,
		  const struct dwread_value *high, const struct dwread_value *ranges,
		  struct buf *out);
int dwread_is_code(const struct dwread *r, uint64_t start, uint64_t end);
/* The @nth unit that may have code at @address; NULL: no more. */
int dwread_index_build(struct dwread *r);
struct dwread_unit *dwread_index_find(struct dwread *r, uint64_t address, unsigned int nth);

/* dwread_span.c: sort them once, then the @nth that has @address, the last begun first. */
void dwread_spans_settle(struct buf *spans);
const struct dwread_span *dwread_spans_find(const struct buf *spans, uint64_t address,
					    unsigned int nth);

/* dwread_tree.c: the functions of a unit; NULL: none. */
struct dwread_tree *dwread_tree_get(struct dwread_unit *u);
void dwread_tree_free(struct dwread_tree *t);
/* Nodes around @address, outermost first; returns how many there are, fills up to @room. */
size_t dwread_tree_find(const struct dwread_tree *t, uint64_t address,
			const struct dwread_node **out, size_t room);

/* dwread_lines.c */
struct dwread_lines *dwread_lines_get(struct dwread_unit *u);
void dwread_lines_free(void *lines);
const struct dwread_row *dwread_lines_find(const struct dwread_lines *l, uint64_t address);
const char *dwread_lines_path(struct dwread_lines *l, uint64_t file);

/* dwread_name.c: what the function at an entry is called; NULL: nothing. */
const char *dwread_name(struct dwread_unit *u, uint64_t offset, int *is_cpp);
void dwread_names_free(struct dwread *r);

/* dwread_split.c: the unit that holds the functions of @u: itself, its split one, or NULL. */
struct dwread_unit *dwread_unit_of_functions(struct dwread_unit *u);

#endif
