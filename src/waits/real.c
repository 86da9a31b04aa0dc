/* SPDX-License-Identifier: Apache-2.0 */
/* The lookup of the next functions: see real.h. */
#include "waits/real.h"

#include <dlfcn.h>
#include <stdint.h>

#include "base/atomic.h"
#include "base/thread_pointer.h"

#define DEPTH_MAX 8

struct weft_waits_real weft_waits_real_table;

/* The thread that is doing a look-up, and how deeply nested. Another thread that comes meanwhile is
 * in no handler and no malloc of that look-up, and needs neither. */
static uint64_t finder; /* its thread pointer; 0 = nobody */
static int depth;       /* the finder's */

static int are_of_one_file(const void *a, const void *b)
{
	Dl_info of_a, of_b;

	return dladdr(a, &of_a) && dladdr(b, &of_b) && of_a.dli_fbase == of_b.dli_fbase;
}

/*
 * On x86-64 glibc has two versions of conditions; programs of the last twenty years use the newer.
 * An interposer before glibc (a sanitizer) has one without a version, and must not be bypassed.
 */
static void *newer_condition(const char *name, void *found)
{
	typedef void *by_version(void *, const char *, const char *);
	by_version *look_up;
	void *newer;

	if (name[0] != 'p' || name[8] != 'c' || name[9] != 'o') /* pthread_cond_ */
		return found;
	*(void **)(void *)&look_up = dlsym(RTLD_DEFAULT, "dlvsym");
	newer = look_up ? look_up(RTLD_NEXT, name, "GLIBC_2.3.2") : NULL;
	return newer && are_of_one_file(newer, found) ? newer : found;
}

static void *waits_real_look_up(const char *name, const char *also)
{
	void *found = dlsym(RTLD_NEXT, name);

	if (found)
		return newer_condition(name, found);
	return also ? dlsym(RTLD_NEXT, also) : NULL;
}

int weft_waits_find(const char *name, const char *also, void **place)
{
	uint64_t self = (uint64_t)(uintptr_t)weft_thread_pointer(), before = 0;
	int is_mine = cas_relaxed(&finder, &before, self) || before == self;
	void *found;

	if (is_mine && depth == DEPTH_MAX)
		return 0;
	depth += is_mine;
	found = waits_real_look_up(name, also);
	depth -= is_mine;
	if (is_mine && !depth)
		store_relaxed(&finder, 0);
	if (found)
		store_release(place, found);
	return found != NULL;
}

void weft_waits_resolve(void)
{
#define FIND(name, also, type, parameters)                                                         \
	(void)weft_waits_find(#name, also, (void **)(void *)&weft_waits_real_table.name);
	WEFT_WAITS_REAL(FIND)
#undef FIND
	(void)dlerror(); /* the program must not see that a libc lacks a function */
}
