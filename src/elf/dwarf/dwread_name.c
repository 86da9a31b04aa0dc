/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a function is called, by DWARF: the linkage name of its entry or of what that was
 * made from (origin, declaration), demangled; else its plain name behind the names of the
 * namespaces and classes around.
 */
#include "elf/dwarf/dwread.h"

#include "base/map.h"

#include <stdlib.h>

#define HOPS_MAX 16
#define SCOPES_MAX 64
#define NAME_BYTES_MAX 65536

struct dwread_name {
	char *text;
	int is_cpp;
};

struct name_key {
	const struct dwread_file *file;
	uint64_t offset;
};

struct found {
	const char *linkage, *plain;
	struct dwread_unit *unit; /* of the last entry looked at: the declaration */
	uint64_t offset;
};

struct origin {
	struct dwread_value linkage, plain, from;
};

static const struct dwread_wanted origin_wanted[] = {
	{DW_AT_linkage_name, offsetof(struct origin, linkage)},
	{DW_AT_MIPS_linkage_name, offsetof(struct origin, linkage)},
	{DW_AT_name, offsetof(struct origin, plain)},
	{DW_AT_abstract_origin, offsetof(struct origin, from)},
	{DW_AT_specification, offsetof(struct origin, from)},
	{0, 0},
};

static int read_origin(struct dwread_unit *u, uint64_t offset, struct origin *o)
{
	struct elf_cursor c = dwread_cursor_at(u->file, DWREAD_INFO, offset);
	const struct dwread_abbrev *abbrev;

	memset(o, 0, sizeof(*o));
	if (c.failed || !dwread_spend(u->file->reader, 16, 0))
		return -1;
	c.end = u->file->section[DWREAD_INFO].bytes + u->end;
	abbrev = dwread_abbrev_find(u->abbrevs, cursor_uleb(&c));
	return abbrev ? dwread_entry_read(&c, u, abbrev, origin_wanted, o) : -1;
}

static void follow(struct dwread_unit *u, uint64_t offset, struct found *f)
{
	struct origin o;

	for (int hop = 0; hop < HOPS_MAX && u && read_origin(u, offset, &o) == 0; hop++) {
		f->unit = u;
		f->offset = offset;
		if (!f->linkage)
			f->linkage = dwread_string(u, &o.linkage);
		if (!f->plain)
			f->plain = dwread_string(u, &o.plain);
		if (f->linkage)
			break;
		u = dwread_reference(u, &o.from, &offset);
	}
}

static int has_qualified_names(uint16_t language)
{
	static const uint16_t languages[] = {DW_LANG_C_plus_plus,
					     DW_LANG_C_plus_plus_03,
					     DW_LANG_C_plus_plus_11,
					     DW_LANG_C_plus_plus_14,
					     0x2b /* C++17 */,
					     0x2c /* C++20 */,
					     DW_LANG_Rust};

	for (size_t i = 0; i < sizeof(languages) / sizeof(languages[0]); i++)
		if (languages[i] == language)
			return 1;
	return 0;
}

static void dwread_name_put_text(struct buf *b, const char *text)
{
	buf_put(b, text, strnlen(text, NAME_BYTES_MAX));
}

/* Scopes are sorted by their start and nest. */
static void put_scopes(struct buf *b, const struct found *f)
{
	const struct dwread_tree *t = dwread_tree_get(f->unit);
	const struct dwread_scope *s = t ? (const void *)t->scopes.data : NULL;
	size_t count = t ? t->scopes.size / sizeof(*s) : 0, shown = 0;

	if (!dwread_spend(f->unit->file->reader, count / 4, 0))
		return;
	for (size_t i = 0; i < count && s[i].start < f->offset && shown < SCOPES_MAX; i++) {
		if (f->offset >= s[i].end || b->size > NAME_BYTES_MAX)
			continue;
		dwread_name_put_text(b, s[i].name);
		dwread_name_put_text(b, "::");
		shown++;
	}
}

static char *qualified(const struct found *f, int is_cpp)
{
	struct buf b = {0};

	if (is_cpp)
		put_scopes(&b, f);
	dwread_name_put_text(&b, f->plain);
	buf_put_u8(&b, 0);
	if (b.failed)
		buf_free(&b);
	return (char *)b.data;
}

static struct dwread_name *dwread_name_make(struct dwread_unit *u, uint64_t offset)
{
	struct dwread_name *n = calloc(1, sizeof(*n));
	struct found f = {0};

	if (!n)
		return NULL;
	follow(u, offset, &f);
	if (f.linkage) {
		n->text = elf_demangle(f.linkage);
		n->is_cpp = n->text != NULL;
		if (!n->text)
			n->text = strndup(f.linkage, NAME_BYTES_MAX);
	} else if (f.plain && f.plain[0]) {
		n->is_cpp = has_qualified_names(f.unit->language ? f.unit->language : u->language);
		n->text = qualified(&f, n->is_cpp);
	}
	return n;
}

const char *dwread_name(struct dwread_unit *u, uint64_t offset, int *is_cpp)
{
	struct dwread *r = u->file->reader;
	struct name_key key = {u->file, offset};
	struct dwread_name *n;
	uint64_t *kept;
	int fresh;

	if (dwread_unit_load(u) != 0)
		return NULL;
	kept = map_put(r->names, &key, sizeof(key), &fresh);
	if (!kept)
		return NULL;
	if (fresh)
		*kept = (uint64_t)(uintptr_t)dwread_name_make(u, offset);
	n = (struct dwread_name *)(uintptr_t)*kept;
	if (!n)
		return NULL;
	*is_cpp = n->is_cpp;
	return n->text;
}

static void free_name(void *name)
{
	struct dwread_name *n = name;

	if (n)
		free(n->text);
	free(n);
}

void dwread_names_free(struct dwread *r)
{
	map_free_values(r->names, free_name);
}
