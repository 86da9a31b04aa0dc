/* SPDX-License-Identifier: Apache-2.0 */
/* The modules of a process, from the text of its maps, for tests that walk its stacks. */
#ifndef WEFT_TEST_MODULES_H
#define WEFT_TEST_MODULES_H

#include "elf/module.h"

struct modules;

/*
 * Aborts on failure. @vdso may be NULL. A page of unnamed code is an
 * emulator's signal trampoline, more of it is JIT code.
 */
struct modules *modules_new(const char *maps, const void *vdso, size_t vdso_bytes);
/* The mappings are others now; what was opened before stays open. */
void modules_update(struct modules *m, const char *maps);
void modules_free(struct modules *m);
int modules_find(void *modules, uint64_t pc, struct unwind_module *out); /* unwind_find */
/* "name+offset" or the function's name, for messages. */
const char *modules_name(struct modules *m, uint64_t pc, char *text, size_t bytes);
/* File name of the module with @pc, "" for none. */
const char *modules_file(struct modules *m, uint64_t pc);

#endif
