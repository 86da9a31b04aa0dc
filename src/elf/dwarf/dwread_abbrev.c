/* SPDX-License-Identifier: Apache-2.0 */
/* Abbreviation tables: each is read once, many units may share one. */
#include "base/map.h"
#include "elf/dwarf/dwread.h"

#include <stdlib.h>

#define ATTRIBUTES_MAX 1000 /* of one abbreviation */

static int compare_codes(const void *a, const void *b)
{
	const struct dwread_abbrev *x = a, *y = b;

	return x->code < y->code ? -1 : x->code > y->code;
}

static int read_attributes(struct dwread *r, struct elf_cursor *c, struct dwread_abbrevs *a,
			   struct dwread_abbrev *abbrev)
{
	abbrev->first = (uint32_t)(a->attributes.size / sizeof(struct dwread_attribute));
	while (abbrev->count < ATTRIBUTES_MAX) {
		uint64_t name = cursor_uleb(c), form = cursor_uleb(c);
		struct dwread_attribute attribute = {(uint16_t)name, (uint16_t)form, 0};

		if (form == DW_FORM_implicit_const)
			attribute.constant = cursor_sleb(c);
		if (c->failed || name > UINT16_MAX || form > UINT16_MAX)
			return -1;
		if (name == 0 && form == 0)
			return 0;
		if (dwread_append(r, &a->attributes, &attribute, sizeof(attribute)) != 0)
			return -1;
		abbrev->count++;
	}
	return -1;
}

static void dwread_abbrev_read_table(struct dwread *r, struct elf_cursor *c,
				     struct dwread_abbrevs *a)
{
	int is_sorted = 1;
	uint64_t last = 0;

	for (;;) {
		struct dwread_abbrev abbrev = {.code = cursor_uleb(c)};
		uint64_t tag = abbrev.code ? cursor_uleb(c) : 0;

		abbrev.has_children = abbrev.code && cursor_fixed(c, 1) != 0;
		if (abbrev.code == 0 || c->failed || tag > UINT16_MAX)
			break;
		abbrev.tag = (uint16_t)tag;
		if (read_attributes(r, c, a, &abbrev) != 0 ||
		    dwread_append(r, &a->abbrevs, &abbrev, sizeof(abbrev)) != 0)
			break;
		is_sorted &= abbrev.code > last;
		last = abbrev.code;
	}
	if (!is_sorted)
		qsort(a->abbrevs.data, a->abbrevs.size / sizeof(struct dwread_abbrev),
		      sizeof(struct dwread_abbrev), compare_codes);
}

struct dwread_abbrevs *dwread_abbrevs_get(struct dwread_file *f, uint64_t offset)
{
	struct elf_cursor c = dwread_cursor_at(f, DWREAD_ABBREV, offset);
	struct dwread_abbrevs *a;
	uint64_t *kept;
	int fresh;

	if (c.failed || !dwread_spend(f->reader, 1, sizeof(*a) + 64))
		return NULL;
	kept = map_put(f->abbrevs, &offset, sizeof(offset), &fresh);
	if (!kept || !fresh)
		return kept ? (struct dwread_abbrevs *)(uintptr_t)*kept : NULL;
	a = calloc(1, sizeof(*a));
	*kept = (uint64_t)(uintptr_t)a;
	if (a)
		dwread_abbrev_read_table(f->reader, &c, a);
	return a;
}

void dwread_abbrevs_free(void *abbrevs)
{
	struct dwread_abbrevs *a = abbrevs;

	if (!a)
		return;
	buf_free(&a->abbrevs);
	buf_free(&a->attributes);
	free(a);
}

const struct dwread_abbrev *dwread_abbrev_find(const struct dwread_abbrevs *a, uint64_t code)
{
	const struct dwread_abbrev *all = (const void *)a->abbrevs.data;
	size_t count = a->abbrevs.size / sizeof(*all);
	struct dwread_abbrev key = {.code = code};

	/* Compilers count from 1. */
	if (code - 1 < count && all[code - 1].code == code)
		return &all[code - 1];
	return count ? bsearch(&key, all, count, sizeof(*all), compare_codes) : NULL;
}
