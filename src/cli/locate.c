/* SPDX-License-Identifier: Apache-2.0 */
/* One list of places relative to the command's own directory; the first that is there wins. */
#include "cli/locate.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LIBRARY "libweft.so"

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

static int try_path(const char *from, char *path, size_t bytes)
{
	char real[PATH_MAX];

	if (!realpath(from, real) || access(real, R_OK))
		return -errno;
	if (strlen(real) >= bytes)
		return -ENAMETOOLONG;
	memcpy(path, real, strlen(real) + 1);
	return 0;
}

static int try_place(const char *directory, const char *place, char *path, size_t bytes)
{
	char joined[PATH_MAX];
	int length = snprintf(joined, sizeof(joined), "%s/%s/" LIBRARY, directory, place);

	if (length < 0 || (size_t)length >= sizeof(joined))
		return -ENAMETOOLONG;
	return try_path(joined, path, bytes);
}

int locate_library(char *path, size_t bytes)
{
	static const char *const places[] = {
		"src/runtime",              /* build tree */
		"../" WEFT_LIBDIR_FROM_BIN, /* as installed */
		"../lib",
		"../lib/" WEFT_MULTIARCH,
		"../lib64",
	};
	const char *chosen = secure_getenv("WEFT_LIB");
	char directory[PATH_MAX];
	int err;

	if (chosen && *chosen)
		return try_path(chosen, path, bytes);
	err = locate_self(directory, sizeof(directory));
	if (err)
		return err;
	*strrchr(directory, '/') = '\0';
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
		if (!try_place(directory, places[i], path, bytes))
			return 0;
	return -ENOENT;
}
