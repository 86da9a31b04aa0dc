/* SPDX-License-Identifier: Apache-2.0 */
/* What an ELF file says, read with libelf: see elf_facts.h. */
#include "reader/check/elf_facts.h"
#include "elf/image/elf_open.h"
#include "reader/tls/tls_place.h"

#include <errno.h>
#include <gelf.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SECTION_BYTES_MAX (UINT64_C(1) << 28)
#define SECTIONS_MAX 65536
#define SEGMENTS_MAX 4096

const char *const elf_fact_names[FACT_NAMES] = {
	[FACT_LABELS_VERSION] = "custom_labels_abi_version",
	[FACT_LABELS_SET] = "custom_labels_current_set",
	[FACT_OTEL] = "otel_thread_ctx_v1",
	[FACT_WEFT] = "weft_thread_slot",
};

struct pass {
	Elf *elf;
	struct elf_facts *out;
	uint64_t flags_1; /* DT_FLAGS_1 */
	int has_interpreter, has_dynamic, is_empty;
	uint16_t type; /* e_type */
};

int elf_fact_is_defined(const struct elf_fact *f)
{
	return f->is_dynamic || f->is_static;
}

int elf_facts_is_library(const struct elf_facts *f)
{
	return f->kind == ELF_IS_LIBRARY;
}

/* Which of the names it is; FACT_NAMES = none. In .symtab a version may follow the name. */
static enum elf_fact_name fact_of(const char *name)
{
	for (int i = 0; name && i < FACT_NAMES; i++) {
		size_t length = strlen(elf_fact_names[i]);

		if (strncmp(name, elf_fact_names[i], length) == 0 &&
		    (name[length] == '\0' || name[length] == '@'))
			return (enum elf_fact_name)i;
	}
	return FACT_NAMES;
}

/* ---- symbols */

static void elf_facts_add_symbol(struct elf_fact *f, const GElf_Sym *symbol, int is_dynamic)
{
	if (symbol->st_shndx == SHN_UNDEF) {
		f->is_imported |= is_dynamic;
		return;
	}
	if (GELF_ST_TYPE(symbol->st_info) == STT_FILE ||
	    (is_dynamic ? f->is_dynamic : f->is_static))
		return;
	if (!is_dynamic) {
		f->is_static = 1;
		f->is_local_there = GELF_ST_BIND(symbol->st_info) == STB_LOCAL;
	}
	if (!is_dynamic && f->is_dynamic)
		return;
	f->is_dynamic = is_dynamic;
	f->type = GELF_ST_TYPE(symbol->st_info);
	f->binding = GELF_ST_BIND(symbol->st_info);
	f->visibility = GELF_ST_VISIBILITY(symbol->st_other);
	f->value = symbol->st_value;
	f->size = symbol->st_size;
}

static void read_symbols(struct pass *p, Elf_Data *data, const GElf_Shdr *header)
{
	int is_dynamic = header->sh_type == SHT_DYNSYM;
	size_t count = data->d_size / sizeof(Elf64_Sym);
	GElf_Sym symbol;

	if (is_dynamic)
		p->out->has_dynamic_symbols = 1;
	else
		p->out->has_symbols = 1;
	for (size_t i = 1; i < count && gelf_getsym(data, (int)i, &symbol); i++) {
		enum elf_fact_name which =
			fact_of(elf_strptr(p->elf, header->sh_link, symbol.st_name));

		if (which < FACT_NAMES)
			elf_facts_add_symbol(&p->out->facts[which], &symbol, is_dynamic);
	}
}

/* ---- relocations */

/*
 * Without a name the addend is an offset in the module's TLS block: the variable's own, or that
 * of a section it lies in. Nothing tells which variables a nameless DTPMOD serves.
 */
static void elf_facts_add_nameless(struct pass *p, unsigned int bit, int64_t addend)
{
	for (int i = 0; i < FACT_NAMES; i++) {
		struct elf_fact *f = &p->out->facts[i];

		if (!elf_fact_is_defined(f) || f->type != STT_TLS)
			continue;
		if (bit == TLS_BY_MODULE || (addend >= 0 && (uint64_t)addend == f->value))
			f->nameless |= bit;
	}
}

struct symbol_table {
	Elf_Data *data;
	size_t strings; /* index of their section */
};

static void elf_facts_add_relocation(struct pass *p, const struct symbol_table *t,
				     const GElf_Rela *r)
{
	static const unsigned int bits[] = {[SLOT_OFFSET] = TLS_BY_OFFSET,
					    [SLOT_DESCRIPTOR] = TLS_BY_DESCRIPTOR,
					    [SLOT_MODULE] = TLS_BY_MODULE};
	unsigned int bit =
		bits[tls_slot_kind(tls_machine_of(p->out->machine), GELF_R_TYPE(r->r_info))];
	uint64_t index = GELF_R_SYM(r->r_info);
	enum elf_fact_name which;
	GElf_Sym symbol;

	if (!bit)
		return;
	if (index == 0) {
		elf_facts_add_nameless(p, bit, r->r_addend);
		return;
	}
	if (!t->data || index > INT32_MAX || !gelf_getsym(t->data, (int)index, &symbol))
		return;
	which = fact_of(elf_strptr(p->elf, t->strings, symbol.st_name));
	if (which < FACT_NAMES)
		p->out->facts[which].named |= bit;
	else if (GELF_ST_TYPE(symbol.st_info) == STT_SECTION)
		elf_facts_add_nameless(p, bit, r->r_addend);
}

static Elf_Data *section_data(Elf_Scn *section, const GElf_Shdr *header)
{
	if (header->sh_type == SHT_NOBITS || header->sh_size > SECTION_BYTES_MAX ||
	    header->sh_flags & SHF_COMPRESSED)
		return NULL;
	return elf_getdata(section, NULL);
}

static struct symbol_table symbols_of(struct pass *p, const GElf_Shdr *relocations)
{
	struct symbol_table t = {NULL, 0};
	Elf_Scn *section = elf_getscn(p->elf, relocations->sh_link);
	GElf_Shdr header;

	if (!section || !gelf_getshdr(section, &header) ||
	    (header.sh_type != SHT_DYNSYM && header.sh_type != SHT_SYMTAB))
		return t;
	t.data = section_data(section, &header);
	t.strings = header.sh_link;
	return t;
}

static void elf_facts_read_relocations(struct pass *p, Elf_Data *data, const GElf_Shdr *header)
{
	struct symbol_table t = symbols_of(p, header);
	size_t count = data->d_size / sizeof(Elf64_Rela);
	GElf_Rela r;

	for (size_t i = 0; i < count && i < INT32_MAX && gelf_getrela(data, (int)i, &r); i++)
		elf_facts_add_relocation(p, &t, &r);
}

/* ---- the dynamic section */

static void elf_facts_add_needed(struct pass *p, const char *name)
{
	struct elf_facts *out = p->out;

	if (!out->libweft[0] &&
	    (strncmp(name, "libweft.so", 10) == 0 || strncmp(name, "libweft-late.so", 15) == 0))
		snprintf(out->libweft, sizeof(out->libweft), "%s", name);
	if (!out->liblabels[0] && strncmp(name, "libcustomlabels", 15) == 0)
		snprintf(out->liblabels, sizeof(out->liblabels), "%s", name);
}

static void elf_facts_read_dynamic(struct pass *p, Elf_Data *data, const GElf_Shdr *header)
{
	size_t count = data->d_size / sizeof(Elf64_Dyn);
	GElf_Dyn entry;

	for (size_t i = 0; i < count && i < INT32_MAX && gelf_getdyn(data, (int)i, &entry); i++) {
		const char *text = NULL;

		if (entry.d_tag == DT_NULL)
			break;
		if (entry.d_tag == DT_SONAME || entry.d_tag == DT_NEEDED)
			text = elf_strptr(p->elf, header->sh_link, entry.d_un.d_val);
		if (text && entry.d_tag == DT_SONAME)
			snprintf(p->out->soname, sizeof(p->out->soname), "%s", text);
		else if (text)
			elf_facts_add_needed(p, text);
		else if (entry.d_tag == DT_FLAGS)
			p->out->has_static_tls = (entry.d_un.d_val & DF_STATIC_TLS) != 0;
		else if (entry.d_tag == DT_FLAGS_1)
			p->flags_1 = entry.d_un.d_val;
	}
}

/* ---- notes */

/* The note of the oldest kernel, which glibc's start files have, and musl's have not. */
static void read_notes(struct pass *p, Elf_Data *data, const GElf_Shdr *header)
{
	size_t at = 0, next, name, text;
	GElf_Nhdr note;

	(void)header;
	while ((next = gelf_getnote(data, at, &note, &name, &text)) > 0) {
		p->out->is_of_glibc |= note.n_type == NT_GNU_ABI_TAG &&
				       note.n_namesz == sizeof(ELF_NOTE_GNU) &&
				       memcmp((const char *)data->d_buf + name, ELF_NOTE_GNU,
					      sizeof(ELF_NOTE_GNU)) == 0;
		at = next;
	}
}

/* ---- the file */

typedef void (*section_reader)(struct pass *p, Elf_Data *data, const GElf_Shdr *header);

/* In two passes, for a nameless relocation is compared with symbols. */
static const struct {
	uint32_t type;
	int pass;
	section_reader read;
} readers[] = {
	{SHT_DYNSYM, 1, read_symbols},
	{SHT_SYMTAB, 1, read_symbols},
	{SHT_DYNAMIC, 1, elf_facts_read_dynamic},
	{SHT_NOTE, 1, read_notes},
	{SHT_RELA, 2, elf_facts_read_relocations},
};

static void elf_facts_read_section(struct pass *p, int pass, Elf_Scn *section)
{
	GElf_Shdr header;

	if (!gelf_getshdr(section, &header))
		return;
	p->out->has_sections = 1;
	/* objcopy --only-keep-debug leaves sections without their bytes. */
	if (header.sh_type == SHT_NOBITS && header.sh_flags & SHF_EXECINSTR)
		p->is_empty = 1;
	for (size_t i = 0; i < sizeof(readers) / sizeof(readers[0]); i++) {
		int is_wanted = readers[i].type == header.sh_type && readers[i].pass == pass;
		Elf_Data *data = is_wanted ? section_data(section, &header) : NULL;

		if (data && data->d_buf)
			readers[i].read(p, data, &header);
	}
}

static void each_section(struct pass *p, int pass)
{
	Elf_Scn *section = NULL;

	for (int i = 0; i < SECTIONS_MAX && (section = elf_nextscn(p->elf, section)); i++)
		elf_facts_read_section(p, pass, section);
}

static int read_segments(struct pass *p)
{
	GElf_Phdr segment;
	size_t count;

	if (elf_getphdrnum(p->elf, &count) != 0 || count > SEGMENTS_MAX)
		return -ENOEXEC;
	for (size_t i = 0; i < count && gelf_getphdr(p->elf, (int)i, &segment); i++)
		if (segment.p_type == PT_INTERP)
			p->has_interpreter = 1;
		else if (segment.p_type == PT_DYNAMIC)
			p->has_dynamic = 1;
		else if (segment.p_type == PT_TLS)
			p->out->tls_bytes = segment.p_memsz;
	return count ? 0 : -ENOEXEC;
}

/* libc.so.6 has an interpreter, too; old linkers do not mark a PIE. */
static enum elf_kind elf_facts_kind_of(const struct pass *p, int is_program)
{
	if (p->type == ET_EXEC)
		return p->has_dynamic ? ELF_IS_PROGRAM : ELF_IS_STATIC;
	if (p->flags_1 & DF_1_PIE || is_program || (p->has_interpreter && !p->out->soname[0]))
		return p->has_interpreter ? ELF_IS_PIE : ELF_IS_STATIC_PIE;
	return ELF_IS_LIBRARY;
}

/* The version constant in the file; 0 where it is in memory alone, -1 where it is nowhere. */
static int32_t read_version(struct pass *p, int fd)
{
	uint64_t address = p->out->facts[FACT_LABELS_VERSION].value;
	GElf_Phdr segment;
	size_t count = 0;
	int32_t value;

	elf_getphdrnum(p->elf, &count);
	for (size_t i = 0; i < count && i < SEGMENTS_MAX; i++) {
		if (!gelf_getphdr(p->elf, (int)i, &segment) || segment.p_type != PT_LOAD ||
		    address < segment.p_vaddr || address - segment.p_vaddr >= segment.p_memsz)
			continue;
		address -= segment.p_vaddr;
		if (address >= segment.p_filesz)
			return 0;
		if (segment.p_offset > INT64_MAX || address > INT64_MAX - segment.p_offset)
			return -1;
		if (pread(fd, &value, sizeof(value), (off_t)(segment.p_offset + address)) !=
		    (ssize_t)sizeof(value))
			return -1;
		return value < 0 ? -1 : value;
	}
	return -1;
}

static int elf_facts_read_all(struct pass *p, int fd, int is_program)
{
	int err = read_segments(p);

	if (err)
		return err;
	each_section(p, 1);
	if (p->is_empty)
		return -ENODATA;
	each_section(p, 2);
	p->out->kind = elf_facts_kind_of(p, is_program);
	p->out->version = -1;
	if (elf_fact_is_defined(&p->out->facts[FACT_LABELS_VERSION]))
		p->out->version = read_version(p, fd);
	return 0;
}

static int elf_facts_read_header(struct pass *p, int fd)
{
	struct stat st;
	Elf64_Ehdr h;

	if (fstat(fd, &st) != 0)
		return -errno;
	if (S_ISDIR(st.st_mode))
		return -EISDIR;
	if (!S_ISREG(st.st_mode) || pread(fd, &h, sizeof(h), 0) != (ssize_t)sizeof(h))
		return -ENOEXEC;
	if (elf_header_machine((const unsigned char *)&h, sizeof(h)) < 0 ||
	    (h.e_type != ET_EXEC && h.e_type != ET_DYN))
		return -ENOEXEC;
	p->out->machine = h.e_machine;
	p->type = h.e_type;
	return 0;
}

int elf_facts_read(int fd, int is_program, struct elf_facts *out)
{
	struct pass p = {.out = out};
	int err;

	memset(out, 0, sizeof(*out));
	err = elf_facts_read_header(&p, fd);
	if (err)
		return err;
	p.elf = elf_open(fd);
	err = p.elf && elf_kind(p.elf) == ELF_K_ELF ? elf_facts_read_all(&p, fd, is_program)
						    : -ENOEXEC;
	elf_end(p.elf);
	return err;
}
