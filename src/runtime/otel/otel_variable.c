/* SPDX-License-Identifier: Apache-2.0 */
/* The way to otel_thread_ctx_v1: see otel_variable.h. */
#include "runtime/otel/otel_variable.h"

#ifdef WEFT_OTEL_CONTAINED

const struct weft_otel_variable_v1 *weft_otel_variable_linked(void)
{
	return &weft_otel_variable_v1;
}

const struct weft_otel_variable_v1 *weft_otel_variable_open(void)
{
	return &weft_otel_variable_v1;
}

#else

#include <dlfcn.h>
#include <string.h>
#include <sys/stat.h>

#include "runtime/core/runtime.h"
#include "runtime/core/sys.h"

#define LIBRARY "libweft-otel.so"

#pragma weak weft_otel_variable_v1

static const struct weft_otel_variable_v1 *loaded;
static WEFT_LARGE char path[4096];

static const struct weft_otel_variable_v1 *
otel_variable_known(const struct weft_otel_variable_v1 *found)
{
	return found && found->size >= sizeof(*found) &&
			       found->version == WEFT_OTEL_VARIABLE_V1_VERSION
		       ? found
		       : NULL;
}

const struct weft_otel_variable_v1 *weft_otel_variable_linked(void)
{
	return otel_variable_known(&weft_otel_variable_v1);
}

/* Notes the file of the mapping that has this library's own code, its links followed. */
static int note_own_path(void *arg, const struct weft_mapping *m)
{
	uint64_t here = (uint64_t)(uintptr_t)weft_otel_variable_open;
	size_t size = strlen(m->name) + 1;

	(void)arg;
	if (m->name[0] != '/' || here - m->low >= m->high - m->low || size > sizeof(path))
		return 0;
	memcpy(path, m->name, size);
	return 1;
}

static int otel_variable_stat(struct stat *st)
{
	return sys_call4(SYS_newfstatat, AT_FDCWD, path, st, AT_SYMLINK_NOFOLLOW) == 0 &&
	       S_ISREG(st->st_mode);
}

/* This one may lie in /tmp, where anybody can put a file beside it. */
static int otel_variable_trusts(uid_t owner)
{
	struct stat st = {0};

	return otel_variable_stat(&st) &&
	       (st.st_uid == owner || st.st_uid == 0 || st.st_uid == (uid_t)sys_call0(SYS_geteuid));
}

/*
 * The library beside this one, into @path. By the kernel's name, which is whole: the loader's may
 * be relative to a directory that the program has left.
 */
static int otel_variable_find(void)
{
	struct stat own = {0};
	char *name;

	path[0] = '\0';
	weft_maps_each("/proc/self/maps", note_own_path, NULL);
	name = strrchr(path, '/');
	if (!name || !otel_variable_stat(&own) ||
	    (size_t)(name + 1 - path) + sizeof(LIBRARY) > sizeof(path))
		return 0;
	memcpy(name + 1, LIBRARY, sizeof(LIBRARY));
	return otel_variable_trusts(own.st_uid);
}

const struct weft_otel_variable_v1 *weft_otel_variable_open(void)
{
	void *library;

	if (loaded || weft_otel_variable_linked())
		return loaded ? loaded : weft_otel_variable_linked();
	if (weft_rt_is_careful() || !otel_variable_find())
		return NULL;
	library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (library)
		loaded = otel_variable_known(dlsym(library, "weft_otel_variable_v1"));
	if (!loaded)
		(void)dlerror(); /* the program's next one is about its own calls */
	return loaded;
}

#endif
