/* SPDX-License-Identifier: Apache-2.0 */
#include "coro/engine/progress.h"

#include "base/atomic.h"
#include "coro/engine/harvest.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static void name_file(struct progress *p, const char *shm_path)
{
	snprintf(p->path, sizeof(p->path), "%s.progress", shm_path);
}

static int progress_map(struct progress *p, int fd, uint32_t stations)
{
	void *at;

	p->bytes = PROGRESS_HEAD_BYTES + (uint64_t)stations * CORO_CURSOR_BYTES;
	at = mmap(NULL, p->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (at == MAP_FAILED)
		return -errno;
	p->head = at;
	p->cursors = (uint8_t *)at + PROGRESS_HEAD_BYTES;
	return 0;
}

int progress_create(struct progress *p, const char *shm_path, const struct coro_shm *shm)
{
	int fd, rc = 0;

	memset(p, 0, sizeof(*p));
	name_file(p, shm_path);
	fd = open(p->path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	if (ftruncate(fd, (off_t)(PROGRESS_HEAD_BYTES + (uint64_t)shm->count * CORO_CURSOR_BYTES)))
		rc = -errno;
	else
		rc = -posix_fallocate(fd, 0, PROGRESS_HEAD_BYTES); /* not told by a signal later */
	if (rc == -EOPNOTSUPP || rc == -EINVAL)
		rc = 0;
	if (!rc)
		rc = progress_map(p, fd, shm->count);
	close(fd);
	if (rc) {
		unlink(p->path);
		return rc;
	}
	p->head->device = shm->device;
	p->head->inode = shm->inode;
	p->head->stations = shm->count;
	store_release(&p->head->magic, PROGRESS_MAGIC);
	return 0;
}

static int progress_check(int fd, const struct coro_shm *shm)
{
	struct progress_head head;
	struct stat st;

	if (fstat(fd, &st) || !S_ISREG(st.st_mode) ||
	    (uint64_t)st.st_size < PROGRESS_HEAD_BYTES + (uint64_t)shm->count * CORO_CURSOR_BYTES ||
	    pread(fd, &head, sizeof(head), 0) != (ssize_t)sizeof(head) ||
	    head.magic != PROGRESS_MAGIC || head.inode != shm->inode ||
	    head.device != shm->device || head.stations < shm->count)
		return -EBADMSG;
	return 0;
}

int progress_open(struct progress *p, const char *shm_path, const struct coro_shm *shm)
{
	int fd, rc;

	memset(p, 0, sizeof(*p));
	name_file(p, shm_path);
	fd = open(p->path, O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return -errno;
	rc = progress_check(fd, shm);
	if (!rc)
		rc = progress_map(p, fd, shm->count);
	close(fd);
	return rc;
}

void progress_output(struct progress *p, const char *path)
{
	struct progress_head *h = p->head;
	struct stat st;
	char whole[PATH_MAX];

	h->output[0] = 0;
	if (!path || stat(path, &st) || !S_ISREG(st.st_mode) || !realpath(path, whole))
		return;
	h->output_device = st.st_dev;
	h->output_inode = st.st_ino;
	h->output_bytes = (uint64_t)st.st_size;
	snprintf(h->output, sizeof(h->output), "%s", whole);
}

void progress_tell(struct progress *p, uint64_t delivered)
{
	struct stat st;

	if (p->head->output[0] && stat(p->head->output, &st) == 0)
		p->head->output_bytes = (uint64_t)st.st_size;
	store_release(&p->head->delivered, delivered);
}

int progress_is_output(const struct progress *p, const char *path)
{
	struct stat st;

	return path && p->head->output[0] && stat(path, &st) == 0 && S_ISREG(st.st_mode) &&
	       st.st_dev == p->head->output_device && st.st_ino == p->head->output_inode;
}

/* Whole lines behind @from; where the last one ends in *end. */
static uint64_t count_lines(int fd, uint64_t from, uint64_t *end)
{
	char data[65536];
	uint64_t lines = 0, at = from;
	ssize_t n;

	*end = from;
	while ((n = pread(fd, data, sizeof(data), (off_t)at)) > 0) {
		for (ssize_t i = 0; i < n; i++)
			if (data[i] == '\n') {
				lines++;
				*end = at + (uint64_t)i + 1;
			}
		at += (uint64_t)n;
	}
	return lines;
}

void progress_recover(struct progress *p)
{
	struct progress_head *h = p->head;
	uint64_t lines, end;
	struct stat st;
	int fd;

	h->output[sizeof(h->output) - 1] = 0;
	if (!progress_is_output(p, h->output))
		return;
	fd = open(h->output, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return;
	if (fstat(fd, &st) == 0 && (uint64_t)st.st_size > h->output_bytes) {
		lines = count_lines(fd, h->output_bytes, &end);
		if (end < (uint64_t)st.st_size && ftruncate(fd, (off_t)end) == 0)
			st.st_size = (off_t)end;
		h->delivered += lines;
		h->output_bytes = end;
	}
	close(fd);
}

void progress_close(struct progress *p, int remove)
{
	if (p->head)
		munmap(p->head, p->bytes);
	if (p->head && remove)
		unlink(p->path);
	p->head = NULL;
}

void progress_remove_left_over(const char *shm_path)
{
	struct progress p = {0};
	uint64_t magic = 0;
	int fd;

	name_file(&p, shm_path);
	fd = open(p.path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return;
	if (pread(fd, &magic, sizeof(magic), 0) == (ssize_t)sizeof(magic) &&
	    magic == PROGRESS_MAGIC)
		unlink(p.path);
	close(fd);
}
