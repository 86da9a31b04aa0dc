/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a thread-local variable of another process lies: what the ELF file says (tls_elf.c), what
 * the process made of it (tls_place.c), and where its threads begin (thread_pointer.c).
 * Sources: ELF Handling For Thread-Local Storage (Drepper); TLS descriptors (Oliva, RFC TLSDESC).
 *
 *   tls_elf.c        how a file reaches its variable
 *   tls_place.c      what the loader made of it
 *   tls_dtv.c        from there to an address
 *   thread_pointer.c where a thread's area begins
 *   thread_lists.c   threads, by libc's own lists
 *   glibc.c          what glibc tells debuggers
 *   modules.c        what is loaded, in order
 *   elf_view.c       a file's loadable view
 */
#ifndef WEFT_READER_TLS_H
#define WEFT_READER_TLS_H

#include "reader/target/target.h"

enum tls_model {
	TLS_LOCAL_EXEC,      /* offset from the thread pointer, known from the file */
	TLS_INITIAL_EXEC,    /* TPOFF: the offset stands in a GOT word */
	TLS_DESCRIPTOR,      /* TLSDESC: two words, static or dynamic */
	TLS_GENERAL_DYNAMIC, /* DTPMOD, DTPOFF */
	TLS_LOCAL_DYNAMIC,   /* DTPMOD; the offset is the symbol's value */
};

/* A variable as its ELF file defines it. */
struct tls_symbol {
	enum tls_model model;
	int machine;    /* EM_X86_64, EM_AARCH64 */
	uint64_t value; /* st_value: offset in the module's TLS block */
	uint64_t size;  /* st_size */
	uint64_t slot;  /* r_offset of the GOT word or descriptor; 0 with LOCAL_EXEC */
	/* How far the variable lies behind what the slot leads to: a slot without a symbol may be
	 * a neighbour's. */
	uint64_t addend;
	int is_named;    /* the slot's relocation names the symbol */
	int from_symtab; /* found in .symtab alone: stripping it loses it */
	uint64_t memory_bytes, alignment, address; /* PT_TLS */
	uint64_t first_load;                       /* p_vaddr of the first PT_LOAD, */
	uint64_t first_offset;                     /* p_offset: where in the file it begins */
};

/*
 * tls_elf_find() - how @name is reached in the file behind @fd. @is_program: it is
 * /proc/PID/exe. 0; -ENOENT: not defined there as a TLS symbol; -ENOEXEC: no ELF file, or one
 * that contradicts itself; -ENOTSUP: another machine, 32 bits, or no way to reach it.
 */
int tls_elf_find(int fd, const char *name, int is_program, struct tls_symbol *out);

enum tls_libc { TLS_LIBC_UNKNOWN, TLS_LIBC_GLIBC, TLS_LIBC_MUSL };
enum tls_libc tls_libc_of(const struct target *t);

/* The same variable in a process. */
struct tls_place {
	int is_dynamic;
	int64_t offset; /* static: from the thread pointer; dynamic: in the module's block */
	/* static: the far end of the module's block; between it and the thread pointer all is TLS
	 */
	int64_t edge;
	uint64_t module; /* dynamic: index in the DTV */
	/* dynamic, glibc: a DTV that is older holds another module's block there; 0: not known */
	uint64_t generation;
	char path[256]; /* of the module that defines it */
	enum tls_model model;
	int machine;
	enum tls_libc libc; /* whose DTV it is */
};

/*
 * tls_place_find() - in @t; a process may define a variable several times (@room places, in the
 * order in which the loader has the modules). Returns how many (0: no module defines it), or
 * -errno when there is none but one was missed: -EAGAIN, it is being loaded and its relocations
 * are not done yet; -ENOTSUP, as tls_elf_find(); -EACCES and others, its file cannot be read.
 */
int tls_place_find(struct target *t, const char *name, struct tls_place *out, int room);

/*
 * tls_address() - in the thread whose thread pointer is @pointer. 0; -ENODATA: the thread has
 * not touched this module's TLS yet, so the variable is what it was at first; -errno.
 */
int tls_address(const struct target *t, const struct tls_place *p, uint64_t pointer,
		uint64_t *address);

/*
 * thread_pointer_find() - of thread @tid: by its robust list, or by the libc's own lists of
 * threads. 0; -ENOTSUP: not to be found without stopping it; -ESRCH; -EPERM.
 */
int thread_pointer_find(struct target *t, int32_t tid, uint64_t *pointer);

/* Of a thread that the caller has stopped by thread_stop(). */
int thread_pointer_of_stopped(int32_t tid, uint64_t *pointer);

#endif
