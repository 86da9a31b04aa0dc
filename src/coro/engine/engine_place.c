/* SPDX-License-Identifier: Apache-2.0 */
#include "coro/engine/engine_place.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int make_directory(struct engine_place *p)
{
	const char *above = getenv("XDG_RUNTIME_DIR");

	if (!above || above[0] != '/' || strlen(above) > 60 || access(above, W_OK | X_OK))
		above = "/tmp";
	snprintf(p->directory, sizeof(p->directory), "%s/weft-coro-XXXXXX", above);
	if (mkdtemp(p->directory))
		return 0;
	p->directory[0] = 0;
	return -errno;
}

/* As the target will find it, wherever it goes. */
static int engine_place_set_path(char out[PATH_MAX], const char *given, const char *directory,
				 const char *name)
{
	char here[PATH_MAX];
	int n;

	if (!given)
		n = snprintf(out, PATH_MAX, "%.4000s/%s", directory, name);
	else if (given[0] == '/')
		n = snprintf(out, PATH_MAX, "%s", given);
	else if (!getcwd(here, sizeof(here)))
		return -errno;
	else
		n = snprintf(out, PATH_MAX, "%.2000s/%s", here, given);
	return n < 0 || n >= PATH_MAX ? -ENAMETOOLONG : 0;
}

int place_open(struct engine_place *p, const struct coro_engine_options *o, const char **what)
{
	int rc = 0;

	*what = "a private directory";
	if (!o->shm_path || (!o->sock_path && !o->attach))
		rc = make_directory(p);
	if (rc)
		return rc;
	*what = o->shm_path ? o->shm_path : p->directory;
	rc = engine_place_set_path(p->shm, o->shm_path, p->directory, "stations");
	if (rc || (o->attach && !o->sock_path))
		return rc;
	*what = o->sock_path ? o->sock_path : p->directory;
	return engine_place_set_path(p->sock, o->sock_path, p->directory, "socket");
}

void place_close(struct engine_place *p, int keep)
{
	if (p->owns_shm && !keep)
		unlink(p->shm);
	if (p->directory[0])
		rmdir(p->directory); /* not while something is kept in it */
}

void place_remove_private(const char *path)
{
	const char *end = strrchr(path, '/'), *name = end;
	char directory[PATH_MAX];

	if (!end || end == path || end - path >= PATH_MAX)
		return;
	while (name > path && name[-1] != '/')
		name--;
	if (strncmp(name, "weft-coro-", strlen("weft-coro-")) != 0)
		return;
	memcpy(directory, path, (size_t)(end - path));
	directory[end - path] = 0;
	rmdir(directory); /* not while something is in it */
}
