/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An ELF file's loadable view: program headers, dynamic table, and symbols, read by pread() and
 * never mapped (a mapped file that shrinks is SIGBUS). 64 bits, of this machine's byte order.
 * A file is as hostile as it likes: every number has a bound, and so has the work.
 */
#ifndef WEFT_READER_ELF_VIEW_H
#define WEFT_READER_ELF_VIEW_H

#include <elf.h>
#include <stdint.h>
#include <sys/types.h>

#define ELF_VIEW_SEGMENTS_MAX 256

struct elf_range {
	uint64_t offset, bytes; /* in the file */
};

/* Symbols and their names, as ranges of the file; count 0: there are none. */
struct elf_symbols {
	struct elf_range table, names;
	uint64_t count;
};

struct elf_view {
	int fd;
	uint64_t size;
	Elf64_Ehdr header;
	Elf64_Phdr segments[ELF_VIEW_SEGMENTS_MAX];
	unsigned int segment_count;
	struct elf_symbols dynamic;
	struct elf_range relocations[2]; /* DT_RELA, DT_JMPREL */
	uint64_t flags_1;                /* DT_FLAGS_1 */
	int has_dynamic;
};

/* 0; -ENOEXEC: no ELF file, or one that contradicts itself; -ENOTSUP: 32 bits; -errno. */
int elf_view_open(int fd, struct elf_view *out);

/* All of @bytes at @offset, or -ENOEXEC (it is not there), or -errno. */
int elf_view_read(const struct elf_view *v, uint64_t offset, void *to, uint64_t bytes);

/* The first segment of @type, or NULL. */
const Elf64_Phdr *elf_view_segment(const struct elf_view *v, uint32_t type);

/* The section @name, by the section headers: 0; -ENOENT: there is none, or there are no headers. */
int elf_view_section(const struct elf_view *v, const char *name, Elf64_Shdr *out);

/*
 * The symbol @name that is defined, of @type, one that is not local before local ones: in .dynsym,
 * else in .symtab. 0; -ENOENT; -ENOEXEC; *index is its place in .dynsym, 0: it is not there.
 */
int elf_view_find(const struct elf_view *v, const char *name, unsigned int type, Elf64_Sym *out,
		  uint64_t *index);

#endif
