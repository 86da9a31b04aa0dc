/* SPDX-License-Identifier: Apache-2.0 */
#include "coro/engine/maps_note.h"

#include "base/array.h"
#include "base/map.h"
#include "proc/proc_maps.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
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
	int fd, replace, append, error;
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
				.fd = -1,
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
	if (n->fd >= 0)
		close(n->fd);
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
	int flags = O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK;

	if (n->append)
		flags |= O_APPEND;
	else
		flags |= n->replace || is_left_over(n->path) ? O_TRUNC : O_EXCL;
	n->fd = open(n->path, flags, 0644);
	return n->fd < 0 ? -errno : 0;
}

static int maps_note_write_all(int fd, const char *text, size_t bytes)
{
	while (bytes) {
		ssize_t n = write(fd, text, bytes);

		if (n < 0 && errno != EINTR)
			return -errno;
		if (n > 0) {
			text += n;
			bytes -= (size_t)n;
		}
	}
	return 0;
}

static int maps_note_put(struct maps_note *n, const char *text, size_t bytes)
{
	int rc = n->fd >= 0 ? 0 : maps_note_open_file(n);

	if (rc == 0 && map_count(n->lines) == 1)
		rc = maps_note_write_all(n->fd, HEAD, strlen(HEAD));
	return rc ? rc : maps_note_write_all(n->fd, text, bytes);
}

/* ---- a process */

static struct noted_process *process_of(struct maps_note *n, uint32_t pid)
{
	struct noted_process *grown;
	uint64_t *place = map_put(n->places, &pid, sizeof(pid), NULL);

	if (!place)
		return NULL;
	if (*place)
		return &n->all[*place - 1];
	grown = array_grown(n->all, n->count + 1, &n->room, sizeof(*grown));
	if (!grown)
		return NULL;
	n->all = grown;
	grown[n->count] = (struct noted_process){.pid = pid, .wait_ns = WAIT_LEAST_NS};
	*place = ++n->count;
	return &grown[n->count - 1];
}

struct reading {
	struct maps_note *n;
	struct noted_process *p;
	char *text; /* lines to be put, if it is one of ours */
	size_t bytes;
	FILE *out;
	int is_ours;
};

static int note_line(struct reading *r, const char *line, size_t bytes, const struct proc_map *map)
{
	char *text = NULL;
	struct range *grown;
	int fresh = 0, n;

	r->is_ours |= map->inode == r->n->inode && map->device_major == major(r->n->device) &&
		      map->device_minor == minor(r->n->device);
	if (map->permissions[2] != 'x' || map->path[0] != '/')
		return 0;
	n = asprintf(&text, "%u %.*s\n", (unsigned int)r->p->pid, (int)bytes, line);
	if (n < 0)
		return -ENOMEM;
	grown = array_grown(r->p->code, r->p->count + 1, &r->p->room, sizeof(*grown));
	if (grown) {
		r->p->code = grown;
		grown[r->p->count++] = (struct range){map->start, map->end};
		if (!map_get(r->n->lines, text, (size_t)n))
			fresh = fwrite(text, 1, (size_t)n, r->out) == (size_t)n;
	}
	free(text);
	return grown ? fresh : -ENOMEM;
}

static int maps_note_read_lines(struct reading *r, FILE *maps)
{
	char *line = NULL;
	size_t room = 0;
	ssize_t bytes;
	int rc = 0;

	while (rc >= 0 && (bytes = getline(&line, &room, maps)) > 0) {
		struct proc_map map;

		if (line[bytes - 1] == '\n')
			line[--bytes] = '\0';
		if (proc_map_parse(line, (size_t)bytes, &map))
			continue;
		rc = note_line(r, line, (size_t)bytes, &map);
		free(map.path);
	}
	free(line);
	return rc < 0 ? rc : 0;
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
	return rc;
}

/* 1 there was something new, 0 not, -errno. */
static int read_process(struct maps_note *n, struct noted_process *p, int is_ours)
{
	struct reading r = {.n = n, .p = p, .is_ours = is_ours};
	char path[64];
	FILE *maps;
	int rc = 0;

	snprintf(path, sizeof(path), "/proc/%u/maps", (unsigned int)p->pid);
	maps = fopen(path, "re");
	r.out = maps ? open_memstream(&r.text, &r.bytes) : NULL;
	if (r.out) {
		p->count = 0;
		rc = maps_note_read_lines(&r, maps);
		fclose(r.out);
	}
	if (maps)
		fclose(maps);
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
