/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hooks of an object that was loaded after libc: calls by name do not reach them, so the callers'
 * tables are patched. Not in a handler.
 */
#ifndef WEFT_RUNTIME_PATCH_H
#define WEFT_RUNTIME_PATCH_H

#include <link.h>
#include <signal.h>
#include <stdint.h>
#include <time.h>

#include "runtime/core/loaded_object.h"

/* In the constructor, if libc was loaded before us: patches all loaded modules. */
void weft_patch_open(void);

/* Patches what has been loaded since a dlopen that could not be waited for, if any. */
void weft_patch_catch_up(void);

/* patch_module.c: the parts of one loaded module that are needed here. */
struct patch_module {
	struct weft_object object;
	const ElfW(Sym) * symbols;
	const char *strings;
	const ElfW(Rela) * tables[2];
	uint64_t counts[2];
	int has_rpath, has_runpath;
	const uint16_t *versions; /* for each symbol its number in needs; NULL: no versions */
	const void *needs;
};
void weft_patch_read(struct patch_module *m, const struct dl_phdr_info *info);

/* The name of the function that a slot is for; NULL: it is not for calls. */
const char *weft_patch_name(const struct patch_module *m, const ElfW(Rela) * r);

/* The version of the function that the module needs; NULL: any. */
const char *weft_patch_version(const struct patch_module *m, const ElfW(Rela) * r);

/* patch_old.c: libc's timer_create of before glibc 2.3.3, if @caller's module needs that. */
typedef int weft_timer_create_fn(clockid_t clock, struct sigevent *event, timer_t *timer);
weft_timer_create_fn *weft_patch_old_timer_create(const void *caller);
void weft_patch_old_forget(void); /* after dlclose */

/* 1; 0: its page could not be made writable. */
int weft_patch_store(const struct patch_module *m, uint64_t *slot, const void *function);

#endif
