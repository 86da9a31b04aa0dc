/* SPDX-License-Identifier: Apache-2.0 */
/*
 * glibc's x86-64 has two functions timer_create: before 2.3.3 a timer_t was an int, and modules
 * linked with that version still get it. One hook, which has no version, stands for both: so it
 * finds out which one the calling module needs. The answer is cached for the last caller, until a
 * module is unloaded, in whose place another may be loaded.
 */
#include "runtime/hooks/patch.h"

#include <dlfcn.h>
#include <string.h>

#include "base/atomic.h"

#define OLD_VERSION "GLIBC_2.2.5"

#ifdef __x86_64__

struct question {
	uint64_t address; /* of the caller */
	int is_old;
};

static uint64_t known_new; /* last caller that needs the new function */

static int asks_for_old(const struct patch_module *m)
{
	for (int i = 0; i < 2; i++) {
		const ElfW(Rela) *r = m->tables[i];

		for (uint64_t left = m->counts[i]; left; left--, r++) {
			const char *name = weft_patch_name(m, r), *version;

			if (!name || strcmp(name, "timer_create") != 0)
				continue;
			version = weft_patch_version(m, r);
			return version && !strcmp(version, OLD_VERSION);
		}
	}
	return 0;
}

static int patch_old_look(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct question *q = arg;
	struct patch_module m;

	(void)size;
	weft_patch_read(&m, info);
	if (q->address < m.object.low || q->address >= m.object.high)
		return 0;
	q->is_old = asks_for_old(&m);
	return 1;
}

/* musl has no such function. */
static void *old_one(void)
{
	void *(*look_up)(void *, const char *, const char *);
	void *found;

	*(void **)(void *)&look_up = dlsym(RTLD_DEFAULT, "dlvsym");
	found = look_up ? look_up(RTLD_NEXT, "timer_create", OLD_VERSION) : NULL;
	dlerror();
	return found;
}

void weft_patch_old_forget(void)
{
	store_relaxed(&known_new, 0);
}

weft_timer_create_fn *weft_patch_old_timer_create(const void *caller)
{
	struct question q = {.address = (uint64_t)(uintptr_t)caller};
	weft_timer_create_fn *old = NULL;

	if (load_relaxed(&known_new) == q.address)
		return NULL;
	dl_iterate_phdr(patch_old_look, &q);
	if (q.is_old)
		*(void **)(void *)&old = old_one();
	if (!old)
		store_relaxed(&known_new, q.address);
	return old;
}

#else

void weft_patch_old_forget(void)
{
}

weft_timer_create_fn *weft_patch_old_timer_create(const void *caller)
{
	(void)caller;
	return NULL;
}

#endif
