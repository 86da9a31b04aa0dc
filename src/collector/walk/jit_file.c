/* SPDX-License-Identifier: Apache-2.0 */
/* Opening perf maps and jitdumps: see jit_file.h. */
#include "collector/walk/jit_file.h"

#include "collector/process/clock.h"
#include "collector/process/process.h"
#include "collector/walk/modules.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SECOND_NS INT64_C(1000000000)
/* A file's times lag by a tick of the kernel, a process's start is cut to 10 ms. */
#define TICKS_NS INT64_C(30000000)
#define FLAGS (O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)

/* The user of new files: the last of the four ids. */
static uid_t user_of(int proc_fd)
{
	unsigned long real, effective, saved, file;
	size_t bytes = 0;
	char *text = proc_read_all(proc_fd, "status", &bytes);
	const char *line = proc_line(text, "Uid");
	uid_t uid = (uid_t)-1;

	if (line && sscanf(line, "%lu %lu %lu %lu", &real, &effective, &saved, &file) == 4)
		uid = (uid_t)file;
	free(text);
	return uid;
}

/* By its stat, which has it in ticks since the boot. */
static int64_t jit_file_start_of(int proc_fd)
{
	int64_t ticks = (int64_t)process_stat_number(proc_fd, STAT_START_TIME);
	int64_t second = sysconf(_SC_CLK_TCK);

	if (ticks <= 0 || second <= 0)
		return 0;
	return (int64_t)(clock_ns(CLOCK_REALTIME) - clock_ns(CLOCK_BOOTTIME)) +
	       ticks / second * SECOND_NS + ticks % second * (SECOND_NS / second);
}

void jit_owner_read(struct jit_owner *o, int root_fd, int proc_fd, pid_t inside_pid)
{
	*o = (struct jit_owner){
		.root_fd = root_fd,
		.proc_fd = proc_fd,
		.inside_pid = inside_pid,
		.uid = proc_fd >= 0 ? user_of(proc_fd) : (uid_t)-1,
		.started_ns = proc_fd >= 0 ? jit_file_start_of(proc_fd) : 0,
	};
}

/* A process may give up its privileges after its start, or after it has made the file. */
static int owns(const struct jit_owner *o, uid_t uid)
{
	if (uid == o->uid && uid != (uid_t)-1)
		return 1;
	return o->proc_fd >= 0 && uid == user_of(o->proc_fd) && uid != (uid_t)-1;
}

static int is_to_be_believed(const struct jit_owner *o, const struct stat *st)
{
	return S_ISREG(st->st_mode) && st->st_nlink <= 1 && !(st->st_mode & S_IWOTH) &&
	       owns(o, st->st_uid);
}

/* Takes over @fd, which may be -1 with errno. */
static int jit_file_checked(const struct jit_owner *o, int fd, struct stat *st)
{
	int rc = 0;

	if (fd < 0)
		return errno == ELOOP ? -EPERM : -errno;
	if (fstat(fd, st))
		rc = -errno;
	else if (!is_to_be_believed(o, st))
		rc = -EPERM;
	if (!rc)
		return fd;
	close(fd);
	return rc;
}

/* /tmp itself is its administrator's: it may be a symbolic link. */
static int open_tmp(const struct jit_owner *o)
{
	return modules_open_below(o->root_fd, "/tmp", O_PATH | O_DIRECTORY | O_CLOEXEC,
				  RESOLVE_NO_MAGICLINKS);
}

int jit_file_open_map(const struct jit_owner *o, struct stat *st)
{
	char name[40];
	int fd, saved, tmp = open_tmp(o);

	if (tmp < 0)
		return -errno;
	snprintf(name, sizeof(name), "perf-%d.map", (int)o->inside_pid);
	fd = openat(tmp, name, FLAGS | O_NOFOLLOW);
	saved = errno;
	close(tmp);
	errno = saved;
	return jit_file_checked(o, fd, st);
}

int jit_file_is_older(const struct jit_owner *o, const struct stat *st)
{
	int64_t written_ns = st->st_mtim.tv_sec * SECOND_NS + st->st_mtim.tv_nsec;

	return o->started_ns != 0 && written_ns + TICKS_NS < o->started_ns;
}

int jit_file_is_marker(const struct jit_owner *o, const struct mapping *one)
{
	const char *slash = strrchr(one->path, '/');
	char name[40];

	snprintf(name, sizeof(name), "jit-%d.dump", (int)o->inside_pid);
	return one->path[0] == '/' && slash && strcmp(slash + 1, name) == 0;
}

int jit_file_open_mapped(const struct jit_owner *o, const struct mapping *one, struct stat *st)
{
	int fd = modules_open_below(o->root_fd, one->path, FLAGS | O_NOFOLLOW, RESOLVE_NO_SYMLINKS);

	fd = jit_file_checked(o, fd, st);
	if (fd < 0 || mapping_may_be(one, st))
		return fd;
	close(fd);
	return -ESTALE;
}
