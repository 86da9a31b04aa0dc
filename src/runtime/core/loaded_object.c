/* SPDX-License-Identifier: Apache-2.0 */
/* Objects that the loader has mapped: see loaded_object.h. */
#include "runtime/core/loaded_object.h"

#include <stddef.h>

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
