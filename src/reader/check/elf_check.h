/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Can readers outside find the contexts that a program or library publishes? Judged by the
 * file alone, ABI by ABI, with what mends it. Sources: custom-labels-v1.md of the Custom Labels
 * project and what its one production reader accepts; OTEP 4947 (thread context).
 */
#ifndef WEFT_READER_ELF_CHECK_H
#define WEFT_READER_ELF_CHECK_H

#include "reader/check/elf_facts.h"

#include <stdio.h>

#define CHECK_FINDINGS_MAX 12

enum check_state {
	CHECK_OK,
	CHECK_INFO,    /* neither good nor bad */
	CHECK_WARNING, /* some readers, or some ways to load it, do not work */
	CHECK_BAD,     /* readers of this ABI find nothing, or what is wrong */
};

struct check_finding {
	const char *key;   /* for programs: stable */
	const char *title; /* for people */
	enum check_state state;
	char value[400]; /* what was found */
	char mend[500];  /* what to do; "" = nothing */
};

enum check_abi { CHECK_CUSTOM_LABELS, CHECK_OTEL, CHECK_WEFT, CHECK_ABIS };

struct check_verdict {
	int is_published; /* the file publishes by this ABI, or tries to; else no findings */
	int count;
	struct check_finding findings[CHECK_FINDINGS_MAX];
};

struct elf_check {
	struct elf_facts facts;
	char name[256]; /* of the file itself, links followed, without directories */
	struct check_verdict verdicts[CHECK_ABIS];
};

extern const char *const check_abi_keys[CHECK_ABIS], *const check_abi_titles[CHECK_ABIS];

/*
 * elf_check() - the file behind @fd. @name: what it is called where processes map it, without
 * directories; @is_program: it is a process's executable. 0, or as elf_facts_read().
 */
int elf_check(int fd, const char *name, int is_program, struct elf_check *out);

/* No finding is bad. */
int check_is_good(const struct check_verdict *v);
/* Something is published, and all that is can be read. */
int elf_check_passed(const struct elf_check *c);

/* ---- for elf_check_*.c */

struct check_finding *check_add(struct check_verdict *v, enum check_state state, const char *key,
				const char *title);
/* What was found, and what to do, as printf() takes them. */
#define check_say(f, ...) ((void)snprintf((f)->value, sizeof((f)->value), __VA_ARGS__))
#define check_mend(f, ...) ((void)snprintf((f)->mend, sizeof((f)->mend), __VA_ARGS__))

/* Findings that ABIs share: is it in .dynsym (1 or 0), is it a pointer, does weft read it. */
int check_exported(struct check_verdict *v, const struct elf_facts *facts, enum elf_fact_name which,
		   const char *key, const char *title);
void check_pointer(struct check_verdict *v, const struct elf_facts *facts,
		   enum elf_fact_name which);
void check_by_weft(struct check_verdict *v, int fd, const struct elf_facts *facts,
		   enum elf_fact_name which);

/* Where a program's variable lies, and whether the program gets as far as main(). */
void check_program_access(struct check_verdict *v, const struct elf_facts *facts,
			  enum elf_fact_name which);

/* How a library is to be compiled so that its variable is reached by a TLS descriptor. */
const char *check_descriptor_options(const struct elf_facts *facts);
extern const char check_interposable[]; /* what mends a relocation that does not name it */
void check_unreached(struct check_finding *f, const struct elf_facts *facts, const char *name);

void check_custom_labels(struct elf_check *c, int fd);
void check_otel(struct elf_check *c, int fd);

#endif
