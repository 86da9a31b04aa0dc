/* SPDX-License-Identifier: Apache-2.0 */
/* The place of caches: see cache_place.h. */
#include "base/cache_place.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int cache_place(char *path, size_t bytes)
{
	const char *chosen = secure_getenv("WEFT_CACHE");
	const char *xdg = secure_getenv("XDG_CACHE_HOME");
	const char *home = secure_getenv("HOME");
	int n = -1;

	if (chosen && *chosen)
		n = snprintf(path, bytes, "%s", chosen);
	else if (xdg && *xdg == '/')
		n = snprintf(path, bytes, "%s/weft", xdg);
	else if (home && *home == '/')
		n = snprintf(path, bytes, "%s/.cache/weft", home);
	if (n < 0)
		return -ENOENT;
	return (size_t)n < bytes ? 0 : -ENAMETOOLONG;
}

int cache_make(char *path)
{
	for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		int rc;

		*slash = '\0';
		rc = mkdir(path, 0700) && errno != EEXIST ? -errno : 0;
		*slash = '/';
		if (rc)
			return rc;
	}
	return mkdir(path, 0700) && errno != EEXIST ? -errno : 0;
}

/* Does the directory at @path, or the nearest existing one above, belong to us or to everybody? */
static int may_make(const char *path)
{
	char above[PATH_MAX];
	struct stat st;
	char *slash;

	snprintf(above, sizeof(above), "%s", path);
	while (stat(above, &st) && (slash = strrchr(above, '/')) && slash != above)
		*slash = '\0';
	return stat(above, &st) == 0 && (st.st_uid == geteuid() || st.st_mode & S_ISVTX);
}

static int cache_place_open_own(int directory_fd, const char *path, int flags, mode_t refused)
{
	int fd = openat(directory_fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | flags);
	struct stat st;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) == 0 && st.st_uid == geteuid() && !(st.st_mode & refused))
		return fd;
	close(fd);
	return -EPERM;
}

int cache_open(const char *name, int make)
{
	char path[PATH_MAX];
	int parent, fd, rc = cache_place(path, sizeof(path));

	if (rc)
		return rc;
	if (path[0] != '/' || !may_make(path))
		return -EPERM;
	rc = make ? cache_make(path) : 0;
	if (rc)
		return rc;
	parent = cache_place_open_own(AT_FDCWD, path, 0, S_IWGRP | S_IWOTH);
	if (parent < 0)
		return parent;
	fd = make && mkdirat(parent, name, 0700) && errno != EEXIST
		     ? -errno
		     : cache_place_open_own(parent, name, O_NOFOLLOW, S_IRWXG | S_IRWXO);
	close(parent);
	return fd;
}
