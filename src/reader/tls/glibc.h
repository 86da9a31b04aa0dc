/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What glibc keeps in a process for debuggers (libthread_db): where its lists of threads and of
 * modules are, and how their structs are laid out. Read from the process itself, by the exported
 * symbols _thread_db_* of its own libc: right for whatever version it has, 2.34 and later.
 */
#ifndef WEFT_READER_GLIBC_H
#define WEFT_READER_GLIBC_H

#include "reader/target/target.h"

/* As glibc writes it: an element's size in bits, how many, and where. */
struct glibc_field {
	uint32_t bits, count, offset;
};

enum glibc_name {
	GLIBC_STACK_USED, /* in _rtld_global: lists of threads */
	GLIBC_STACK_USER,
	GLIBC_SLOTINFO_LIST, /* in _rtld_global: modules with thread-local variables */
	GLIBC_LIST_NEXT,
	GLIBC_PTHREAD_LIST,
	GLIBC_PTHREAD_TID,
	GLIBC_SLOTINFO_LEN,
	GLIBC_SLOTINFO_NEXT,
	GLIBC_SLOTINFO_ITEMS,
	GLIBC_SLOTINFO_GENERATION,
	GLIBC_NAMES
};

struct glibc {
	uint64_t rtld_global;
	uint32_t pthread_bytes;
	struct glibc_field fields[GLIBC_NAMES];
};

/* Looked for once in a target. 0; -ENOTSUP: another libc, or one without them; -errno. */
int glibc_find(struct target *t, const struct glibc **out);

/* The word of @name in the struct at @base. */
int glibc_word(const struct target *t, const struct glibc *g, enum glibc_name name, uint64_t base,
	       uint64_t *out);

/* The generation of the loader in which module @module came. */
int glibc_module_generation(struct target *t, uint64_t module, uint64_t *generation);

#endif
