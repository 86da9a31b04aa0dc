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

#define PRIVATE_NAMES 10

/* ---- its name */

/* What may be a link, in @base, and what follows. */
static const char *place_of(const char **base)
{
	const char *chosen = secure_getenv("WEFT_CACHE");
	const char *xdg = secure_getenv("XDG_CACHE_HOME");
	const char *home = secure_getenv("HOME");

	*base = chosen;
	if (chosen && *chosen)
		return "";
	*base = xdg;
	if (xdg && *xdg == '/')
		return "/weft";
	*base = home;
	return home && *home == '/' ? "/.cache/weft" : NULL;
}

static int name_is_whole(int n, size_t bytes)
{
	return n >= 0 && (size_t)n < bytes ? 0 : -ENAMETOOLONG;
}

int cache_place(char *path, size_t bytes)
{
	const char *base, *below = place_of(&base);

	return below ? name_is_whole(snprintf(path, bytes, "%s%s", base, below), bytes) : -ENOENT;
}

/* ---- the way to it */

/*
 * Whoever has the root directory can do everything. In a user namespace that may be a number that
 * stands for all users without one there.
 */
static int owner_is_trusted(uid_t owner)
{
	struct stat root;

	return owner == geteuid() || owner == 0 || (!stat("/", &root) && owner == root.st_uid);
}

static int only_we_exchange(const struct stat *st)
{
	int others_write = (st->st_mode & (S_IWGRP | S_IWOTH)) && !(st->st_mode & S_ISVTX);

	return owner_is_trusted(st->st_uid) && (S_ISLNK(st->st_mode) || !others_write);
}

enum links { LINKS_NONE, LINKS_TOO };

static int check_way(const char *path, int make, enum links links);

/* A link leads on by a way of its own, which must be there: nothing is made at its end. */
static int check_link(const char *path, enum links links)
{
	char real[PATH_MAX];

	if (links == LINKS_NONE)
		return -ELOOP;
	return realpath(path, real) ? check_way(real, 0, LINKS_NONE) : -errno;
}

static int check_step(const char *path, int make, enum links links)
{
	struct stat st;
	int rc = lstat(path, &st) ? -errno : 0;

	if (rc == -ENOENT && make)
		rc = (mkdir(path, 0700) && errno != EEXIST) || lstat(path, &st) ? -errno : 0;
	if (rc)
		return rc;
	if (!only_we_exchange(&st))
		return -EPERM;
	return S_ISLNK(st.st_mode) ? check_link(path, links) : 0;
}

/*
 * From the root on down, so that each step is looked at when those before it stand fast. A missing
 * one is made, with @make, only where all before it were found good.
 */
static int check_way(const char *path, int make, enum links links)
{
	const char *at = path;
	char step[PATH_MAX];
	int rc = check_step("/", 0, LINKS_NONE);

	if (path[0] != '/' || strlen(path) >= sizeof(step))
		return -EPERM;
	while (rc == 0 && *at) {
		at = strchrnul(at + 1, '/');
		memcpy(step, path, (size_t)(at - path));
		step[at - path] = '\0';
		rc = check_step(step, make, links);
	}
	return rc;
}

static int open_ours(int directory_fd, const char *path, mode_t refused)
{
	int fd = openat(directory_fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	struct stat st;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) == 0 && st.st_uid == geteuid() && !(st.st_mode & refused))
		return fd;
	close(fd);
	return -EPERM;
}

/* ---- directories */

/* The name without links of what may be one; @below begins with its last step that may, "/.cache".
 */
static int find_base(char *path, const char **below, int make)
{
	const char *base;
	char named[PATH_MAX];
	size_t bytes;
	int rc;

	*below = place_of(&base);
	if (!*below)
		return -ENOENT;
	bytes = strcmp(*below, "/.cache/weft") ? 0 : strlen("/.cache");
	rc = name_is_whole(snprintf(named, sizeof(named), "%s%.*s", base, (int)bytes, *below),
			   sizeof(named));
	*below += bytes;
	if (rc == 0)
		rc = check_way(named, make, LINKS_TOO);
	return rc == 0 && !realpath(named, path) ? -errno : rc;
}

int cache_directory(char *path, int make)
{
	const char *below;
	int rc = find_base(path, &below, make);

	if (rc == 0 && strlen(path) + strlen(below) >= PATH_MAX)
		rc = -ENAMETOOLONG;
	if (rc)
		return rc;
	strcat(path, below);
	rc = check_way(path, make, LINKS_NONE);
	return rc ? rc : open_ours(AT_FDCWD, path, S_IWGRP | S_IWOTH);
}

int cache_private(char *path)
{
	unsigned int user = (unsigned int)geteuid();
	int fd = -EPERM;

	for (int i = 0; fd < 0 && i < PRIVATE_NAMES; i++) {
		if (i == 0)
			snprintf(path, PATH_MAX, "/tmp/weft-cache-%u", user);
		else
			snprintf(path, PATH_MAX, "/tmp/weft-cache-%u-%d", user, i);
		fd = check_way(path, 1, LINKS_TOO);
		if (fd == 0)
			fd = open_ours(AT_FDCWD, path, S_IRWXG | S_IRWXO);
	}
	return fd;
}

int cache_open(const char *name, int make)
{
	char path[PATH_MAX];
	int parent = cache_directory(path, make), fd;

	if (parent < 0)
		return parent;
	fd = make && mkdirat(parent, name, 0700) && errno != EEXIST
		     ? -errno
		     : open_ours(parent, name, S_IRWXG | S_IRWXO);
	close(parent);
	return fd;
}
