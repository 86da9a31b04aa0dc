/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of this room share: the module itself and its parts. */
#ifndef WEFT_ELF_INTERNAL_H
#define WEFT_ELF_INTERNAL_H

#include "base/buf.h"
#include "elf/image/elf_open.h"
#include "elf/module.h"

#include <elfutils/libdw.h>
#include <gelf.h>
#include <sys/types.h>

#define ELF_BUILD_ID_MAX 64

struct elf_names;
struct dwread;

/* The code of one frame description entry: a function, or its cold part. */
struct elf_entry {
	uint64_t start, end;
};

struct elf_module {
	Elf *elf;
	int fd;      /* -1: an image */
	uid_t owner; /* of the file */
	char *path;  /* NULL: not known, or an image */
	void *image;
	size_t image_bytes;
	char *name;
	int machine;
	GElf_Phdr *segments;
	size_t segment_count;
	uint8_t build_id[ELF_BUILD_ID_MAX];
	size_t build_id_bytes;

	uint64_t fingerprint; /* 0: not known yet */
	int has_tried_table;
	struct unwind_table *table;
	uint32_t rejected;  /* entries of the table's sources that are damaged */
	struct buf entries; /* struct elf_entry, sorted by start, not overlapping */

	int has_tried_names;
	struct elf_names *names;

	struct elf_debug debug; /* its root_fd is our own, or -1 where the root is ours */
	int has_tried_dwarf;
	struct dwread *dwarf;
};

/*
 * image.c: the file's own part of a module that is zeroed but for fd and debug.root_fd (-1). First
 * from a descriptor (@fd, else @path) or from bytes in memory, which are copied; then loaded: 0 or
 * -errno, as elf_module_open(). Closed after success and failure.
 */
int elf_image_open(struct elf_module *m, const char *path, int fd);
int elf_image_copy(struct elf_module *m, const void *image, size_t bytes);
int elf_image_load(struct elf_module *m, const char *name);
void elf_image_close(struct elf_module *m);

/* Is [start, end) mapped as code? What a linker discarded has entries at 0 and the like. */
int elf_is_code(const struct elf_module *m, uint64_t start, uint64_t end);

/* Section by name, with contents in the file; NULL when there is none. */
Elf_Scn *elf_find_section(Elf *elf, const char *name, GElf_Shdr *header);
/* Contents of a section, decompressed; NULL when damaged or absurdly large. */
Elf_Data *elf_section_data(Elf_Scn *section);
/* ".NAME" + suffix, or ".zNAME" (packed in the older way); NULL when there is none. */
Elf_Data *elf_debug_section_data(Elf *elf, const char *name, const char *suffix);
/* The contents of all sections of this name, one after the other; 0 or -ENOENT. */
int elf_join_sections(Elf *elf, const char *name, struct buf *out);
int elf_has_debug_section(Elf *elf, const char *name);
/* The build-id by section, for files whose segments are those of another; its length. */
size_t elf_find_build_id(Elf *elf, uint8_t out[ELF_BUILD_ID_MAX]);
size_t elf_build_id_of(Elf_Data *notes, uint8_t out[ELF_BUILD_ID_MAX]); /* @notes may be NULL */

/* One stretch of code that a frame description entry covers. */
struct cfi_span {
	uint64_t start, end;
	uint32_t program_bytes; /* instructions executed for each row */
};

/*
 * A private, checked copy of a .eh_frame or .debug_frame section: what elfutils is given
 * in place of the file, so that nothing unchecked is ever executed.
 */
struct cfi_section {
	uint8_t *bytes;
	size_t size;
	uint64_t address;
	int is_eh_frame;
	int machine;
	struct cfi_span *spans; /* sorted by start, not overlapping */
	size_t span_count;
	uint32_t rejected;
};

/* cfi_section.c: find, copy and check; -ENOENT when the module has no such section. */
enum cfi_where { CFI_EH_FRAME, CFI_DEBUG_FRAME, CFI_SEPARATE_DEBUG_FRAME };
int cfi_section_load(struct cfi_section *s, const struct elf_module *m, enum cfi_where where);
void cfi_section_free(struct cfi_section *s);

/* cfi_check.c: fills spans, neutralises what is unsound; 0 or -ENOMEM, -EINVAL. */
int cfi_section_check(struct cfi_section *s);

/* cfi_program.c: is this CFA program safe to execute? May turn opcodes into nops. */
int cfi_program_is_sound(uint8_t *program, const uint8_t *end, int machine);

/* cfi_image.c: an ELF image in memory that holds this one section. Free both. */
int cfi_image_open(const struct cfi_section *s, Elf **elf, void **image);

/* cfi_rule.c: the rule of one row; UNWIND_CFA_NONE for what no rule can hold. */
void cfi_rule_of(Dwarf_Frame *frame, int machine, struct unwind_rule *out);
/* Does the entry say that its caller was interrupted, not calling? */
int cfi_is_signal_frame(Dwarf_Frame *frame);

/* cfi/trampoline.c: the code that a signal handler returns to lies in [start, end)? */
int elf_is_signal_return(const struct elf_module *m, uint64_t start, uint64_t end);
/* Next such code without unwind data at or after *address: 0 and its place, or -ENOENT. */
int elf_find_signal_return(const struct elf_module *m, uint64_t *address, uint64_t *end);

/*
 * plt_rules.c: calls @put with the rule of each stretch of the procedure linkage table, in
 * ascending order within each of its sections.
 */
typedef int (*elf_rule_put)(void *arg, uint64_t start, uint64_t end,
			    const struct unwind_rule *rule);
int elf_plt_rules(const struct elf_module *m, elf_rule_put put, void *arg);

/*
 * gap_rules.c: the same for a stretch of code without unwind data, which begins where a
 * function does or behind one. Nothing for what it cannot read.
 */
int elf_gap_rules(const struct elf_module *m, uint64_t start, uint64_t end, elf_rule_put put,
		  void *arg);

/* names.c */
void elf_names_free(struct elf_names *n);

/* plt.c: calls @add for every stub of the procedure linkage table that has a name. */
typedef int (*elf_plt_add)(void *arg, uint64_t address, uint64_t size, const char *name);
int elf_plt_scan(const struct elf_module *m, elf_plt_add add, void *arg);

/* mini_debug.c: the ELF file packed in .gnu_debugdata; free both. 0 or -ENOENT. */
int elf_mini_debug(const struct elf_module *m, Elf **elf, void **image);

/* places.c */
void elf_debug_free(struct elf_module *m);
void dwread_free(struct dwread *r);

/* demangle.c: what people call @mangled, malloc'ed; NULL when it is no C++ or Rust name. */
char *elf_demangle(const char *mangled);

#endif
