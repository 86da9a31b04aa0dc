/* SPDX-License-Identifier: Apache-2.0 */
/*
 * weft's own companions: the library, directories, environment.
 */
#include "cli/doctor/doctor.h"

#include "base/cache_place.h"
#include "cli/frame/locate.h"
#include "collector/walk/table_cache.h"
#include "collector/walk/tables.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#ifdef __GLIBC__
#include <gnu/libc-version.h>
#endif

extern char **environ;

static void probe_library(struct finding *out)
{
	char path[PATH_MAX];
	int err = locate_library(path, sizeof(path));
	const char *chosen = getenv("WEFT_LIB");

	if (err) {
		finding_refused(out, FINDING_MISSING, chosen ? chosen : "libweft.so", -err);
		finding_choose(out, "looked beside the command, in the build tree and under its "
				    "prefix; WEFT_LIB names another place");
		return;
	}
	finding_set(out, FINDING_OK, "%s", path);
	if (chosen)
		finding_choose(out, "by WEFT_LIB");
}

static void probe_libc(struct finding *out)
{
#ifdef __GLIBC__
	finding_set(out, FINDING_INFO, "glibc %s", gnu_get_libc_version());
#else
	finding_set(out, FINDING_INFO, "no glibc");
#endif
	finding_choose(out, "this command's; libweft.so asks for no symbol version, so that a "
			    "program may have another");
}

/* ---- directories */

/* Cuts a path to the part of it that exists, in which the rest could be made. */
static void existing_part(char *path)
{
	char *slash;

	while (access(path, F_OK) && (slash = strrchr(path, '/')) && slash != path)
		*slash = '\0';
}

/* Opens the cache as a recording does, but does not make one. */
static void tell_cache(struct finding *out, const char *path, int is_there)
{
	struct table_cache cache;
	struct table_cache_size size;
	int err = table_cache_open(&cache, 0);

	if (err && err != -ENOENT) {
		finding_set(out, FINDING_LIMITED, "%s: not used: %s", path,
			    err == -EPERM || err == -ELOOP
				    ? "others can exchange it, or a directory on its way"
				    : strerror(-err));
		return;
	}
	if (!is_there) {
		finding_set(out, FINDING_OK, "%s (can be made)", path);
		return;
	}
	size = table_cache_size(&cache);
	table_cache_close(&cache);
	finding_set(out, FINDING_OK, "%s (%llu tables, %llu KiB)", path,
		    (unsigned long long)size.files, (unsigned long long)(size.bytes + 1023) / 1024);
	finding_number(out, (int64_t)size.bytes);
}

static void probe_cache(struct finding *out)
{
	char path[PATH_MAX], existing[PATH_MAX];
	struct stat st;
	int err = cache_place(path, sizeof(path));

	finding_choose(out, "unwind tables are kept there by build-id; WEFT_CACHE names another "
			    "place");
	if (err) {
		finding_set(out, FINDING_LIMITED, "no HOME, XDG_CACHE_HOME or WEFT_CACHE");
		return;
	}
	strcpy(existing, path);
	existing_part(existing);
	if (access(existing, W_OK | X_OK) || stat(existing, &st))
		finding_set(out, FINDING_LIMITED, "%s: %s", existing, strerror(errno));
	else if (!S_ISDIR(st.st_mode))
		finding_set(out, FINDING_LIMITED, "%s: %s", existing, strerror(ENOTDIR));
	else
		tell_cache(out, path, !strcmp(path, existing));
}

/* ---- unwind tables */

static void probe_tables(struct finding *out)
{
	struct tables t;
	int err = tables_open(&t, WEFT_TABLES_BYTES);

	finding_choose(out,
		       err ? "stacks are copied, and walked by weft"
			   : "programs walk their stacks themselves, by tables that weft builds");
	if (err)
		finding_set(out, FINDING_LIMITED, "no sealed memory: %s", strerror(-err));
	else if (t.bytes < WEFT_TABLES_BYTES)
		finding_set(out, FINDING_LIMITED,
			    "room for %llu of %llu MiB: by RLIMIT_FSIZE (ulimit -f) or RLIMIT_AS "
			    "(ulimit -v)",
			    (unsigned long long)(t.bytes >> 20),
			    (unsigned long long)(WEFT_TABLES_BYTES >> 20));
	else
		finding_set(out, FINDING_OK, "room for %llu MiB",
			    (unsigned long long)(t.bytes >> 20));
	tables_close(&t);
}

static void probe_environment(struct finding *out)
{
	size_t used = 0;

	finding_set(out, FINDING_INFO, "nothing set");
	for (char **entry = environ; *entry; entry++) {
		int n;

		if (strncmp(*entry, "WEFT_", 5) && strncmp(*entry, "LD_PRELOAD=", 11) &&
		    strncmp(*entry, "LD_AUDIT=", 9))
			continue;
		n = snprintf(out->value + used, sizeof(out->value) - used, "%s%s", used ? " " : "",
			     *entry);
		used += n > 0 ? (size_t)n : 0;
		if (used >= sizeof(out->value))
			break;
	}
}

const struct probe doctor_weft[] = {
	{"library", "libweft.so", NULL, 1, probe_library},
	{"hooks", "hooks", NULL, 1, doctor_hooks},
	{"priming", "priming", "signal number", 0, doctor_priming},
	{"waits", "waits", NULL, 0, doctor_waits},
	{"launch", "WEFT_RECORD", NULL, 0, doctor_launch},
	{"formats", "context formats", NULL, 0, doctor_formats},
	{"libc", "C library", NULL, 0, probe_libc},
	{"rendezvous", "rendezvous", NULL, 1, doctor_rendezvous},
	{"tables", "unwind tables", NULL, 0, probe_tables},
	{"cache", "cache directory", "bytes", 0, probe_cache},
	{"environment", "environment", NULL, 0, probe_environment},
	{NULL, NULL, NULL, 0, NULL},
};
