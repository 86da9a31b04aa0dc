/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A loaded file that cannot be opened any more (deleted, replaced, and no privilege for map_files),
 * put together again from the memory that it was loaded to: headers, symbols, relocations and the
 * dynamic table are all there. Its writable parts are as the process has made them, its section
 * headers are gone.
 */
#include "reader/target/target.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define SEGMENTS_MAX 64
#define DYNAMIC_ENTRIES_MAX 4096
#define IMAGE_MAX (UINT64_C(128) << 20)
#define BLOCK_BYTES 65536

struct image {
	const struct target *t;
	int fd;
	uint64_t bias, end; /* end: all addresses of the file itself are below */
	uint64_t left;      /* bytes that may still be copied: segments may overlap */
	Elf64_Ehdr header;
	Elf64_Phdr segments[SEGMENTS_MAX];
	uint8_t block[BLOCK_BYTES];
};

static int read_headers(struct image *i, const struct proc_map *first)
{
	const unsigned char *id = i->header.e_ident;
	int rc = first->offset ? -ENOEXEC
			       : target_read(i->t, first->start, &i->header, sizeof(i->header));

	if (rc)
		return rc;
	if (memcmp(id, ELFMAG, SELFMAG) != 0 || id[EI_CLASS] != ELFCLASS64 ||
	    i->header.e_phnum > SEGMENTS_MAX || i->header.e_phoff > BLOCK_BYTES)
		return -ENOEXEC;
	rc = target_read(i->t, first->start + i->header.e_phoff, i->segments,
			 i->header.e_phnum * sizeof(Elf64_Phdr));
	for (unsigned int k = i->header.e_phnum; k-- > 0 && rc == 0;) {
		const Elf64_Phdr *p = &i->segments[k];

		if (p->p_type != PT_LOAD)
			continue;
		i->bias = first->start - p->p_vaddr + p->p_offset; /* of the first one at last */
		if (p->p_vaddr + p->p_memsz > i->end)
			i->end = p->p_vaddr + p->p_memsz;
	}
	i->header.e_shoff = 0;
	i->header.e_shnum = i->header.e_shstrndx = 0;
	return rc;
}

/* Writes the first @bytes of the block. */
static int target_image_put(const struct image *i, uint64_t bytes, uint64_t offset)
{
	return pwrite(i->fd, i->block, bytes, (off_t)offset) == (ssize_t)bytes ? 0 : -ENOSPC;
}

/* What cannot be read (code that may only run) is left out. */
static int copy_segment(struct image *i, const Elf64_Phdr *p)
{
	int rc = 0;

	if (p->p_offset > IMAGE_MAX || p->p_filesz > i->left)
		return -EFBIG;
	i->left -= p->p_filesz;
	for (uint64_t at = 0; at < p->p_filesz && rc == 0; at += BLOCK_BYTES) {
		uint64_t n = p->p_filesz - at < BLOCK_BYTES ? p->p_filesz - at : BLOCK_BYTES;

		rc = target_read(i->t, i->bias + p->p_vaddr + at, i->block, n);
		rc = rc == -EFAULT ? 0 : rc ? rc : target_image_put(i, n, p->p_offset + at);
	}
	return rc;
}

static int is_pointer(Elf64_Sxword tag)
{
	return tag == DT_SYMTAB || tag == DT_STRTAB || tag == DT_HASH || tag == DT_GNU_HASH ||
	       tag == DT_RELA || tag == DT_JMPREL;
}

/* glibc turns the table's addresses into those of the process, musl leaves them alone. */
static int restore_dynamic(struct image *i, const Elf64_Phdr *p)
{
	uint64_t count = p->p_filesz / sizeof(Elf64_Dyn);
	int rc = 0;

	for (uint64_t k = 0; k < count && k < DYNAMIC_ENTRIES_MAX && rc == 0; k++) {
		uint64_t at = p->p_offset + k * sizeof(Elf64_Dyn);
		Elf64_Dyn d;

		rc = target_read(i->t, i->bias + p->p_vaddr + k * sizeof(d), &d, sizeof(d));
		if (rc || d.d_tag == DT_NULL)
			break;
		if (is_pointer(d.d_tag) && d.d_un.d_ptr - i->bias < i->end)
			d.d_un.d_ptr -= i->bias;
		memcpy(i->block, &d, sizeof(d));
		rc = at > IMAGE_MAX ? -EFBIG : target_image_put(i, sizeof(d), at);
	}
	return rc;
}

static int target_image_fill(struct image *i)
{
	int rc = 0;

	for (unsigned int k = 0; k < i->header.e_phnum && rc == 0; k++)
		if (i->segments[k].p_type == PT_LOAD)
			rc = copy_segment(i, &i->segments[k]);
	for (unsigned int k = 0; k < i->header.e_phnum && rc == 0; k++)
		if (i->segments[k].p_type == PT_DYNAMIC)
			rc = restore_dynamic(i, &i->segments[k]);
	memcpy(i->block, &i->header, sizeof(i->header));
	return rc ? rc : target_image_put(i, sizeof(i->header), 0);
}

int target_image_open(const struct target *t, const struct proc_map *first)
{
	struct image *i = calloc(1, sizeof(*i));
	int rc, fd = -1;

	if (!i)
		return -ENOMEM;
	i->t = t;
	i->left = IMAGE_MAX;
	rc = read_headers(i, first);
	if (rc == 0) {
		i->fd = fd = memfd_create("weft-image", MFD_CLOEXEC);
		rc = fd < 0 ? -errno : target_image_fill(i);
	}
	free(i);
	if (rc == 0)
		return fd;
	if (fd >= 0)
		close(fd);
	return rc;
}
