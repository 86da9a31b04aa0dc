/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finding what was split off an ELF file: separate debug files by build-id, by debug link
 * and from debuginfod, alternate files (dwz), split DWARF. Whatever is found has proved
 * that it belongs: by build-id, by checksum, or, split DWARF, by its id.
 */
#ifndef WEFT_ELF_DEBUG_FILE_H
#define WEFT_ELF_DEBUG_FILE_H

#include "elf/image/internal.h"

/* A file that was found. Its descriptor is needed until all that is wanted was read. */
struct debug_file {
	Elf *elf;
	int fd;
	char *path; /* in the root where it was found; NULL: of a cache */
};

enum debug_want { DEBUG_WANT_SYMBOLS, DEBUG_WANT_DWARF, DEBUG_WANT_FRAMES };

/* The separate debug file of @m that has what is wanted; 0 or -ENOENT. */
int debug_file_find(const struct elf_module *m, enum debug_want want, struct debug_file *out);

/* The file that the .gnu_debugaltlink of @elf, found at @path, names; 0 or -ENOENT. */
int debug_file_alternate(const struct elf_module *m, Elf *elf, const char *path,
			 struct debug_file *out);

/*
 * Split files: opens the next ELF file that is at @path in the target's root or in ours; *nth, at
 * first 0, counts the roots that were tried. 0, or -ENOENT when there are no more.
 */
int debug_file_next(const struct elf_module *m, const char *path, int *nth, struct debug_file *out);

/* Close it but for its Elf, which is the caller's: what was read stays. */
Elf *debug_file_keep(struct debug_file *f);
void debug_file_close(struct debug_file *f);

/* debuginfod.c: the descriptor of a file from a server, or -ENOENT. */
int debuginfod_open(const uint8_t *build_id, size_t bytes);

#endif
