/* SPDX-License-Identifier: Apache-2.0 */
/* A constant of a loaded module, exported or in .symtab: custom_labels_abi_version and its like. */
#ifndef WEFT_READER_MODULE_SYMBOL_H
#define WEFT_READER_MODULE_SYMBOL_H

#include "reader/target/target.h"

/*
 * module_u32() - the 4-byte object @name of the module that is mapped from @path, as it stands in
 * the process. 0; -ENOENT: no such module, or no such symbol there; -ENOEXEC: another size; -errno.
 */
int module_u32(const struct target *t, const char *path, const char *name, uint32_t *out);

#endif
