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
#include <sys/mman.h>

#include "runtime/core/sys.h"

#ifdef __x86_64__
#define CALL_SLOT R_X86_64_JUMP_SLOT
#define DATA_SLOT R_X86_64_GLOB_DAT
#else
#define CALL_SLOT R_AARCH64_JUMP_SLOT
#define DATA_SLOT R_AARCH64_GLOB_DAT
#endif

#define VERSION_NUMBER 0x7FFF /* the other bit is a flag */

/* Some libcs relocate the values of the dynamic section in place, others do not. */
static const void *patch_module_in(const struct patch_module *m, uint64_t value)
{
	return (const void *)(uintptr_t)(value < m->low ? m->base + value : value);
}

static void patch_module_read_dynamic(struct patch_module *m, const ElfW(Dyn) * d)
{
	uint64_t plt = 0, plt_bytes = 0, rela = 0, rela_bytes = 0, is_rela = 1;

	for (; d->d_tag != DT_NULL; d++) {
		uint64_t value = d->d_un.d_val;

		if (d->d_tag == DT_SYMTAB)
			m->symbols = patch_module_in(m, value);
		else if (d->d_tag == DT_STRTAB)
			m->strings = patch_module_in(m, value);
		else if (d->d_tag == DT_JMPREL)
			plt = value;
		else if (d->d_tag == DT_PLTRELSZ)
			plt_bytes = value;
		else if (d->d_tag == DT_PLTREL)
			is_rela = value == DT_RELA;
		else if (d->d_tag == DT_RELA)
			rela = value;
		else if (d->d_tag == DT_RELASZ)
			rela_bytes = value;
		else if (d->d_tag == DT_VERSYM)
			m->versions = patch_module_in(m, value);
		else if (d->d_tag == DT_VERNEED)
			m->needs = patch_module_in(m, value);
		m->has_rpath |= d->d_tag == DT_RPATH;
		m->has_runpath |= d->d_tag == DT_RUNPATH;
	}
	if (!m->symbols || !m->strings)
		return;
	m->tables[0] = plt && is_rela ? patch_module_in(m, plt) : NULL;
	m->counts[0] = m->tables[0] ? plt_bytes / sizeof(ElfW(Rela)) : 0;
	m->tables[1] = rela ? patch_module_in(m, rela) : NULL;
	m->counts[1] = m->tables[1] ? rela_bytes / sizeof(ElfW(Rela)) : 0;
}

static void read_segment(struct patch_module *m, const ElfW(Phdr) * segment)
{
	uint64_t low = m->base + segment->p_vaddr, high = low + segment->p_memsz;
	uint64_t page = getauxval(AT_PAGESZ);

	if (segment->p_type == PT_LOAD) {
		m->low = !m->low || low < m->low ? low : m->low;
		m->high = high > m->high ? high : m->high;
	} else if (segment->p_type == PT_GNU_RELRO) {
		m->relro_low = low & ~(page - 1);
		m->relro_high = high & ~(page - 1);
	}
}

void weft_patch_read(struct patch_module *m, const struct dl_phdr_info *info)
{
	const ElfW(Dyn) *dynamic = NULL;

	memset(m, 0, sizeof(*m));
	m->base = info->dlpi_addr;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		read_segment(m, &info->dlpi_phdr[i]);
		if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
			dynamic = (const void *)(uintptr_t)(m->base + info->dlpi_phdr[i].p_vaddr);
	}
	if (dynamic)
		patch_module_read_dynamic(m, dynamic);
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

int weft_patch_store(const struct patch_module *m, uint64_t *slot, const void *function)
{
	uint64_t bytes = getauxval(AT_PAGESZ), page = (uint64_t)(uintptr_t)slot & ~(bytes - 1);
	int is_closed = page >= m->relro_low && page < m->relro_high;

	if (is_closed && sys_call3(SYS_mprotect, page, bytes, PROT_READ | PROT_WRITE))
		return 0;
	store_release(slot, (uint64_t)(uintptr_t)function);
	if (is_closed)
		sys_call3(SYS_mprotect, page, bytes, PROT_READ);
	return 1;
}
