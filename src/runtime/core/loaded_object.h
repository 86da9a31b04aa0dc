/* SPDX-License-Identifier: Apache-2.0 */
/* An object that the loader has mapped, read in place. Not in a handler; under the loader's lock
 * (dl_iterate_phdr), so that it is not unloaded meanwhile. */
#ifndef WEFT_RUNTIME_LOADED_OBJECT_H
#define WEFT_RUNTIME_LOADED_OBJECT_H

#include <link.h>
#include <stdint.h>

struct weft_object {
	uint64_t base, low, high;  /* [low, high): where it is mapped; high 0: nowhere */
	const ElfW(Phdr) * relro;  /* NULL: none */
	const ElfW(Dyn) * dynamic; /* likewise */
};

/* Its dynamic symbols. */
struct weft_symbols {
	const ElfW(Sym) * symbols;
	const char *strings;
	const uint32_t *hash, *gnu_hash; /* one of them may be NULL */
};

#pragma GCC visibility push(hidden)
void weft_object_read(struct weft_object *o, const struct dl_phdr_info *info);

/* The entry of the dynamic section with @tag; NULL: none. */
const ElfW(Dyn) * weft_object_entry(const struct weft_object *o, int64_t tag);

uint64_t weft_object_value(const struct weft_object *o, int64_t tag); /* 0: no such entry */
const void *weft_object_at(const struct weft_object *o, int64_t tag); /* as an address; or NULL */

int weft_object_symbols(struct weft_symbols *out, const struct weft_object *o);     /* 0: none */
const ElfW(Sym) * weft_symbol_find(const struct weft_symbols *s, const char *name); /* or NULL */
#pragma GCC visibility pop

#endif
