/* SPDX-License-Identifier: Apache-2.0 */
/* Line tables, DWARF 2 to 5: the program of a unit is run once, its rows kept. */
#include "elf/dwarf/dwread.h"

#include "base/array.h"
#include "base/map.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define FORMATS_MAX 32

struct program {
	struct dwread *reader;
	struct dwread_lines *lines;
	struct dwread_unit form; /* offset size and version, for reading forms */
	struct elf_cursor at;
	uint8_t minimum_length, line_range, opcode_base;
	int8_t line_base;
	const uint8_t *operand_counts;
	/* the machine */
	uint64_t address, file;
	uint32_t line;
	uint32_t first_row;
};

static int add_directory(struct program *p, const char *name)
{
	return dwread_append(p->reader, &p->lines->directories, &name, sizeof(name));
}

static int add_source(struct program *p, const char *name, uint64_t directory)
{
	struct dwread_source s = {name, directory, NULL};

	return dwread_append(p->reader, &p->lines->sources, &s, sizeof(s));
}

/* ---- the header */

static int read_sources_v4(struct program *p)
{
	const char *name;

	if (add_directory(p, p->lines->comp_dir) != 0)
		return -ENOMEM;
	while ((name = cursor_string(&p->at)) != NULL && name[0])
		if (add_directory(p, name) != 0)
			return -ENOMEM;
	if (add_source(p, NULL, 0) != 0) /* they count from 1 */
		return -ENOMEM;
	while ((name = cursor_string(&p->at)) != NULL && name[0]) {
		uint64_t directory = cursor_uleb(&p->at);

		cursor_uleb(&p->at);
		cursor_uleb(&p->at);
		if (add_source(p, name, directory) != 0)
			return -ENOMEM;
	}
	return p->at.failed ? -EINVAL : 0;
}

/* One table of DWARF 5: what each entry consists of, then the entries. */
static int read_table_v5(struct program *p, int is_sources)
{
	struct dwread_attribute formats[FORMATS_MAX];
	uint64_t format_count = cursor_fixed(&p->at, 1), count;
	int err = 0;

	if (format_count > FORMATS_MAX)
		return -EINVAL;
	for (uint64_t i = 0; i < format_count; i++) {
		uint64_t content = cursor_uleb(&p->at), form = cursor_uleb(&p->at);

		if (content > UINT16_MAX || form > UINT16_MAX || form == DW_FORM_implicit_const)
			return -EINVAL;
		formats[i] = (struct dwread_attribute){(uint16_t)content, (uint16_t)form, 0};
	}
	count = cursor_uleb(&p->at);
	if (format_count == 0)
		return count ? -EINVAL : 0;
	for (uint64_t n = 0; n < count && !err; n++) {
		const char *name = NULL;
		uint64_t directory = 0;

		for (uint64_t i = 0; i < format_count; i++) {
			struct dwread_value v;

			dwread_read_value(&p->at, &p->form, &formats[i], &v);
			if (p->at.failed)
				return -EINVAL;
			if (formats[i].name == DW_LNCT_path)
				name = dwread_string(&p->form, &v);
			else if (formats[i].name == DW_LNCT_directory_index)
				directory = v.number;
		}
		err = is_sources ? add_source(p, name, directory) : add_directory(p, name);
	}
	return err;
}

static int dwread_lines_read_header(struct program *p)
{
	uint64_t length = cursor_length(&p->at, &p->form.offset_size), header;
	struct elf_cursor after;
	int err;

	if (p->at.failed || length > cursor_left(&p->at))
		return -EINVAL;
	p->at.end = p->at.at + length;
	p->form.version = (uint16_t)cursor_fixed(&p->at, 2);
	if (p->at.failed || p->form.version < 2 || p->form.version > 5)
		return -EINVAL;
	if (p->form.version >= 5)
		cursor_skip(&p->at, 2); /* sizes of address and segment selector */
	header = cursor_fixed(&p->at, p->form.offset_size);
	after = p->at;
	cursor_skip(&after, header);
	p->minimum_length = (uint8_t)cursor_fixed(&p->at, 1);
	if (p->form.version >= 4)
		cursor_skip(&p->at, 1); /* operations per instruction: 1 but for VLIW */
	cursor_skip(&p->at, 1);         /* default is_stmt: every row counts */
	p->line_base = (int8_t)cursor_fixed(&p->at, 1);
	p->line_range = (uint8_t)cursor_fixed(&p->at, 1);
	p->opcode_base = (uint8_t)cursor_fixed(&p->at, 1);
	p->operand_counts = p->at.at;
	if (p->opcode_base == 0 || p->line_range == 0)
		return -EINVAL;
	cursor_skip(&p->at, p->opcode_base - 1u);
	if (p->at.failed || after.failed)
		return -EINVAL;
	p->lines->version = p->form.version;
	if (p->form.version >= 5) {
		err = read_table_v5(p, 0);
		err = err ? err : read_table_v5(p, 1);
	} else {
		err = read_sources_v4(p);
	}
	p->at = after;
	return err;
}

/* ---- the program */

static uint32_t row_count(const struct dwread_lines *l)
{
	return (uint32_t)(l->rows.size / sizeof(struct dwread_row));
}

static void reset(struct program *p)
{
	p->address = 0;
	p->file = 1;
	p->line = 1;
	p->first_row = row_count(p->lines);
}

static int dwread_lines_put_row(struct program *p)
{
	struct dwread_row row = {p->address, p->file > UINT32_MAX ? 0 : (uint32_t)p->file, p->line};
	const struct dwread_row *rows = (const void *)p->lines->rows.data;
	uint32_t count = row_count(p->lines);

	/* Addresses only grow; what goes back is damage. */
	if (count > p->first_row && rows[count - 1].address > row.address)
		return dwread_spend(p->reader, 1, 0) ? 0 : -ENOMEM;
	return dwread_append(p->reader, &p->lines->rows, &row, sizeof(row));
}

static int end_sequence(struct program *p)
{
	const struct dwread_row *rows = (const void *)p->lines->rows.data;
	struct dwread_span s = {.end = p->address, .first = p->first_row};
	int err = 0;

	s.count = row_count(p->lines) - s.first;
	if (s.count)
		s.start = rows[s.first].address;
	if (s.count && dwread_is_code(p->reader, s.start, s.end))
		err = dwread_append(p->reader, &p->lines->sequences, &s, sizeof(s));
	else
		p->lines->rows.size = s.first * sizeof(struct dwread_row);
	reset(p);
	return err;
}

static int run_extended(struct program *p)
{
	uint64_t length = cursor_uleb(&p->at);
	struct elf_cursor c = p->at;
	int err = 0;

	cursor_skip(&p->at, length);
	if (p->at.failed || length == 0)
		return p->at.failed ? -EINVAL : 0;
	c.end = p->at.at;
	switch (cursor_fixed(&c, 1)) {
	case DW_LNE_end_sequence:
		err = end_sequence(p);
		break;
	case DW_LNE_set_address:
		if (length == 9)
			p->address = cursor_fixed(&c, 8);
		break;
	case DW_LNE_define_file: {
		const char *name = cursor_string(&c);

		if (name)
			err = add_source(p, name, cursor_uleb(&c));
		break;
	}
	default:
		break;
	}
	return err;
}

static int run_special(struct program *p, uint8_t opcode)
{
	unsigned int adjusted = (unsigned int)(opcode - p->opcode_base);

	p->address += (uint64_t)(adjusted / p->line_range) * p->minimum_length;
	p->line += (uint32_t)(p->line_base + (int)(adjusted % p->line_range));
	return dwread_lines_put_row(p);
}

static int run_standard(struct program *p, uint8_t opcode)
{
	switch (opcode) {
	case DW_LNS_copy:
		return dwread_lines_put_row(p);
	case DW_LNS_advance_pc:
		p->address += cursor_uleb(&p->at) * p->minimum_length;
		return 0;
	case DW_LNS_advance_line:
		p->line += (uint32_t)cursor_sleb(&p->at);
		return 0;
	case DW_LNS_set_file:
		p->file = cursor_uleb(&p->at);
		return 0;
	case DW_LNS_const_add_pc:
		p->address +=
			(uint64_t)((255 - p->opcode_base) / p->line_range) * p->minimum_length;
		return 0;
	case DW_LNS_fixed_advance_pc:
		p->address += cursor_fixed(&p->at, 2);
		return 0;
	default:
		for (uint8_t i = p->operand_counts[opcode - 1]; i > 0; i--)
			cursor_uleb(&p->at);
		return 0;
	}
}

static void dwread_lines_run(struct program *p)
{
	int err = 0;

	reset(p);
	while (!err && !p->at.failed && cursor_left(&p->at) && dwread_spend(p->reader, 1, 0)) {
		uint8_t opcode = (uint8_t)cursor_fixed(&p->at, 1);

		if (opcode >= p->opcode_base)
			err = run_special(p, opcode);
		else if (opcode)
			err = run_standard(p, opcode);
		else
			err = run_extended(p);
	}
	/* A sequence without an end is dropped. */
	p->lines->rows.size = p->first_row * sizeof(struct dwread_row);
}

static struct dwread_lines *lines_at(struct dwread_unit *u, uint64_t offset, const char *comp_dir)
{
	struct program p = {.reader = u->file->reader};
	uint64_t *kept;
	int fresh;

	p.at = dwread_cursor_at(u->file, DWREAD_LINE, offset);
	if (p.at.failed || !dwread_spend(p.reader, 1, sizeof(*p.lines) + 64))
		return NULL;
	kept = map_put(u->file->lines, &offset, sizeof(offset), &fresh);
	if (!kept || !fresh)
		return kept ? (struct dwread_lines *)(uintptr_t)*kept : NULL;
	p.lines = calloc(1, sizeof(*p.lines));
	*kept = (uint64_t)(uintptr_t)p.lines;
	if (!p.lines)
		return NULL;
	p.form = *u;
	p.lines->comp_dir = comp_dir;
	if (dwread_lines_read_header(&p) == 0)
		dwread_lines_run(&p);
	dwread_spans_settle(&p.lines->sequences);
	return p.lines;
}

/* Files that a split unit names are those of its skeleton's table too. */
struct dwread_lines *dwread_lines_get(struct dwread_unit *u)
{
	struct dwread_unit *owner = u->skeleton ? u->skeleton : u;

	if (!owner->has_tried_lines && dwread_unit_load(owner) == 0 && owner->stmt_list.form)
		owner->lines = lines_at(owner, owner->stmt_list.number, owner->comp_dir);
	owner->has_tried_lines = 1;
	return owner->lines;
}

void dwread_lines_free(void *lines)
{
	struct dwread_lines *l = lines;
	struct dwread_source *sources;

	if (!l)
		return;
	sources = (void *)l->sources.data;
	for (size_t i = 0; i < l->sources.size / sizeof(*sources); i++)
		free(sources[i].path);
	buf_free(&l->directories);
	buf_free(&l->sources);
	buf_free(&l->rows);
	buf_free(&l->sequences);
	free(l);
}

const struct dwread_row *dwread_lines_find(const struct dwread_lines *l, uint64_t address)
{
	const struct dwread_span *s = dwread_spans_find(&l->sequences, address, 0);
	const struct dwread_row *rows;
	size_t count;

	if (!s)
		return NULL;
	rows = (const struct dwread_row *)(void *)l->rows.data + s->first;
	count = array_upto(rows, s->count, sizeof(*rows), offsetof(struct dwread_row, address),
			   address);
	return count ? &rows[count - 1] : NULL;
}

static int is_absolute(const char *path)
{
	return path && path[0] == '/';
}

/* comp_dir / directory / name, as far as the later ones are not absolute. */
static char *dwread_lines_join(const char *comp_dir, const char *directory, const char *name)
{
	int with_directory = !is_absolute(name) && directory && directory[0];
	int with_comp_dir = !is_absolute(name) && comp_dir && comp_dir[0] &&
			    !(with_directory && is_absolute(directory));
	char *path;

	if (with_directory && comp_dir && strcmp(comp_dir, directory) == 0)
		with_comp_dir = 0;
	if (asprintf(&path, "%s%s%s%s%s", with_comp_dir ? comp_dir : "", with_comp_dir ? "/" : "",
		     with_directory ? directory : "", with_directory ? "/" : "", name) < 0)
		return NULL;
	return path;
}

#define PATH_BYTES_MAX 16384

const char *dwread_lines_path(struct dwread_lines *l, uint64_t file)
{
	struct dwread_source *sources = (void *)l->sources.data, *s;
	const char *const *directories = (const void *)l->directories.data;
	const char *directory = NULL;

	if (file >= l->sources.size / sizeof(*sources))
		return NULL;
	s = &sources[file];
	if (s->path || !s->name || !s->name[0] ||
	    strnlen(s->name, PATH_BYTES_MAX) == PATH_BYTES_MAX)
		return s->path;
	if (s->directory < l->directories.size / sizeof(*directories))
		directory = directories[s->directory];
	if (directory && strnlen(directory, PATH_BYTES_MAX) == PATH_BYTES_MAX)
		directory = NULL;
	s->path = dwread_lines_join(l->comp_dir, directory, s->name);
	return s->path;
}
