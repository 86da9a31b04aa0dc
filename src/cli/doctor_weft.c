/* SPDX-License-Identifier: Apache-2.0 */
/*
 * weft's own companions: the library, directories, environment.
 */
#include "cli/doctor.h"

#include "cli/locate.h"

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

/* Cut a path back to what exists of it; what is behind could be made there. */
static void existing_part(char *path)
{
	char *slash;

	while (access(path, F_OK) && (slash = strrchr(path, '/')) && slash != path)
		*slash = '\0';
}

static void probe_cache(struct finding *out)
{
	char path[PATH_MAX], existing[PATH_MAX];
	struct stat st;
	int err = locate_cache(path, sizeof(path));

	finding_choose(out, "unwind tables may be kept there by build-id; WEFT_CACHE names "
			    "another place");
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
		finding_set(out, FINDING_OK, "%s%s", path,
			    strcmp(path, existing) ? " (can be made)" : "");
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
	{"libc", "C library", NULL, 0, probe_libc},
	{"rendezvous", "rendezvous", NULL, 1, doctor_rendezvous},
	{"cache", "cache directory", NULL, 0, probe_cache},
	{"environment", "environment", NULL, 0, probe_environment},
	{NULL, NULL, NULL, 0, NULL},
};
