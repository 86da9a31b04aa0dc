/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An ELF file as the collector needs it: its unwind table and the names of its functions.
 * Opened once per file (device, inode, or build-id), shared by all processes that map it.
 * Everything here may be slow and is called outside of drains. Not thread-safe per module.
 *
 * Files are hostile: whatever their bytes say, the worst is -ENOEXEC, a missing table or
 * missing names. They are read, never mapped, for a mapped file that its owner truncates
 * kills the reader.
 *
 * The room, from the ground up: image/ the file, cfi/ unwind tables, dwarf/ lines and inlined
 * calls, names/ what an address is called; module.c takes all of them away together.
 */
#ifndef WEFT_ELF_MODULE_H
#define WEFT_ELF_MODULE_H

#include "unwind/rules.h"

#include <stddef.h>
#include <stdint.h>

struct elf_module;

/*
 * elf_module_open() - read an ELF file (or, with @fd >= 0, that descriptor, which stays
 * the caller's and may be closed at once). @name is what people call it ("libc.so.6",
 * "[vdso]"). 0 or -errno: -ENOEXEC for what is not a little-endian 64-bit ELF file for
 * x86-64 or aarch64. A module keeps a descriptor of its own until elf_module_free(). @path
 * may be NULL with @fd; it tells where what was split off may be, in the target's root.
 */
int elf_module_open(struct elf_module **out, const char *path, int fd, const char *name);

/* The same for an image in memory (vdso); the bytes are copied. */
int elf_module_open_image(struct elf_module **out, const void *image, size_t bytes,
			  const char *name);

void elf_module_free(struct elf_module *m);

const char *elf_module_name(const struct elf_module *m);
int elf_module_machine(const struct elf_module *m); /* enum unwind_machine */
/* Build-id as bytes; length 0 when there is none. */
size_t elf_module_build_id(const struct elf_module *m, const uint8_t **out);

/* The file address for a file offset, such as a mapping's, which may begin up to a page before the
 * segment that it maps (by program headers); -ENOENT. */
int elf_module_address(const struct elf_module *m, uint64_t file_offset, uint64_t *address);

/* Bytes of the file at a file address, all or -ENOENT: code, to look at. */
int elf_module_read(const struct elf_module *m, uint64_t address, void *out, size_t bytes);

/* The unwind table, built at the first call; NULL when the file has no unwind data. */
const struct unwind_table *elf_module_table(struct elf_module *m);

/*
 * The table, built if need be, passed to the caller, who frees it by free(). NULL: there is none.
 */
struct unwind_table *elf_module_take_table(struct elf_module *m);

/*
 * Where the loader puts the file, as _dl_find_object() tells it: file addresses of the page
 * of its first segment, and of its .eh_frame_hdr (0 = none). 0 or -ENOENT.
 */
int elf_module_object(const struct elf_module *m, uint64_t *start, uint64_t *eh_frame_hdr);

/* Does the loader begin a mapping of code at this offset of the file? */
int elf_module_is_code_start(const struct elf_module *m, uint64_t file_offset);

/*
 * A hash of everything that the table is made from but the code: build-ids are copied along by
 * tools that change a file. Never 0.
 */
uint64_t elf_module_fingerprint(struct elf_module *m);

/* A number for what builds tables, weft's sources and elfutils: another one's may differ. */
uint32_t elf_table_builder(void);

/*
 * Start of the code around a file address that one unwind entry covers: stands for a function that
 * has no name. 0 or -ENOENT.
 */
int elf_module_entry(struct elf_module *m, uint64_t address, uint64_t *start);

/* Entries of the unwind data that are damaged or of an unknown form; after elf_module_table(). */
uint32_t elf_module_rejected(const struct elf_module *m);

struct elf_symbol {
	const char *name; /* demangled; lives as long as the module */
	uint64_t address; /* file address of the function's start */
	uint64_t size;    /* 0 = not known */
	int is_cpp;       /* the name was a C++ or Rust one */
};

/* Name of the function at a file address: .symtab, else .dynsym. 0 or -ENOENT. */
int elf_module_symbol(struct elf_module *m, uint64_t address, struct elf_symbol *out);

/*
 * elf_module_functions() - the functions that elf_module_symbol() gives this name (static ones
 * may share it), by address. Returns how many there are; at most @max are filled in.
 */
size_t elf_module_functions(struct elf_module *m, const char *name, struct elf_symbol *out,
			    size_t max);

/*
 * Where separate debug files are looked for, when the file itself has no DWARF (or no
 * .symtab): by build-id and by .gnu_debuglink (its CRC checked), below /usr/lib/debug in the
 * target's own root (@root_fd, -1 = ours) and then in ours; from debuginfod servers only if
 * @debuginfod. Call before the first elf_module_symbol() or elf_module_places().
 */
struct elf_debug {
	int root_fd;
	int debuginfod;
};
void elf_module_set_debug(struct elf_module *m, const struct elf_debug *debug);

/* Why no debuginfod server can be asked; NULL when one can. */
const char *elf_no_debuginfod(void);

/* One function that a code address belongs to; where calls were inlined there are several. */
struct elf_place {
	const char *function; /* demangled; lives as long as the module, as file does */
	const char *file;     /* source file, absolute where DWARF says enough; NULL = not known */
	int line;             /* of the address, or of the call inlined here; 0 = not known */
	int is_cpp;           /* the name was a C++ or Rust one */
	int is_inlined;       /* into the place that follows */
	uint64_t address;     /* file address of the real function's start; 0 when inlined */
};

/*
 * elf_module_places() - innermost first; the last is the real function, named like
 * elf_module_symbol() names it. DWARF is read when first needed, unit by unit, and may take
 * seconds: not for threads that drain. Returns the number (at most @max, the innermost ones
 * and always the real function), 0 when nothing names the address.
 */
size_t elf_module_places(struct elf_module *m, uint64_t address, struct elf_place *out, size_t max);

#endif
