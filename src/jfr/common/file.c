/* SPDX-License-Identifier: Apache-2.0 */
/* Short writes and EINTR are continued; after any other failure the file is cut back. */
#include "jfr/common/file.h"

#include "base/output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static int file_begin(struct file *f, int fd)
{
	struct stat st;
	off_t at = lseek(fd, 0, SEEK_CUR);

	*f = (struct file){.fd = fd};
	if (fstat(fd, &st) != 0)
		return -errno;
	/* one that is appended to cannot be written in the middle */
	f->regular = S_ISREG(st.st_mode) && at >= 0 && !(fcntl(fd, F_GETFL) & O_APPEND);
	f->bytes = f->regular ? (uint64_t)at : 0;
	return 0;
}

int file_create(struct file *f, const char *path)
{
	int fd = output_grow(path, OUTPUT_REPLACE), rc;

	if (fd < 0)
		return fd;
	rc = file_begin(f, fd);
	if (rc)
		close(fd);
	f->locked = rc == 0 && !output_is_descriptor(path);
	return rc;
}

int file_from(struct file *f, int fd)
{
	int own = fcntl(fd, F_DUPFD_CLOEXEC, 0), rc;

	if (own < 0)
		return -errno;
	rc = file_begin(f, own);
	if (rc)
		close(own);
	return rc;
}

int file_write_all(int fd, struct iovec *part, int count, uint64_t *written)
{
	while (count) {
		ssize_t n = writev(fd, part, count);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0 && part->iov_len)
			return -EIO;
		*written += (uint64_t)n;
		for (; count && (size_t)n >= part->iov_len; count--, part++)
			n -= (ssize_t)part->iov_len;
		if (count) {
			part->iov_base = (char *)part->iov_base + n;
			part->iov_len -= (size_t)n;
		}
	}
	return 0;
}

static int file_cut(struct file *f)
{
	if (!f->regular)
		return -EPIPE;
	if (ftruncate(f->fd, (off_t)f->bytes) != 0)
		return -errno;
	return lseek(f->fd, (off_t)f->bytes, SEEK_SET) < 0 ? -errno : 0;
}

int file_append(struct file *f, struct iovec *parts, int count)
{
	uint64_t written = 0;
	int rc;

	if (f->broken)
		return f->broken;
	rc = file_write_all(f->fd, parts, count, &written);
	if (rc == 0)
		f->bytes += written;
	else if (written && file_cut(f) != 0)
		f->broken = rc;
	return rc;
}

int file_close(struct file *f)
{
	int rc = 0;

	if (f->regular && fsync(f->fd) != 0)
		rc = -errno;
	if (f->locked)
		output_unlock(f->fd);
	if (close(f->fd) != 0 && rc == 0)
		rc = -errno;
	f->fd = -1;
	free(f->path);
	f->path = NULL;
	return rc;
}
