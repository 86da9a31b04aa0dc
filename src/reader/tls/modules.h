/* SPDX-License-Identifier: Apache-2.0 */
/* Programs and libraries that a process has loaded: from its mappings, in its loader's order. */
#ifndef WEFT_READER_MODULES_H
#define WEFT_READER_MODULES_H

#include "reader/target/target.h"
#include "reader/tls/elf_view.h"

struct target_module {
	const struct proc_map *first; /* where the file begins */
	const struct elf_view *view;
	uint64_t bias; /* address in memory minus address in the file */
	int is_program;
};

/*
 * Calls @f for each until it returns not 0, and returns that. A file that is mapped
 * only to be read may be among them: ask module_is_loaded(). *missed: 0, or why a file that begins
 * like a module could not be looked at; -ETIMEDOUT: there was no time for all.
 */
int modules_each(struct target *t, int (*f)(void *arg, const struct target_module *m), void *arg,
		 int *missed);

/* Whether @at, an address of the file's own, lies in a mapping that a loader may write to. */
int module_is_loaded(const struct target *t, const struct target_module *m, uint64_t at);

/* Of the mappings of files as @t has them: another one says that something has come or gone. */
uint64_t modules_digest(const struct target *t);

/* Address of an object that the module exports, or in any .symtab; 0; -ENOENT; -errno. */
int module_symbol(const struct target_module *m, const char *name, uint64_t *address);

/*
 * module_u32() - the 4-byte object @name of the module that is mapped from @path, as it stands in
 * the process. 0; -ENOENT: no such module, or no such symbol there; -ENOEXEC: another size; -errno.
 */
int module_u32(const struct target *t, const char *path, const char *name, uint32_t *out);

/*
 * link_map_read() - biases of the loaded modules in the loader's order, from its list for
 * debuggers, which the program's dynamic table leads to: how many, or -errno.
 */
int link_map_read(const struct target *t, const struct target_module *program, uint64_t *biases,
		  int room);

#endif
