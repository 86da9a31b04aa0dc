/* SPDX-License-Identifier: Apache-2.0 */
/* Names of JIT code: see jit.h. */
#include "collector/walk/jit.h"

#include "base/clock.h"
#include "collector/process/process.h"
#include "collector/walk/modules.h"
#include "elf/names/jit_dump.h"
#include "elf/names/jit_map.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A look that finds nothing costs some microseconds. Code that is replaced between two looks is
 * taken for what was there before. */
#define LOOK_PAUSE_NS UINT64_C(20000000)
#define PORTION_BYTES (UINT64_C(16) << 20)
/* Whoever writes more than that writes no names of functions. */
#define FILE_BYTES_MAX (UINT64_C(1) << 30)

/* A file's times lag by a tick of the kernel, a process's start is cut to 10 ms. */
#define TICKS_NS INT64_C(30000000)
#define OPEN_FLAGS (O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)

/* One of the two files. */
struct source {
	dev_t device;
	ino_t inode;
	uint64_t looked_ns; /* at the last look that found it */
	uint64_t taken;
	int given_up;
};

struct jit {
	struct jit_owner owner;
	int64_t started_ns; /* its owner, by CLOCK_REALTIME; 0 = not known */
	const struct maps *maps;
	struct jit_code *code;
	struct source map, dump;
	struct jit_map map_reader;
	struct jit_dump dump_reader;
	struct mapping marker; /* path is owned; NULL = none seen yet */
	uint32_t maps_generation;
	int has_code; /* there are mappings that can be nothing else */
	int vain;     /* names were waited for, and none came */
	uint64_t looked_ns;
	/* Set by jit_moment(). */
	size_t *budget;
	uint64_t time_ns, now_ns;
};

/*
 * ---- the files
 *
 * Opened as somebody does who does not trust /tmp: below the process's own root, no symbolic link
 * on the way to the file, a regular file with one name that nobody but its owner and group may
 * write, and the owner is the process's user. All checks are made of what was opened, so nothing
 * can be put in its place in between. What must not be believed is -EPERM.
 */

/* The user of new files: the last of the four ids. */
static uid_t user_of(int proc_fd)
{
	unsigned long file;
	size_t bytes = 0;
	char *text = proc_read_all(proc_fd, "status", &bytes);
	const char *line = proc_line(text, "Uid");
	uid_t uid = (uid_t)-1;

	if (line && sscanf(line, "%*u %*u %*u %lu", &file) == 1)
		uid = (uid_t)file;
	free(text);
	return uid;
}

static int64_t jit_start_of(const struct jit_owner *o)
{
	int64_t ticks = (int64_t)o->start_ticks, second = sysconf(_SC_CLK_TCK);

	if (ticks <= 0 || second <= 0)
		return 0;
	return (int64_t)(clock_ns(CLOCK_REALTIME) - clock_ns(CLOCK_BOOTTIME)) +
	       ticks / second * NS_PER_S + ticks % second * (NS_PER_S / second);
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
static int jit_checked(const struct jit_owner *o, int fd, struct stat *st)
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

static int open_map(const struct jit_owner *o, struct stat *st)
{
	char name[40];
	int fd, saved, tmp = open_tmp(o);

	if (tmp < 0)
		return -errno;
	snprintf(name, sizeof(name), "perf-%d.map", (int)o->inside_pid);
	fd = openat(tmp, name, OPEN_FLAGS | O_NOFOLLOW);
	saved = errno;
	close(tmp);
	errno = saved;
	return jit_checked(o, fd, st);
}

static int is_older(const struct jit *j, const struct stat *st)
{
	int64_t written_ns = st->st_mtim.tv_sec * NS_PER_S + st->st_mtim.tv_nsec;

	return j->started_ns != 0 && written_ns + TICKS_NS < j->started_ns;
}

static int is_dump_marker(const struct jit_owner *o, const struct mapping *one)
{
	const char *slash = strrchr(one->path, '/');
	char name[40];

	snprintf(name, sizeof(name), "jit-%d.dump", (int)o->inside_pid);
	return one->path[0] == '/' && slash && strcmp(slash + 1, name) == 0;
}

static int open_marked(const struct jit_owner *o, const struct mapping *one, struct stat *st)
{
	int fd = modules_open_below(o->root_fd, one->path, OPEN_FLAGS | O_NOFOLLOW,
				    RESOLVE_NO_SYMLINKS);

	fd = jit_checked(o, fd, st);
	if (fd < 0 || mapping_may_be(one, st))
		return fd;
	close(fd);
	return -ESTALE;
}

/* ---- looking at them */

static int is_same_file(const struct source *s, const struct stat *st)
{
	return s->device == st->st_dev && s->inode == st->st_ino;
}

/* A perf map that is older than the process is an earlier process's: what is in it is skipped. */
static void note_older_map(struct jit *j)
{
	struct stat st = {0};
	int fd = open_map(&j->owner, &st);

	if (fd < 0)
		return;
	if (is_older(j, &st) && jit_map_skip(&j->map_reader, fd) == 0) {
		j->map.device = st.st_dev;
		j->map.inode = st.st_ino;
	}
	close(fd);
}

struct jit *jit_new(const struct jit_owner *owner, const struct maps *maps)
{
	struct jit *j = calloc(1, sizeof(*j));

	if (!j)
		return NULL;
	j->maps = maps;
	j->owner = *owner;
	j->started_ns = jit_start_of(owner);
	note_older_map(j);
	return j;
}

void jit_free(struct jit *j)
{
	if (!j)
		return;
	jit_code_free(j->code);
	free(j->marker.path);
	free(j);
}

int jit_is_code(const struct mapping *m)
{
	return m && !m->file && strcmp(m->path, "[vdso]") != 0 &&
	       strcmp(m->path, "[vsyscall]") != 0;
}

static struct jit_code *code_of(struct jit *j)
{
	if (!j->code)
		j->code = jit_code_new(j->budget);
	return j->code;
}

/* @rc as the readers return it. Is there more? */
static int jit_account(struct source *s, int64_t rc, uint64_t now_ns)
{
	if (rc > 0)
		s->taken += (uint64_t)rc;
	if (rc < 0 || s->taken > FILE_BYTES_MAX)
		s->given_up = 1;
	s->looked_ns = now_ns;
	return rc > 0;
}

static int look_at_map(struct jit *j)
{
	struct stat st = {0};
	int64_t rc = 0;
	int fd;

	if (j->map.given_up)
		return 0;
	fd = open_map(&j->owner, &st);
	if (fd < 0)
		return 0;
	if (!is_same_file(&j->map, &st)) {
		j->map_reader = (struct jit_map){0};
		j->map.device = st.st_dev;
		j->map.inode = st.st_ino;
	}
	if (!is_older(j, &st))
		rc = code_of(j) ? jit_map_read(&j->map_reader, fd, j->map.looked_ns, PORTION_BYTES,
					       j->code)
				: -ENOMEM;
	close(fd);
	return jit_account(&j->map, rc, j->now_ns);
}

static int has_no_file(const struct mapping *m)
{
	return m->path[0] == 0 || strncmp(m->path, "[anon:", 6) == 0 ||
	       strncmp(m->path, "/memfd:", 7) == 0;
}

static void look_at_mappings(struct jit *j)
{
	const struct maps *maps = j->maps;

	if (j->maps_generation == maps->generation)
		return;
	j->maps_generation = maps->generation;
	for (size_t i = 0; i < maps->count; i++) {
		const struct mapping *one = maps->item[i];

		j->has_code |= has_no_file(one);
		if (!j->marker.path && is_dump_marker(&j->owner, one)) {
			j->marker = *one;
			j->marker.path = strdup(one->path);
		}
	}
}

static int look_at_dump(struct jit *j)
{
	struct stat st = {0};
	int64_t rc;
	int fd;

	look_at_mappings(j);
	if (!j->marker.path || j->dump.given_up)
		return 0;
	fd = open_marked(&j->owner, &j->marker, &st);
	if (fd < 0)
		return 0;
	rc = code_of(j) ? jit_dump_read(&j->dump_reader, fd, (uint32_t)j->owner.inside_pid,
					j->dump.looked_ns, PORTION_BYTES, j->code)
			: -ENOMEM;
	close(fd);
	return jit_account(&j->dump, rc, j->now_ns);
}

static void jit_look(struct jit *j)
{
	look_at_map(j);
	look_at_dump(j);
	j->looked_ns = j->now_ns;
}

static void look_in_time(struct jit *j)
{
	if (j->now_ns - j->looked_ns >= LOOK_PAUSE_NS)
		jit_look(j);
}

void jit_moment(struct jit *j, size_t *budget, uint64_t time_ns, uint64_t now_ns)
{
	if (!j)
		return;
	j->budget = budget;
	j->time_ns = time_ns;
	j->now_ns = now_ns;
}

int jit_find(struct jit *j, uint64_t pc, struct elf_place *out)
{
	if (!j)
		return -ENOENT;
	look_in_time(j);
	return j->code ? jit_code_find(j->code, pc, j->time_ns, out) : -ENOENT;
}

static int has_names(const struct jit *j)
{
	return j->code && jit_code_count(j->code) > 0;
}

int jit_is_late(struct jit *j, size_t *budget, uint64_t now_ns)
{
	if (!j)
		return 0;
	look_at_mappings(j);
	if (j->marker.path)
		return !j->dump.given_up && !j->dump_reader.closed;
	if (!j->has_code || j->vain || j->map.given_up)
		return 0;
	jit_moment(j, budget, now_ns, now_ns);
	look_in_time(j);
	return !has_names(j);
}

void jit_finish(struct jit *j, size_t *budget, uint64_t now_ns)
{
	if (!j)
		return;
	jit_moment(j, budget, now_ns, now_ns);
	while (look_at_map(j))
		;
	while (look_at_dump(j))
		;
	j->vain = j->has_code && !has_names(j);
}
