/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of tls_*.c, for each other and for tests over canned memory. */
#ifndef WEFT_READER_TLS_PLACE_H
#define WEFT_READER_TLS_PLACE_H

#include "reader/tls/elf_view.h"
#include "reader/tls/tls.h"

/* A machine's dynamic relocations of thread-local variables. */
struct tls_machine {
	int id;                              /* EM_X86_64, EM_AARCH64 */
	uint32_t offset, descriptor, module; /* TPOFF, TLSDESC, DTPMOD */
};
const struct tls_machine *tls_machine_of(int id); /* NULL: another one */

enum slot_kind { SLOT_NONE, SLOT_OFFSET, SLOT_DESCRIPTOR, SLOT_MODULE };
enum slot_kind tls_slot_kind(const struct tls_machine *m, uint64_t type); /* of a relocation */

/* As tls_elf_find(), in a file that is open already. */
int tls_view_find(const struct elf_view *v, const char *name, int is_program,
		  struct tls_symbol *out);

/* The file's machine, PT_TLS and first PT_LOAD alone. 0; -ENOEXEC: no PT_TLS, or no sane one. */
int tls_view_segments(const struct elf_view *v, struct tls_symbol *out);

/* Of a variable of the program itself, which comes first in every thread's static block. */
int64_t tls_local_exec_offset(const struct tls_symbol *s);

/* Of a module at @bias; p->libc is set. As tls_place_find() for one. */
int tls_symbol_place(struct target *t, const struct tls_symbol *s, uint64_t bias,
		     struct tls_place *p);

/* In which of the loader's generations a module came; 0 when that cannot be known. */
uint64_t tls_module_generation(struct target *t, enum tls_libc libc, uint64_t module);

/*
 * thread_lists.c: the pointer of thread @tid, a number as the process itself has it, by the lists
 * of threads that its libc keeps: glibc's by what it exports for debuggers, musl's ring by what
 * each thread looks like. Nobody is stopped. 0; -ENOTSUP: no list is found, or it is in none.
 */
int thread_lists_find(struct target *t, int32_t tid, uint64_t *pointer);

#endif
