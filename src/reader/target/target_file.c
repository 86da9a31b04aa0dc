/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The file behind a mapping, in this order: map_files (exactly the mapped one, deleted or not, but
 * only with privileges), the path seen from the process's root, /proc/PID/exe for the program, and
 * for an ELF file that is gone its image in memory.
 * The process chose the path: symbolic links are not followed out of its root, nothing but a
 * regular file is opened for long, and the inode must be the mapped one.
 */
#include "reader/target/target.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define DELETED " (deleted)"
#define READ_FLAGS (O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)

static int open_as_mapped(const struct target *t, const struct proc_map *m)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "map_files/%llx-%llx", (unsigned long long)m->start,
		 (unsigned long long)m->end);
	fd = openat(t->proc_fd, path, READ_FLAGS);
	return fd < 0 ? -errno : fd;
}

static int open_below_root(const struct target *t, const struct proc_map *m)
{
	struct open_how how = {.flags = READ_FLAGS, .resolve = RESOLVE_IN_ROOT};
	char path[48];
	int root, fd;

	snprintf(path, sizeof(path), "task/%d/root", (int)t->member);
	root = openat(t->proc_fd, path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root < 0)
		return -errno;
	fd = (int)syscall(SYS_openat2, root, m->path, &how, sizeof(how));
	if (fd < 0 && errno == ENOSYS) /* before Linux 5.6 */
		fd = openat(root, m->path + 1, READ_FLAGS | O_NOFOLLOW);
	fd = fd < 0 ? -errno : fd;
	close(root);
	return fd;
}

int target_program_open(const struct target *t)
{
	char path[48];
	int fd;

	snprintf(path, sizeof(path), "task/%d/exe", (int)t->member);
	fd = openat(t->proc_fd, path, READ_FLAGS);
	return fd < 0 ? -errno : fd;
}

/* Devices are not compared: overlay and btrfs show one number here and another there. */
static int target_file_checked(int fd, const struct proc_map *m)
{
	struct stat st;
	int rc;

	if (fd < 0)
		return fd;
	rc = fstat(fd, &st) ? -errno : !S_ISREG(st.st_mode) ? -ENOEXEC : 0;
	if (rc == 0 && st.st_ino != m->inode)
		rc = -ESTALE;
	if (rc == 0)
		return fd;
	close(fd);
	return rc;
}

static int is_deleted(const struct proc_map *m)
{
	size_t bytes = strlen(m->path), more = strlen(DELETED);

	return bytes > more && strcmp(m->path + bytes - more, DELETED) == 0;
}

int target_file_open(const struct target *t, const struct proc_map *m)
{
	int fd, first;

	if (!m->inode || m->path[0] != '/')
		return -ENOENT;
	fd = target_file_checked(open_as_mapped(t, m), m);
	if (fd >= 0)
		return fd;
	first = is_deleted(m) ? -ENOENT : target_file_checked(open_below_root(t, m), m);
	if (first >= 0)
		return first;
	fd = target_file_checked(target_program_open(t), m);
	if (fd >= 0)
		return fd;
	fd = target_image_open(t, m);
	return fd >= 0 ? fd : first;
}
