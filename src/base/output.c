/* SPDX-License-Identifier: Apache-2.0 */
/* A file that appears whole or not at all, and its permissions: see output.h. */
#include "base/output.h"
#include "base/atomic.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define BUFFER_BYTES (64 * 1024)

struct output {
	char *path, *temporary; /* NULL: written directly */
	int fd, error, is_new;
	size_t used;
	char buffer[BUFFER_BYTES];
};

/* Temporary names of unfinished outputs; if there are more than this, not all are listed. */
static char *unfinished[8];

static void output_note(char *temporary)
{
	for (size_t i = 0; i < sizeof(unfinished) / sizeof(*unfinished); i++) {
		char *none = NULL;

		if (cas_release(&unfinished[i], &none, temporary))
			return;
	}
}

static void output_forget(char *temporary)
{
	for (size_t i = 0; temporary && i < sizeof(unfinished) / sizeof(*unfinished); i++) {
		char *it = temporary;

		cas_release(&unfinished[i], &it, NULL);
	}
}

void output_abandon_all(void)
{
	for (size_t i = 0; i < sizeof(unfinished) / sizeof(*unfinished); i++) {
		const char *temporary = load_acquire(&unfinished[i]);

		if (temporary)
			unlink(temporary);
	}
}

static int is_direct(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && !S_ISREG(st.st_mode);
}

/* A symbolic link is followed, so that the file it points to is replaced and not the link. */
static int name_files(struct output *o, const char *path)
{
	o->path = realpath(path, NULL);
	if (!o->path)
		o->path = strdup(path);
	if (!o->path || asprintf(&o->temporary, "%s.XXXXXX", o->path) < 0) {
		o->temporary = NULL;
		return -ENOMEM;
	}
	return 0;
}

/* mkostemp() gives 0600; a file that others made readable stays so, a new one obeys umask. */
static int set_mode(struct output *o)
{
	struct stat st;
	mode_t mask;

	if (stat(o->path, &st) == 0)
		return fchmod(o->fd, st.st_mode & 0777);
	mask = umask(0);
	umask(mask);
	return fchmod(o->fd, 0666 & ~mask);
}

static int open_temporary(struct output *o, const char *path)
{
	int rc = name_files(o, path);

	if (rc)
		return rc;
	o->fd = mkostemp(o->temporary, O_CLOEXEC);
	if (o->fd < 0) {
		rc = -errno;
		free(o->temporary);
		o->temporary = NULL;
		return rc;
	}
	output_note(o->temporary);
	return set_mode(o) ? -errno : 0;
}

static int open_as(struct output **out, const char *path, int is_new)
{
	struct output *o = calloc(1, sizeof(*o));
	int rc = 0;

	if (!o)
		return -ENOMEM;
	o->is_new = is_new;
	if (!path || strcmp(path, "-") == 0) {
		o->fd = STDOUT_FILENO;
	} else if (is_direct(path)) {
		o->fd = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
		rc = o->fd < 0 ? -errno : 0;
	} else {
		o->fd = -1;
		rc = open_temporary(o, path);
	}
	if (rc) {
		output_abandon(o);
		return rc;
	}
	*out = o;
	return 0;
}

int output_open(struct output **out, const char *path)
{
	return open_as(out, path, 0);
}

int output_open_new(struct output **out, const char *path)
{
	struct stat st;

	if (path && strcmp(path, "-") != 0 && lstat(path, &st) == 0)
		return -EEXIST;
	return open_as(out, path, 1);
}

const char *output_temporary(const struct output *o)
{
	return o->temporary;
}

size_t fd_write_all(int fd, const void *data, size_t bytes, int *error)
{
	size_t done = 0;

	while (done < bytes && !*error) {
		ssize_t n = write(fd, (const char *)data + done, bytes - done);

		if (n < 0 && errno != EINTR)
			*error = -errno;
		else if (n > 0)
			done += (size_t)n;
	}
	return done;
}

int output_flush(struct output *o)
{
	size_t bytes = o->used;

	o->used = 0;
	fd_write_all(o->fd, o->buffer, bytes, &o->error);
	return o->error;
}

int output_write(struct output *o, const void *data, size_t bytes)
{
	if (bytes > BUFFER_BYTES - o->used && output_flush(o))
		return o->error;
	if (bytes > BUFFER_BYTES) {
		fd_write_all(o->fd, data, bytes, &o->error);
		return o->error;
	}
	memcpy(o->buffer + o->used, data, bytes);
	o->used += bytes;
	return o->error;
}

static void output_release(struct output *o)
{
	if (o->fd > STDERR_FILENO)
		close(o->fd);
	output_forget(o->temporary);
	free(o->path);
	free(o->temporary);
	free(o);
}

/* An existing file stays: the kernel refuses to replace it; if it cannot check, link() does. */
static int rename_new(const char *from, const char *to)
{
	if (syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 1 /* RENAME_NOREPLACE */) == 0)
		return 0;
	if (errno != EINVAL && errno != ENOSYS)
		return -1;
	return link(from, to) || unlink(from) ? -1 : 0;
}

static int output_give_name(const struct output *o)
{
	return o->is_new ? rename_new(o->temporary, o->path) : rename(o->temporary, o->path);
}

int output_commit(struct output *o)
{
	int rc = output_flush(o);

	if (!rc && o->temporary && fsync(o->fd))
		rc = -errno;
	if (!rc && o->temporary) {
		int fd = o->fd;

		o->fd = -1;
		if (close(fd) || output_give_name(o))
			rc = -errno;
	}
	if (rc && o->temporary)
		unlink(o->temporary);
	output_release(o);
	return rc;
}

void output_abandon(struct output *o)
{
	if (!o)
		return;
	if (o->temporary)
		unlink(o->temporary);
	output_release(o);
}
