/* SPDX-License-Identifier: Apache-2.0 */
#include "coro/engine/maps_note.h"

#include "base/array.h"
#include "base/map.h"
#include "base/output.h"
#include "proc/proc_maps.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define HEAD "# weft coro maps 1\n"
#define KNOWN 1024 /* addresses that were looked up lately */
#define WAIT_LEAST_NS UINT64_C(20000000)
#define WAIT_MOST_NS UINT64_C(10000000000)

struct known {
	uint32_t pid;
	uint64_t addr;
};

struct range {
	uint64_t start, end;
};

/* Of which lines were asked for, and when they may be again. */
struct noted_process {
	uint32_t pid;
	uint64_t again_ns, wait_ns;
	struct range *code;
	size_t count, room;
};

struct maps_note {
	char *path;
	int replace, append, error;
	FILE *out; /* NULL: no line was put yet */
	dev_t device;
	ino_t inode;
	struct map *lines;         /* that are in the file */
	struct map *places;        /* pid -> 1 + index */
	struct noted_process *all; /* in no order */
	size_t count, room;
	struct known known[KNOWN];
};

struct maps_note *maps_note_new(const char *path, int replace, int append, dev_t device,
				ino_t inode)
{
	struct maps_note *n = calloc(1, sizeof(*n));

	if (!n)
		return NULL;
	*n = (struct maps_note){.path = strdup(path),
				.replace = replace,
				.append = append,
				.device = device,
				.inode = inode,
				.lines = map_new(),
				.places = map_new()};
	if (n->path && n->lines && n->places)
		return n;
	maps_note_free(n);
	return NULL;
}

void maps_note_free(struct maps_note *n)
{
	if (!n)
		return;
	for (size_t i = 0; i < n->count; i++)
		free(n->all[i].code);
	free(n->all);
	map_free(n->lines);
	map_free(n->places);
	if (n->out) {
		fflush(n->out);
		output_unlock(fileno(n->out)); /* a program that is being begun may have it still */
		fclose(n->out);
	}
	free(n->path);
	free(n);
}

int maps_note_error(const struct maps_note *n)
{
	return n->error;
}

/* ---- the file */

/* One of an earlier trace of that name; the trace is ours, so this is, too. */
static int is_left_over(const char *path)
{
	char head[sizeof(HEAD)] = "";
	struct stat st;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
	int is = fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
		 read(fd, head, strlen(HEAD)) == (ssize_t)strlen(HEAD) && !strcmp(head, HEAD);

	if (fd >= 0)
		close(fd);
	return is;
}

static int maps_note_open_file(struct maps_note *n)
{
	enum output_how how = n->append                             ? OUTPUT_APPEND
			      : n->replace || is_left_over(n->path) ? OUTPUT_REPLACE
								    : OUTPUT_NEW;
	int fd = output_grow_file(n->path, how); /* as the trace beside it */

	if (fd < 0)
		return fd;
	n->out = fdopen(fd, "w");
	if (!n->out) {
		int rc = -errno;

		close(fd);
		return rc;
	}
	return fputs(HEAD, n->out) >= 0 ? 0 : -errno;
}

static int maps_note_put(struct maps_note *n, const char *text, size_t bytes)
{
	int rc = n->out ? 0 : maps_note_open_file(n);

	return rc || fwrite(text, 1, bytes, n->out) == bytes ? rc : -errno;
}

/* ---- a process */

static struct noted_process *process_of(struct maps_note *n, uint32_t pid)
{
	struct noted_process *one;
	uint64_t *place = map_put(n->places, &pid, sizeof(pid), NULL);

	if (!place)
		return NULL;
	if (*place)
		return &n->all[*place - 1];
	one = array_add(&n->all, &n->count, &n->room, sizeof(*one));
	if (!one)
		return NULL;
	*one = (struct noted_process){.pid = pid, .wait_ns = WAIT_LEAST_NS};
	*place = n->count;
	return one;
}

struct reading {
	struct maps_note *n;
	struct noted_process *p;
	char *text; /* lines to be put, if it is one of ours */
	size_t bytes;
	FILE *out;
	int is_ours;
};

static int note_line(void *arg, struct proc_map *map)
{
	struct reading *r = arg;
	struct range *one;
	char *text;
	int n;

	r->is_ours |= proc_map_is_of(map, r->n->device, r->n->inode);
	if (map->permissions[2] != 'x' || map->path[0] != '/')
		return 0;
	n = asprintf(&text, "%u %.*s\n", (unsigned int)r->p->pid, (int)map->line_bytes, map->line);
	if (n < 0)
		return -ENOMEM;
	one = array_add(&r->p->code, &r->p->count, &r->p->room, sizeof(*one));
	if (one)
		*one = (struct range){map->start, map->end};
	if (one && !map_get(r->n->lines, text, (size_t)n))
		fputs(text, r->out);
	free(text);
	return one ? 0 : -ENOMEM;
}

static int put_lines(struct reading *r)
{
	size_t at = 0;
	int rc = 0;

	while (rc == 0 && at < r->bytes) {
		size_t bytes = (size_t)((char *)memchr(r->text + at, '\n', r->bytes - at) -
					(r->text + at)) +
			       1;

		rc = map_put(r->n->lines, r->text + at, bytes, NULL)
			     ? maps_note_put(r->n, r->text + at, bytes)
			     : -ENOMEM;
		at += bytes;
	}
	return rc || !r->n->out || !fflush(r->n->out) ? rc : -errno;
}

/* 1 there was something new, 0 not, -errno. */
static int read_process(struct maps_note *n, struct noted_process *p, int is_ours)
{
	struct reading r = {.n = n, .p = p, .is_ours = is_ours};
	size_t had = p->count;
	int rc;

	r.out = open_memstream(&r.text, &r.bytes);
	if (!r.out)
		return -ENOMEM;
	p->count = 0;
	rc = proc_maps_each((pid_t)p->pid, note_line, &r);
	fclose(r.out);
	if (rc && rc != -ENOMEM) {
		p->count = had; /* it is gone, or not to be looked at: that is no failure */
		rc = 0;
	}
	if (rc == 0 && r.is_ours)
		rc = put_lines(&r);
	rc = rc ? rc : r.is_ours && r.bytes;
	free(r.text);
	return rc;
}

/* Who is asked in vain is asked more and more seldom: of some probes the addresses are of data. */
static void maps_note_look(struct maps_note *n, struct noted_process *p, int is_ours,
			   uint64_t now_ns)
{
	int rc = read_process(n, p, is_ours);

	if (rc < 0)
		n->error = rc;
	if (rc > 0)
		p->wait_ns = WAIT_LEAST_NS;
	else if (p->wait_ns < WAIT_MOST_NS)
		p->wait_ns *= 2;
	p->again_ns = now_ns + p->wait_ns;
}

void maps_note_process(struct maps_note *n, uint32_t pid, uint64_t now_ns)
{
	struct noted_process *p = n->error ? NULL : process_of(n, pid);

	if (p)
		maps_note_look(n, p, 1, now_ns);
}

/* ---- events */

static int is_noted(const struct noted_process *p, uint64_t addr)
{
	for (size_t i = 0; i < p->count; i++)
		if (addr >= p->code[i].start && addr < p->code[i].end)
			return 1;
	return 0;
}

static void note_event(struct maps_note *n, const struct coro_event *e, uint64_t now_ns)
{
	struct known *known = &n->known[(e->addr ^ e->addr >> 10 ^ e->pid) % KNOWN];
	struct noted_process *p;

	if (!e->addr || !e->pid || (known->addr == e->addr && known->pid == e->pid))
		return;
	p = process_of(n, e->pid);
	if (!p)
		return;
	if (!is_noted(p, e->addr) && now_ns >= p->again_ns)
		maps_note_look(n, p, 0, now_ns);
	if (is_noted(p, e->addr))
		*known = (struct known){e->pid, e->addr};
}

void maps_note_events(struct maps_note *n, const struct coro_event *events, size_t count,
		      uint64_t now_ns)
{
	for (size_t i = 0; i < count && !n->error; i++)
		note_event(n, &events[i], now_ns);
}
