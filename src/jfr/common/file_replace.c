/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A file gives its name to its successor. The successor has no name while it is written
 * (O_TMPFILE), where the file system can do that: a kill leaves nothing behind, but for the moment
 * between link and rename. Its bytes are on the disk before the file that has them, too, is gone.
 */
#include "jfr/common/file.h"

#include "base/output.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#define COPY_AT_ONCE ((size_t)1 << 30)

/* The directory of @path, which is absolute. */
static int directory_of(const char *path, char out[PATH_MAX])
{
	const char *slash = strrchr(path, '/');
	size_t bytes = slash ? (size_t)(slash - path) : 0;

	if (!slash || bytes >= PATH_MAX)
		return -ENAMETOOLONG;
	memcpy(out, path, bytes ? bytes : 1);
	out[bytes ? bytes : 1] = 0;
	return 0;
}

int file_make_replaceable(struct file *f, const char *path)
{
	char directory[PATH_MAX];
	int rc;

	if (!f->regular || !f->locked) /* it has no name that was given to it */
		return -ESPIPE;
	f->path = realpath(path, NULL);
	if (!f->path)
		return -errno;
	rc = directory_of(f->path, directory);
	if (rc == 0 && access(directory, W_OK | X_OK) != 0)
		rc = -errno;
	return rc;
}

/* Opens a file beside @path: without a name (*named = 0), or with the name @temporary. */
static int open_successor(const char *path, char temporary[PATH_MAX], int *named)
{
	char directory[PATH_MAX];
	const char *name = strrchr(path, '/');
	int rc = directory_of(path, directory), fd, n;

	if (rc)
		return rc;
	n = snprintf(temporary, PATH_MAX, "%s/.%s.%d.new", directory[1] ? directory : "", name + 1,
		     (int)getpid());
	if (n < 0 || n >= PATH_MAX)
		return -ENAMETOOLONG;
	if (unlink(temporary) != 0 && errno != ENOENT) /* left by a killed process with our pid */
		return -errno;
	*named = 0;
	fd = open(directory, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
	if (fd >= 0)
		return fd;
	*named = 1;
	fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	return fd < 0 ? -errno : fd;
}

static int file_replace_copy(int from_fd, uint64_t from, int to_fd, uint64_t bytes)
{
	off_t at = (off_t)from;
	int can_share = 1; /* not all file systems can do that; sendfile() copies on any */

	while (bytes) {
		size_t want = bytes < COPY_AT_ONCE ? (size_t)bytes : COPY_AT_ONCE;
		ssize_t n = can_share ? copy_file_range(from_fd, &at, to_fd, NULL, want, 0)
				      : sendfile(to_fd, from_fd, &at, want);
		int is_full = n < 0 && (errno == ENOSPC || errno == EDQUOT || errno == EIO);

		if (n > 0)
			bytes -= (uint64_t)n;
		else if (can_share && !is_full && !(n < 0 && errno == EINTR))
			can_share = 0;
		else if (n == 0 || errno != EINTR)
			return n < 0 ? -errno : -EIO;
	}
	return 0;
}

/* Has our file the name, or no file? */
static int name_is_ours(const struct file *f)
{
	struct stat ours, there;

	if (fstat(f->fd, &ours) != 0)
		return 0;
	if (lstat(f->path, &there) != 0)
		return errno == ENOENT;
	return ours.st_dev == there.st_dev && ours.st_ino == there.st_ino;
}

static int file_replace_give_name(const struct file *f, int fd, const char *temporary, int *named)
{
	char proc[32];

	if (!name_is_ours(f))
		return -ESTALE;
	snprintf(proc, sizeof(proc), "/proc/self/fd/%d", fd);
	if (!*named && linkat(AT_FDCWD, proc, AT_FDCWD, temporary, AT_SYMLINK_FOLLOW) != 0)
		return -errno;
	*named = 1;
	return rename(temporary, f->path) != 0 ? -errno : 0;
}

/* Opens the file anew for reading: it is open for writing alone. */
static int copy_tail(const struct file *f, uint64_t from, int to_fd)
{
	char proc[32];
	int fd, rc;

	if (from == f->bytes)
		return 0;
	/* so that a full disk is found out before the copying; not all file systems can */
	if (fallocate(to_fd, FALLOC_FL_KEEP_SIZE, 0, (off_t)(f->bytes - from)) != 0 &&
	    (errno == ENOSPC || errno == EDQUOT))
		return -errno;
	snprintf(proc, sizeof(proc), "/proc/self/fd/%d", f->fd);
	fd = open(proc, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	rc = file_replace_copy(fd, from, to_fd, f->bytes - from);
	close(fd);
	return rc;
}

int file_replace(struct file *f, uint64_t from, struct iovec *parts, int count)
{
	char temporary[PATH_MAX];
	uint64_t written = 0;
	int named = 0, rc, fd = open_successor(f->path, temporary, &named);

	if (fd < 0)
		return fd;
	rc = copy_tail(f, from, fd);
	if (rc == 0)
		rc = file_write_all(fd, parts, count, &written);
	if (rc == 0 && (fchmod(fd, 0600) != 0 || fdatasync(fd) != 0))
		rc = -errno;
	output_lock(fd); /* as the file is that has the name until now */
	if (rc == 0)
		rc = file_replace_give_name(f, fd, temporary, &named);
	if (rc) {
		if (named)
			unlink(temporary);
		close(fd);
		return rc;
	}
	close(f->fd);
	f->fd = fd;
	f->bytes += written - from;
	f->broken = 0;
	return 0;
}
