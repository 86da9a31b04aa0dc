/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernel's own clock_gettime, in the vDSO: found once, by its name and version as vdso(7) gives
 * them, and called without libc. What a handler calls must not be interposed by anybody: a library
 * that stands before libc's clock_gettime (libfaketime) may take a lock, or tell another time.
 * Where there is no vDSO, and until it has been looked for, the system call answers.
 *
 * Written once, before there is a session; a handler sees either of two functions that both work.
 */
#include "runtime/core/runtime.h"

#include <elf.h>
#include <string.h>
#include <sys/auxv.h>

#include "runtime/core/loaded_object.h"
#include "runtime/core/sys.h"

#if defined(__x86_64__)
#define VDSO_CLOCK "__vdso_clock_gettime"
#define VDSO_VERSION "LINUX_2.6"
#else
#define VDSO_CLOCK "__kernel_clock_gettime"
#define VDSO_VERSION "LINUX_2.6.39"
#endif
#define HEADERS_MAX 64

/* Where system calls are filtered, too: as the vDSO does it where it cannot read the clock, and
 * hook_seccomp.c asks a filter beforehand. */
static int time_by_call(int32_t clock, struct timespec *now)
{
	return (int)sys_call_anyway(SYS_clock_gettime, clock, SYS_ARG(now), 0, 0, 0, 0);
}

weft_time_fn *weft_time_read = time_by_call;
uint64_t weft_time_shift_ns;

/* Its program headers, as the loader tells those of other objects. */
static int vdso_read(struct weft_object *o, uint64_t at)
{
	const Elf64_Ehdr *header = (const void *)(uintptr_t)at;
	const Elf64_Phdr *first;
	struct dl_phdr_info info = {0};

	if (memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 ||
	    header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_phentsize != sizeof(*first) ||
	    header->e_phnum > HEADERS_MAX)
		return 0;
	first = (const void *)(uintptr_t)(at + header->e_phoff);
	info.dlpi_phdr = first;
	info.dlpi_phnum = header->e_phnum;
	for (int i = 0; i < header->e_phnum && !info.dlpi_addr; i++)
		if (first[i].p_type == PT_LOAD)
			info.dlpi_addr = at + first[i].p_offset - first[i].p_vaddr;
	weft_object_read(o, &info);
	return o->dynamic != NULL && o->high != 0;
}

/* Has the symbol of that number the version that the kernel promises? */
static int vdso_is_version(const struct weft_object *o, const char *strings, uint32_t symbol)
{
	const Elf64_Versym *versions = weft_object_at(o, DT_VERSYM);
	const uint8_t *at = weft_object_at(o, DT_VERDEF);

	if (!versions || !at) /* a vDSO without versions has but one of each */
		return 1;
	for (;;) {
		const Elf64_Verdef *version = (const void *)at;
		const Elf64_Verdaux *name = (const void *)(at + version->vd_aux);

		if (!(version->vd_flags & VER_FLG_BASE) &&
		    (version->vd_ndx & 0x7FFF) == (versions[symbol] & 0x7FFF))
			return !strcmp(strings + name->vda_name, VDSO_VERSION);
		if (!version->vd_next)
			return 0;
		at += version->vd_next;
	}
}

static uint64_t vdso_clock(uint64_t at)
{
	struct weft_symbols symbols;
	struct weft_object object;
	const Elf64_Sym *s;

	if (!vdso_read(&object, at) || !weft_object_symbols(&symbols, &object))
		return 0;
	s = weft_symbol_find(&symbols, VDSO_CLOCK);
	if (!s || ELF64_ST_TYPE(s->st_info) != STT_FUNC ||
	    !vdso_is_version(&object, symbols.strings, (uint32_t)(s - symbols.symbols)))
		return 0;
	return object.base + s->st_value;
}

void weft_time_open(void)
{
	uint64_t at = getauxval(AT_SYSINFO_EHDR);
	uint64_t found = at ? vdso_clock(at) : 0;
	struct timespec now;
	weft_time_fn *clock;

	if (!found)
		return;
	memcpy(&clock, &found, sizeof(clock));
	if (clock(CLOCK_MONOTONIC, &now) == 0)
		store_relaxed(&weft_time_read, clock);
}

void weft_time_follow(struct weft_session_header *h)
{
	store_relaxed(&weft_time_shift_ns, (uint64_t)load_relaxed(&h->time_shift_ns));
	store_relaxed(&h->time_source,
		      weft_time_read == time_by_call ? WEFT_TIME_BY_CALL : WEFT_TIME_BY_VDSO);
}
