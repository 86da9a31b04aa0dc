/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hooks of an object that was loaded after libc: nobody's call would reach them by its name, so
 * the callers' tables are patched. Not in a handler.
 */
#ifndef WEFT_RUNTIME_PATCH_H
#define WEFT_RUNTIME_PATCH_H

#include <link.h>
#include <signal.h>
#include <stdint.h>
#include <time.h>

/* In the constructor, when libc was there first: all that is loaded. */
void weft_patch_open(void);

/* What has been loaded since a dlopen that could not be waited for, if there was one. */
void weft_patch_catch_up(void);

/* patch_module.c: the parts of one loaded module that matter here. */
struct patch_module {
	uint64_t base, low, high; /* [low, high): where it is mapped */
	uint64_t relro_low, relro_high;
	const ElfW(Sym) * symbols;
	const char *strings;
	const ElfW(Rela) * tables[2];
	uint64_t counts[2];
	int has_rpath, has_runpath;
	const uint16_t *versions; /* of each symbol: its number in needs; NULL: none have any */
	const void *needs;
};
void weft_patch_read(struct patch_module *m, const struct dl_phdr_info *info);

/* The name that a slot is to be filled for; NULL: not one that calls go through. */
const char *weft_patch_name(const struct patch_module *m, const ElfW(Rela) * r);

/* The version of it that is asked for; NULL: any. */
const char *weft_patch_version(const struct patch_module *m, const ElfW(Rela) * r);

/* patch_old.c: libc's of before glibc 2.3.3, if that is the one that @caller's module means. */
typedef int weft_timer_create_fn(clockid_t clock, struct sigevent *event, timer_t *timer);
weft_timer_create_fn *weft_patch_old_timer_create(const void *caller);
void weft_patch_old_forget(void); /* after dlclose */

/* 1, or 0 where its page could not be written. */
int weft_patch_store(const struct patch_module *m, uint64_t *slot, const void *function);

#endif
