/* SPDX-License-Identifier: Apache-2.0 */
/* An ELF file's loadable view: see elf_view.h. */
#include "reader/tls/elf_view.h"

#include "base/output.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define DYNAMIC_ENTRIES_MAX 4096
#define SYMBOLS_MAX (8u << 20)
#define SECTIONS_MAX 65536
#define NAME_BYTES_MAX 256
#define NAMES_LOOKED_AT_MAX 65536
#define BLOCK_SYMBOLS 512
#define GNU_BUCKETS_MAX (8u << 20)

/* What DT_* say, before it is looked for in the file. */
struct dynamic_words {
	uint64_t symbols, names, names_bytes, hash, gnu_hash;
	uint64_t rela, rela_bytes, plt, plt_bytes, plt_type;
};

int elf_view_read(const struct elf_view *v, uint64_t offset, void *to, uint64_t bytes)
{
	ssize_t n;

	if (offset > v->size || bytes > v->size - offset)
		return -ENOEXEC;
	n = fd_read_at(v->fd, to, bytes, offset);
	if (n < 0)
		return (int)n;
	return (uint64_t)n == bytes ? 0 : -ENOEXEC;
}

const Elf64_Phdr *elf_view_segment(const struct elf_view *v, uint32_t type)
{
	for (unsigned int i = 0; i < v->segment_count; i++)
		if (v->segments[i].p_type == type)
			return &v->segments[i];
	return NULL;
}

/* Where @bytes at address @at of the file's own lie in it: 0 or -ENOEXEC. */
static int elf_view_offset(const struct elf_view *v, uint64_t at, uint64_t bytes, uint64_t *offset)
{
	for (unsigned int i = 0; i < v->segment_count; i++) {
		const Elf64_Phdr *p = &v->segments[i];
		uint64_t into = at - p->p_vaddr;

		if (p->p_type != PT_LOAD || at < p->p_vaddr || into >= p->p_filesz)
			continue;
		if (bytes > p->p_filesz - into || p->p_offset > UINT64_MAX - into)
			return -ENOEXEC;
		*offset = p->p_offset + into;
		return 0;
	}
	return -ENOEXEC;
}

static int elf_view_read_header(struct elf_view *v)
{
	const unsigned char *id = v->header.e_ident;
	int rc = elf_view_read(v, 0, &v->header, sizeof(v->header));

	if (rc)
		return rc;
	if (memcmp(id, ELFMAG, SELFMAG) != 0)
		return -ENOEXEC;
	if (id[EI_CLASS] != ELFCLASS64 || id[EI_DATA] != ELFDATA2LSB)
		return -ENOTSUP;
	if (v->header.e_phnum > ELF_VIEW_SEGMENTS_MAX ||
	    (v->header.e_phnum && v->header.e_phentsize != sizeof(Elf64_Phdr)))
		return -ENOEXEC;
	v->segment_count = v->header.e_phnum;
	return elf_view_read(v, v->header.e_phoff, v->segments,
			     v->segment_count * sizeof(Elf64_Phdr));
}

static void elf_view_note_entry(struct elf_view *v, const Elf64_Dyn *d, struct dynamic_words *w)
{
	const struct {
		Elf64_Sxword tag;
		uint64_t *word;
	} wanted[] = {
		{DT_SYMTAB, &w->symbols},     {DT_STRTAB, &w->names},
		{DT_STRSZ, &w->names_bytes},  {DT_HASH, &w->hash},
		{DT_GNU_HASH, &w->gnu_hash},  {DT_RELA, &w->rela},
		{DT_RELASZ, &w->rela_bytes},  {DT_JMPREL, &w->plt},
		{DT_PLTRELSZ, &w->plt_bytes}, {DT_PLTREL, &w->plt_type},
		{DT_FLAGS_1, &v->flags_1},
	};

	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++)
		if (wanted[i].tag == d->d_tag)
			*wanted[i].word = d->d_un.d_val;
}

static int read_words(struct elf_view *v, const Elf64_Phdr *dynamic, struct dynamic_words *w)
{
	uint64_t count = dynamic->p_filesz / sizeof(Elf64_Dyn);

	for (uint64_t i = 0; i < count && i < DYNAMIC_ENTRIES_MAX; i++) {
		Elf64_Dyn d;
		int rc = elf_view_read(v, dynamic->p_offset + i * sizeof(d), &d, sizeof(d));

		if (rc || d.d_tag == DT_NULL)
			return rc;
		elf_view_note_entry(v, &d, w);
	}
	return 0;
}

/* The last symbol that a bucket leads to ends its chain: the table has no count of its own. */
static int count_by_gnu_hash(const struct elf_view *v, uint64_t at, uint64_t *count)
{
	uint32_t head[4], buckets[BLOCK_SYMBOLS], last = 0, hash = 0;
	uint64_t offset, chains;
	int rc = elf_view_offset(v, at, sizeof(head), &offset);

	rc = rc ? rc : elf_view_read(v, offset, head, sizeof(head));
	if (rc || head[0] > GNU_BUCKETS_MAX || head[2] > GNU_BUCKETS_MAX)
		return rc ? rc : -ENOEXEC;
	offset += sizeof(head) + (uint64_t)head[2] * 8;
	chains = offset + (uint64_t)head[0] * 4;
	for (uint32_t i = 0; i < head[0]; i += BLOCK_SYMBOLS) {
		uint32_t n = head[0] - i < BLOCK_SYMBOLS ? head[0] - i : BLOCK_SYMBOLS;

		rc = elf_view_read(v, offset + (uint64_t)i * 4, buckets, (uint64_t)n * 4);
		if (rc)
			return rc;
		for (uint32_t b = 0; b < n; b++)
			last = buckets[b] > last ? buckets[b] : last;
	}
	*count = head[1];
	if (last < head[1])
		return 0;
	for (*count = last; !(hash & 1); ++*count) {
		rc = *count > SYMBOLS_MAX ? -ENOEXEC
					  : elf_view_read(v, chains + (*count - head[1]) * 4, &hash,
							  sizeof(hash));
		if (rc)
			return rc;
	}
	return 0;
}

static int count_by_hash(const struct elf_view *v, uint64_t at, uint64_t *count)
{
	uint32_t head[2];
	uint64_t offset;
	int rc = elf_view_offset(v, at, sizeof(head), &offset);

	rc = rc ? rc : elf_view_read(v, offset, head, sizeof(head));
	if (rc == 0)
		*count = head[1];
	return rc;
}

static int find_dynamic_symbols(struct elf_view *v, const struct dynamic_words *w)
{
	struct elf_symbols *s = &v->dynamic;
	uint64_t count = 0;
	int rc = 0;

	if (!w->symbols || !w->names)
		return 0;
	if (w->hash)
		rc = count_by_hash(v, w->hash, &count);
	else if (w->gnu_hash)
		rc = count_by_gnu_hash(v, w->gnu_hash, &count);
	if (rc || count > SYMBOLS_MAX)
		return rc ? rc : -ENOEXEC;
	s->table.bytes = count * sizeof(Elf64_Sym);
	s->names.bytes = w->names_bytes;
	rc = elf_view_offset(v, w->symbols, s->table.bytes, &s->table.offset);
	if (rc == 0)
		rc = elf_view_offset(v, w->names, s->names.bytes, &s->names.offset);
	s->count = rc ? 0 : count;
	return rc;
}

static int find_relocations(struct elf_view *v, const struct dynamic_words *w)
{
	int rc = 0;

	v->relocations[0].bytes = w->rela ? w->rela_bytes : 0;
	v->relocations[1].bytes = w->plt && w->plt_type == DT_RELA ? w->plt_bytes : 0;
	if (v->relocations[0].bytes)
		rc = elf_view_offset(v, w->rela, w->rela_bytes, &v->relocations[0].offset);
	if (rc == 0 && v->relocations[1].bytes)
		rc = elf_view_offset(v, w->plt, w->plt_bytes, &v->relocations[1].offset);
	return rc;
}

int elf_view_open(int fd, struct elf_view *out)
{
	struct dynamic_words words = {0};
	const Elf64_Phdr *dynamic;
	struct stat st;
	int rc;

	memset(out, 0, sizeof(*out));
	if (fstat(fd, &st))
		return -errno;
	out->fd = fd;
	out->size = st.st_size > 0 ? (uint64_t)st.st_size : 0;
	rc = elf_view_read_header(out);
	dynamic = rc ? NULL : elf_view_segment(out, PT_DYNAMIC);
	if (!dynamic)
		return rc;
	out->has_dynamic = 1;
	rc = read_words(out, dynamic, &words);
	rc = rc ? rc : find_dynamic_symbols(out, &words);
	return rc ? rc : find_relocations(out, &words);
}

static int elf_view_read_section(const struct elf_view *v, unsigned int index, Elf64_Shdr *out)
{
	return elf_view_read(v, v->header.e_shoff + index * sizeof(*out), out, sizeof(*out));
}

int elf_view_section(const struct elf_view *v, const char *name, Elf64_Shdr *out)
{
	const Elf64_Ehdr *h = &v->header;
	size_t bytes = strlen(name) + 1;
	char found[NAME_BYTES_MAX];
	Elf64_Shdr names, s;

	if (!h->e_shoff || h->e_shentsize != sizeof(s) || h->e_shstrndx >= h->e_shnum ||
	    bytes > sizeof(found) || elf_view_read_section(v, h->e_shstrndx, &names))
		return -ENOENT;
	for (unsigned int i = 0; i < h->e_shnum; i++) {
		if (elf_view_read_section(v, i, &s))
			return -ENOENT;
		if (s.sh_name > names.sh_size || bytes > names.sh_size - s.sh_name ||
		    elf_view_read(v, names.sh_offset + s.sh_name, found, bytes) ||
		    memcmp(found, name, bytes) != 0)
			continue;
		*out = s;
		return 0;
	}
	return -ENOENT;
}

/* .symtab; 0 or -ENOENT. */
static int find_symtab(const struct elf_view *v, struct elf_symbols *out)
{
	uint64_t at = v->header.e_shoff;

	if (!at || v->header.e_shentsize != sizeof(Elf64_Shdr))
		return -ENOENT;
	for (unsigned int i = 0; i < v->header.e_shnum && i < SECTIONS_MAX; i++) {
		Elf64_Shdr s, names;

		if (elf_view_read(v, at + i * sizeof(s), &s, sizeof(s)))
			return -ENOENT;
		if (s.sh_type != SHT_SYMTAB || s.sh_link >= v->header.e_shnum)
			continue;
		if (elf_view_read(v, at + s.sh_link * sizeof(s), &names, sizeof(names)))
			return -ENOENT;
		out->table = (struct elf_range){s.sh_offset, s.sh_size};
		out->names = (struct elf_range){names.sh_offset, names.sh_size};
		out->count = s.sh_size / sizeof(Elf64_Sym);
		return out->count > SYMBOLS_MAX ? -ENOENT : 0;
	}
	return -ENOENT;
}

static int has_name(const struct elf_view *v, const struct elf_symbols *in, const Elf64_Sym *s,
		    const char *name)
{
	size_t bytes = strlen(name) + 1;
	char found[NAME_BYTES_MAX];

	if (bytes > sizeof(found) || s->st_name > in->names.bytes ||
	    bytes > in->names.bytes - s->st_name)
		return 0;
	if (elf_view_read(v, in->names.offset + s->st_name, found, bytes))
		return 0;
	return memcmp(found, name, bytes) == 0;
}

/* The first that is not local, else the last local one; *index: its place in the table. */
static int find_in(const struct elf_view *v, const struct elf_symbols *in, const char *name,
		   unsigned int type, Elf64_Sym *out, uint64_t *index)
{
	Elf64_Sym block[BLOCK_SYMBOLS] = {0};
	unsigned int looked_at = 0;
	int found = -ENOENT;

	for (uint64_t at = 0; at < in->count; at += BLOCK_SYMBOLS) {
		uint64_t n = in->count - at < BLOCK_SYMBOLS ? in->count - at : BLOCK_SYMBOLS;
		int rc = elf_view_read(v, in->table.offset + at * sizeof(*block), block,
				       n * sizeof(*block));

		if (rc)
			return rc;
		for (uint64_t i = 0; i < n; i++) {
			const Elf64_Sym *s = &block[i];
			int is_local = ELF64_ST_BIND(s->st_info) == STB_LOCAL;

			if (ELF64_ST_TYPE(s->st_info) != type || s->st_shndx == SHN_UNDEF ||
			    (is_local && found == 0) || ++looked_at > NAMES_LOOKED_AT_MAX ||
			    !has_name(v, in, s, name))
				continue;
			*out = *s;
			*index = at + i;
			found = 0;
			if (!is_local)
				return 0;
		}
	}
	return found;
}

int elf_view_find(const struct elf_view *v, const char *name, unsigned int type, Elf64_Sym *out,
		  uint64_t *index)
{
	struct elf_symbols symtab = {0};
	int rc = find_in(v, &v->dynamic, name, type, out, index);

	if (rc != -ENOENT || find_symtab(v, &symtab))
		return rc;
	rc = find_in(v, &symtab, name, type, out, index);
	*index = 0;
	return rc;
}
