/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an ELF file says about the variables by which contexts are published: its symbols of
 * those names, the TLS relocations that lead to them, and what kind of file it is. By section
 * headers, as readers outside find them. Files are hostile: whatever their bytes say, the worst
 * is -ENOEXEC or a fact that is missing. They are read, never mapped.
 */
#ifndef WEFT_READER_ELF_FACTS_H
#define WEFT_READER_ELF_FACTS_H

#include <stddef.h>
#include <stdint.h>

enum elf_fact_name {
	FACT_LABELS_VERSION, /* custom_labels_abi_version */
	FACT_LABELS_SET,     /* custom_labels_current_set */
	FACT_OTEL,           /* otel_thread_ctx_v1 */
	FACT_WEFT,           /* weft_thread_slot */
	FACT_NAMES,
};
extern const char *const elf_fact_names[FACT_NAMES];

enum elf_kind {
	ELF_IS_PROGRAM, /* for a fixed address */
	ELF_IS_PIE,     /* position-independent, with a loader */
	ELF_IS_STATIC,  /* for a fixed address, no loader */
	ELF_IS_STATIC_PIE,
	ELF_IS_LIBRARY,
};

enum elf_tls_relocation {                             /* bits */
			  TLS_BY_OFFSET = 1 << 0,     /* TPOFF: initial-exec */
			  TLS_BY_DESCRIPTOR = 1 << 1, /* TLSDESC */
			  TLS_BY_MODULE =
				  1 << 2, /* DTPMOD: general-dynamic; nameless: local-dynamic */
};

struct elf_fact {
	int is_dynamic;                          /* defined in .dynsym */
	int is_static;                           /* defined in .symtab */
	int is_imported;                         /* undefined in .dynsym */
	unsigned char type, binding, visibility; /* as .dynsym has it, else .symtab */
	int is_local_there;                      /* local in .symtab */
	uint64_t value, size;
	unsigned int named, nameless; /* enum elf_tls_relocation, of relocations that lead here */
};

struct elf_facts {
	int machine; /* EM_X86_64, EM_AARCH64 */
	enum elf_kind kind;
	int has_sections, has_dynamic_symbols, has_symbols;
	int has_static_tls; /* DF_STATIC_TLS */
	int is_of_glibc;    /* a program: linked with glibc's start files (their note is there) */
	uint64_t tls_bytes; /* PT_TLS; 0 = none */
	char soname[256];   /* "" = none */
	char libweft[256];  /* the first needed library of this name, "" = none */
	char liblabels[256];
	int32_t version; /* value of custom_labels_abi_version; -1: not in the file */
	struct elf_fact facts[FACT_NAMES];
};

/*
 * elf_facts_read() - from the file behind @fd. @is_program: it is a process's executable.
 * 0; -ENOEXEC: not an ELF program or library for x86-64 or aarch64, or damaged; -ENODATA: only
 * the debug information of one; -errno.
 */
int elf_facts_read(int fd, int is_program, struct elf_facts *out);

/* Is the variable defined in the file at all? */
int elf_fact_is_defined(const struct elf_fact *f);
int elf_facts_is_library(const struct elf_facts *f);

#endif
