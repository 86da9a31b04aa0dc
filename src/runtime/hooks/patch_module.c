/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A loaded module as its program headers and dynamic section describe it, and how one slot of its
 * global offset table is changed: by one store, with the page made writable around it if RELRO
 * protects it. Called under the loader's lock (dl_iterate_phdr), so that nothing is unloaded
 * meanwhile.
 */
#include "runtime/hooks/patch.h"

#include <string.h>
#include <sys/auxv.h>

#include "runtime/core/sys.h"

#ifdef __x86_64__
#define CALL_SLOT R_X86_64_JUMP_SLOT
#define DATA_SLOT R_X86_64_GLOB_DAT
#else
#define CALL_SLOT R_AARCH64_JUMP_SLOT
#define DATA_SLOT R_AARCH64_GLOB_DAT
#endif

#define VERSION_NUMBER 0x7FFF /* the other bit is a flag */

void weft_patch_read(struct patch_module *m, const struct dl_phdr_info *info)
{
	struct weft_object *o = &m->object;

	memset(m, 0, sizeof(*m));
	weft_object_read(o, info);
	m->has_rpath = weft_object_entry(o, DT_RPATH) != NULL;
	m->has_runpath = weft_object_entry(o, DT_RUNPATH) != NULL;
	m->symbols = weft_object_at(o, DT_SYMTAB);
	m->strings = weft_object_at(o, DT_STRTAB);
	m->versions = weft_object_at(o, DT_VERSYM);
	m->needs = weft_object_at(o, DT_VERNEED);
	if (!m->symbols || !m->strings)
		return;
	if (weft_object_value(o, DT_PLTREL) != DT_REL)
		m->tables[0] = weft_object_at(o, DT_JMPREL);
	m->tables[1] = weft_object_at(o, DT_RELA);
	m->counts[0] = m->tables[0] ? weft_object_value(o, DT_PLTRELSZ) / sizeof(ElfW(Rela)) : 0;
	m->counts[1] = m->tables[1] ? weft_object_value(o, DT_RELASZ) / sizeof(ElfW(Rela)) : 0;
}

const char *weft_patch_name(const struct patch_module *m, const ElfW(Rela) * r)
{
	uint64_t type = ELF64_R_TYPE(r->r_info);

	if ((type != CALL_SLOT && type != DATA_SLOT) || !ELF64_R_SYM(r->r_info))
		return NULL;
	return m->strings + m->symbols[ELF64_R_SYM(r->r_info)].st_name;
}

static const char *version_of_file(const struct patch_module *m, const ElfW(Verneed) * need,
				   uint16_t number)
{
	const char *at = (const char *)need + need->vn_aux;

	for (int i = 0; i < need->vn_cnt; i++) {
		const ElfW(Vernaux) *version = (const void *)at;

		if ((version->vna_other & VERSION_NUMBER) == number)
			return m->strings + version->vna_name;
		at += version->vna_next;
	}
	return NULL;
}

const char *weft_patch_version(const struct patch_module *m, const ElfW(Rela) * r)
{
	const ElfW(Verneed) *need = m->needs;
	const char *found = NULL;
	uint16_t number;

	if (!m->versions || !need)
		return NULL;
	number = m->versions[ELF64_R_SYM(r->r_info)] & VERSION_NUMBER;
	while (!(found = version_of_file(m, need, number)) && need->vn_next)
		need = (const void *)((const char *)need + need->vn_next);
	return found;
}

static int is_in_relro(const struct weft_object *o, uint64_t page, uint64_t page_bytes)
{
	uint64_t low = o->relro ? o->base + o->relro->p_vaddr : 0;
	uint64_t high = o->relro ? low + o->relro->p_memsz : 0;

	return page >= (low & ~(page_bytes - 1)) && page < (high & ~(page_bytes - 1));
}

int weft_patch_store(const struct patch_module *m, uint64_t *slot, const void *function)
{
	uint64_t bytes = getauxval(AT_PAGESZ), page = (uint64_t)(uintptr_t)slot & ~(bytes - 1);
	int is_closed = is_in_relro(&m->object, page, bytes);

	if (is_closed && sys_call3(SYS_mprotect, page, bytes, PROT_READ | PROT_WRITE))
		return 0;
	store_release(slot, (uint64_t)(uintptr_t)function);
	if (is_closed)
		sys_call3(SYS_mprotect, page, bytes, PROT_READ);
	return 1;
}
