/* SPDX-License-Identifier: Apache-2.0 */
/* Companions are searched in places relative to the command's own directory; the first one that is
 * there is taken. */
#include "cli/frame/locate.h"

#include "base/cache_place.h"
#include "base/hash.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LIBRARY "libweft.so"
#define WAITS "libweft-waits.so"

int locate_self(char *path, size_t bytes)
{
	ssize_t length = readlink("/proc/self/exe", path, bytes);

	if (length < 0)
		return -errno;
	if ((size_t)length >= bytes)
		return -ENAMETOOLONG;
	path[length] = '\0';
	return 0;
}

static int locate_try_path(const char *from, char *path, size_t bytes)
{
	char real[PATH_MAX];

	if (!realpath(from, real) || access(real, R_OK))
		return -errno;
	if (strlen(real) >= bytes)
		return -ENAMETOOLONG;
	memcpy(path, real, strlen(real) + 1);
	return 0;
}

static int try_place(const char *directory, const char *place, const char *name, char *path,
		     size_t bytes)
{
	char joined[PATH_MAX];
	int length = snprintf(joined, sizeof(joined), "%s/%s/%s", directory, place, name);

	if (length < 0 || (size_t)length >= sizeof(joined))
		return -ENAMETOOLONG;
	return locate_try_path(joined, path, bytes);
}

/* The first of the places, from the command's own directory, that has @name. */
static int locate_search(const char *const *places, const char *name, char *path, size_t bytes)
{
	char directory[PATH_MAX];
	int err = locate_self(directory, sizeof(directory));

	if (err)
		return err;
	*strrchr(directory, '/') = '\0';
	for (; *places; places++)
		if (!try_place(directory, *places, name, path, bytes))
			return 0;
	return -ENOENT;
}

int locate_library(char *path, size_t bytes)
{
	static const char *const places[] = {
		"src/runtime",              /* build tree */
		"../" WEFT_LIBDIR_FROM_BIN, /* as installed */
		"../lib",
		"../lib/" WEFT_MULTIARCH,
		"../lib64",
		NULL,
	};
	const char *chosen = secure_getenv("WEFT_LIB");

	if (chosen && *chosen)
		return locate_try_path(chosen, path, bytes);
	return locate_search(places, LIBRARY, path, bytes);
}

int locate_profiles(char *path, size_t bytes)
{
	static const char *const places[] = {
		"share",                             /* build tree */
		"../" WEFT_DATADIR_FROM_BIN "/weft", /* as installed */
		"../share/weft",
		NULL,
	};
	int err = locate_search(places, "default.jfc", path, bytes);

	if (!err)
		*strrchr(path, '/') = '\0';
	return err;
}

/* ---- what LD_PRELOAD can name */

static int is_preloadable(const char *path)
{
	return !strpbrk(path, " \t\n:");
}

/* The link is renamed into its place, for others may start programs through it at the same time. */
static int make_link(int directory, const char *from, const char *name)
{
	char fresh[64];
	int rc;

	snprintf(fresh, sizeof(fresh), ".link-%d", (int)getpid());
	unlinkat(directory, fresh, 0);
	if (symlinkat(from, directory, fresh))
		return -errno;
	if (!renameat(directory, fresh, directory, name))
		return 0;
	rc = -errno;
	unlinkat(directory, fresh, 0);
	return rc;
}

/* Is @path, as the loader will find it, a link of ours to the very file @library? */
static int is_our_link(const char *path, const char *library)
{
	struct stat link, target, wanted;

	return !lstat(path, &link) && S_ISLNK(link.st_mode) && link.st_uid == geteuid() &&
	       !stat(path, &target) && !stat(library, &wanted) && target.st_dev == wanted.st_dev &&
	       target.st_ino == wanted.st_ino;
}

/* In the directory @fd, whose name @path has; there *path becomes the link's. @fd is closed. */
static int link_in(int fd, const char *library, char *path, size_t bytes)
{
	char directory[PATH_MAX], name[64];
	int n, rc = 0;

	if (fd < 0)
		return fd;
	snprintf(directory, sizeof(directory), "%s", path);
	snprintf(name, sizeof(name), "preload-%016llx.so",
		 (unsigned long long)hash_bytes(library, strlen(library), 0));
	n = snprintf(path, bytes, "%s/%s", directory, name);
	if (n < 0 || (size_t)n >= bytes || !is_preloadable(path))
		rc = -EILSEQ;
	else if (!is_our_link(path, library))
		rc = make_link(fd, library, name);
	close(fd);
	return rc || is_our_link(path, library) ? rc : -EPERM;
}

/* Makes @path a link to it if the loader would split the path itself. */
static int make_preloadable(char *path, size_t bytes)
{
	char library[PATH_MAX], made[PATH_MAX];
	int rc;

	if (is_preloadable(path))
		return 0;
	snprintf(library, sizeof(library), "%s", path);
	rc = link_in(cache_directory(made, 1), library, made, sizeof(made));
	if (rc)
		rc = link_in(cache_private(made), library, made, sizeof(made));
	if (rc)
		return rc == -EPERM || rc == -ELOOP ? -EILSEQ : rc;
	if (strlen(made) >= bytes)
		return -ENAMETOOLONG;
	strcpy(path, made);
	return 0;
}

int locate_preload(char *path, size_t bytes)
{
	int rc = locate_library(path, bytes);

	return rc ? rc : make_preloadable(path, bytes);
}

int locate_waits_preload(char *path, size_t bytes)
{
	char directory[PATH_MAX];
	int rc = locate_library(directory, sizeof(directory));

	if (rc)
		return rc;
	*strrchr(directory, '/') = '\0';
	rc = try_place(directory, ".", WAITS, path, bytes);
	if (rc)
		rc = try_place(directory, "../waits", WAITS, path, bytes);
	return rc ? rc : make_preloadable(path, bytes);
}
