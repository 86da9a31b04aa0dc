/* SPDX-License-Identifier: Apache-2.0 */
/* Names of JIT code: see jit.h. */
#include "collector/walk/jit.h"

#include "collector/walk/jit_file.h"
#include "elf/names/jit_dump.h"
#include "elf/names/jit_map.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A look that finds nothing costs some microseconds; code that was written over in between is
 * taken for what was there before. */
#define LOOK_PAUSE_NS UINT64_C(20000000)
#define PORTION_BYTES (UINT64_C(16) << 20)
/* Whoever writes more than that writes no names of functions. */
#define FILE_BYTES_MAX (UINT64_C(1) << 30)

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
	struct jit_code *code;
	struct source map, dump;
	struct jit_map map_reader;
	struct jit_dump dump_reader;
	struct mapping marker; /* path is owned; NULL = none seen yet */
	uint32_t maps_generation;
	int has_code; /* there are mappings that can be nothing else */
	int vain;     /* it was waited for names, and none came */
	uint64_t looked_ns;
	/* Set by jit_moment(). */
	const struct maps *maps;
	size_t *budget;
	uint64_t time_ns, now_ns;
};

static int is_same_file(const struct source *s, const struct stat *st)
{
	return s->device == st->st_dev && s->inode == st->st_ino;
}

/* A map that is there before the process has made any code. */
static void note_older_map(struct jit *j)
{
	struct stat st;
	int fd = jit_file_open_map(&j->owner, &st);

	if (fd < 0)
		return;
	if (jit_file_is_older(&j->owner, &st) && jit_map_skip(&j->map_reader, fd) == 0) {
		j->map.device = st.st_dev;
		j->map.inode = st.st_ino;
	}
	close(fd);
}

struct jit *jit_new(int root_fd, int proc_fd, pid_t inside_pid)
{
	struct jit *j = calloc(1, sizeof(*j));

	if (!j)
		return NULL;
	jit_owner_read(&j->owner, root_fd, proc_fd, inside_pid);
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
	struct stat st;
	int64_t rc = 0;
	int fd;

	if (j->map.given_up)
		return 0;
	fd = jit_file_open_map(&j->owner, &st);
	if (fd < 0)
		return 0;
	if (!is_same_file(&j->map, &st)) {
		j->map_reader = (struct jit_map){0};
		j->map.device = st.st_dev;
		j->map.inode = st.st_ino;
	}
	if (!jit_file_is_older(&j->owner, &st))
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

static void look_at_mappings(struct jit *j, const struct maps *maps)
{
	if (j->maps_generation == maps->generation)
		return;
	j->maps_generation = maps->generation;
	for (size_t i = 0; i < maps->count; i++) {
		const struct mapping *one = maps->item[i];

		j->has_code |= has_no_file(one);
		if (!j->marker.path && jit_file_is_marker(&j->owner, one)) {
			j->marker = *one;
			j->marker.path = strdup(one->path);
		}
	}
}

static int look_at_dump(struct jit *j)
{
	struct stat st;
	int64_t rc;
	int fd;

	look_at_mappings(j, j->maps);
	if (!j->marker.path || j->dump.given_up)
		return 0;
	fd = jit_file_open_mapped(&j->owner, &j->marker, &st);
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

void jit_moment(struct jit *j, const struct maps *maps, size_t *budget, uint64_t time_ns,
		uint64_t now_ns)
{
	if (!j)
		return;
	j->maps = maps;
	j->budget = budget;
	j->time_ns = time_ns;
	j->now_ns = now_ns;
}

int jit_find(struct jit *j, uint64_t pc, struct elf_place *out)
{
	if (!j || !j->maps)
		return -ENOENT;
	look_in_time(j);
	return j->code ? jit_code_find(j->code, pc, j->time_ns, out) : -ENOENT;
}

static int has_names(const struct jit *j)
{
	return j->code && jit_code_count(j->code) > 0;
}

int jit_is_late(struct jit *j, const struct maps *maps, size_t *budget, uint64_t now_ns)
{
	if (!j)
		return 0;
	look_at_mappings(j, maps);
	if (j->marker.path)
		return !j->dump.given_up && !j->dump_reader.closed;
	if (!j->has_code || j->vain || j->map.given_up)
		return 0;
	jit_moment(j, maps, budget, now_ns, now_ns);
	look_in_time(j);
	return !has_names(j);
}

void jit_finish(struct jit *j, const struct maps *maps, size_t *budget, uint64_t now_ns)
{
	if (!j)
		return;
	jit_moment(j, maps, budget, now_ns, now_ns);
	while (look_at_map(j))
		;
	while (look_at_dump(j))
		;
	j->vain = !has_names(j);
}
