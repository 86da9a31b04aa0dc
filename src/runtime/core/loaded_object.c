/* SPDX-License-Identifier: Apache-2.0 */
/* Objects that the loader has mapped: see loaded_object.h. */
#include "runtime/core/loaded_object.h"

#include <stddef.h>
#include <string.h>

#define SYMBOLS_MAX (1u << 20)

void weft_object_read(struct weft_object *o, const struct dl_phdr_info *info)
{
	*o = (struct weft_object){.base = info->dlpi_addr, .low = UINT64_MAX};
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *ph = &info->dlpi_phdr[i];
		uint64_t low = o->base + ph->p_vaddr, high = low + ph->p_memsz;

		if (ph->p_type == PT_GNU_RELRO)
			o->relro = ph;
		else if (ph->p_type == PT_DYNAMIC)
			o->dynamic = (const void *)(uintptr_t)low;
		if (ph->p_type != PT_LOAD)
			continue;
		o->low = low < o->low ? low : o->low;
		o->high = high > o->high ? high : o->high;
	}
}

const ElfW(Dyn) * weft_object_entry(const struct weft_object *o, int64_t tag)
{
	const ElfW(Dyn) *found = NULL;

	for (const ElfW(Dyn) *d = o->dynamic; d && d->d_tag != DT_NULL; d++)
		if (d->d_tag == tag)
			found = d; /* the last one, as loaders have it */
	return found;
}

uint64_t weft_object_value(const struct weft_object *o, int64_t tag)
{
	const ElfW(Dyn) *d = weft_object_entry(o, tag);

	return d ? d->d_un.d_val : 0;
}

/* Some libcs relocate the values of the dynamic section in place, others do not. */
const void *weft_object_at(const struct weft_object *o, int64_t tag)
{
	uint64_t value = weft_object_value(o, tag);

	return value ? (const void *)(uintptr_t)(value < o->low ? o->base + value : value) : NULL;
}

/* ---- symbols */

int weft_object_symbols(struct weft_symbols *out, const struct weft_object *o)
{
	out->symbols = weft_object_at(o, DT_SYMTAB);
	out->strings = weft_object_at(o, DT_STRTAB);
	out->hash = weft_object_at(o, DT_HASH);
	out->gnu_hash = weft_object_at(o, DT_GNU_HASH);
	return out->symbols && out->strings && (out->hash || out->gnu_hash);
}

static const ElfW(Sym) * symbol_is(const struct weft_symbols *o, uint32_t n, const char *name)
{
	const ElfW(Sym) *s = &o->symbols[n];

	return s->st_shndx != SHN_UNDEF && !strcmp(o->strings + s->st_name, name) ? s : NULL;
}

/* {buckets, first symbol, words of the Bloom filter, shift}, filter, buckets, chains */
static const ElfW(Sym) * find_by_gnu_hash(const struct weft_symbols *o, const char *name)
{
	const uint32_t *h = o->gnu_hash, *buckets = h + 4 + 2 * (size_t)h[2];
	uint32_t hash = 5381, n;

	for (const char *c = name; *c; c++)
		hash = hash * 33 + (unsigned char)*c;
	n = h[0] ? buckets[hash % h[0]] : 0;
	if (n < h[1])
		return NULL;
	for (; n < SYMBOLS_MAX; n++) {
		uint32_t entry = buckets[h[0] + n - h[1]];
		const ElfW(Sym) *s = (entry | 1) == (hash | 1) ? symbol_is(o, n, name) : NULL;

		if (s || (entry & 1))
			return s;
	}
	return NULL;
}

const ElfW(Sym) * weft_symbol_find(const struct weft_symbols *s, const char *name)
{
	if (s->gnu_hash)
		return find_by_gnu_hash(s, name);
	for (uint32_t n = 1; n < s->hash[1] && n < SYMBOLS_MAX; n++) {
		const ElfW(Sym) *found = symbol_is(s, n, name);

		if (found)
			return found;
	}
	return NULL;
}
