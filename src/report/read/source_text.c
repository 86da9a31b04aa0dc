/* SPDX-License-Identifier: Apache-2.0 */
#include "report/read/source_text.h"

#include "base/output.h"
#include "jfr/common/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILE_MAX ((off_t)64 << 20)
#define TAB_COLUMNS 8

/* Does @path begin with @from, up to the end of one of its parts? */
static int begins_with(const char *path, const char *from)
{
	size_t bytes = strlen(from);

	if (!bytes || strncmp(path, from, bytes) != 0)
		return 0;
	return from[bytes - 1] == '/' || path[bytes] == '/' || path[bytes] == '\0';
}

char *source_text_mapped(const char *recorded, const struct source_places *places)
{
	char *out = NULL;

	for (size_t i = 0; i < places->map_count; i++) {
		const struct path_map *map = &places->maps[i];

		if (!begins_with(recorded, map->from))
			continue;
		return asprintf(&out, "%s%s", map->to, recorded + strlen(map->from)) < 0 ? NULL
											 : out;
	}
	return strdup(recorded);
}

static int open_text(const char *path, struct stat *st)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	int rc = 0;

	if (fd < 0)
		return -errno;
	if (fstat(fd, st))
		rc = -errno;
	else if (!S_ISREG(st->st_mode))
		rc = -EINVAL;
	else if (st->st_size > FILE_MAX)
		rc = -EFBIG;
	if (!rc)
		return fd;
	close(fd);
	return rc;
}

static int is_absent(int rc)
{
	return rc == -ENOENT || rc == -ENOTDIR || rc == -EINVAL;
}

/* Below one directory: the whole path, then without its first part, and so on. */
static int source_text_open_below(const char *directory, const char *path, char **found,
				  struct stat *st)
{
	for (const char *rest = path; rest && *rest; rest = strchr(rest, '/')) {
		int fd;

		while (*rest == '/')
			rest++;
		if (asprintf(found, "%s/%s", directory, rest) < 0) {
			*found = NULL;
			return -ENOMEM;
		}
		fd = open_text(*found, st);
		if (!is_absent(fd))
			return fd;
		free(*found);
		*found = NULL;
	}
	return -ENOENT;
}

static int source_text_find(const char *recorded, const struct source_places *places, char **found,
			    struct stat *st)
{
	char *mapped = source_text_mapped(recorded, places);
	int fd;

	if (!mapped)
		return -ENOMEM;
	fd = open_text(mapped, st);
	for (size_t i = 0; i < places->directory_count && is_absent(fd); i++) {
		fd = source_text_open_below(places->directories[i], mapped, found, st);
	}
	if (fd >= 0 && !*found) {
		*found = mapped;
		return fd;
	}
	free(mapped);
	return fd;
}

/* Cuts the bytes into lines: each ends with a zero in place of its newline. */
static int cut_lines(struct source_text *t, size_t bytes)
{
	size_t room = 1;

	for (size_t i = 0; i < bytes; i++)
		room += t->bytes[i] == '\n';
	t->line = calloc(room, sizeof(*t->line));
	if (!t->line)
		return -ENOMEM;
	for (size_t i = 0; i < bytes;) {
		size_t length = strcspn(t->bytes + i, "\n");

		t->line[t->count++] = t->bytes + i;
		t->bytes[i + length] = '\0';
		if (length && t->bytes[i + length - 1] == '\r')
			t->bytes[i + length - 1] = '\0';
		i += length + 1;
	}
	return 0;
}

/* Tabs become spaces, so that each character is one column. */
static char *expand(const char *bytes, size_t count, size_t *out_count)
{
	size_t room = 1, used = 0, column = 0;
	char *out;

	for (size_t i = 0; i < count; i++)
		room += bytes[i] == '\t' ? TAB_COLUMNS : 1;
	out = malloc(room);
	if (!out)
		return NULL;
	for (size_t i = 0; i < count; i++) {
		char c = bytes[i];

		if (c == '\t') {
			do
				out[used++] = ' ';
			while (++column % TAB_COLUMNS);
			continue;
		}
		out[used++] = c ? c : ' ';
		column = c == '\n' ? 0 : column + (((unsigned char)c & 0xC0) != 0x80);
	}
	out[used] = '\0';
	*out_count = used;
	return out;
}

/* Closes @fd. */
static int source_text_load(struct source_text *t, int fd, size_t bytes)
{
	char *raw = malloc(bytes + 1);
	ssize_t got = raw ? fd_read_at(fd, raw, bytes, 0) : -ENOMEM;
	size_t expanded = 0;

	close(fd);
	if (got >= 0)
		t->bytes = expand(raw, (size_t)got, &expanded);
	free(raw);
	if (got < 0)
		return (int)got;
	return t->bytes ? cut_lines(t, expanded) : -ENOMEM;
}

int source_text_open(struct source_text **out, const char *recorded,
		     const struct source_places *places)
{
	struct source_text *t = calloc(1, sizeof(*t));
	struct stat st = {0};
	int fd, rc;

	if (!t)
		return -ENOMEM;
	fd = *recorded ? source_text_find(recorded, places, &t->path, &st) : -ENOENT;
	rc = fd < 0 ? fd : source_text_load(t, fd, (size_t)st.st_size);
	if (rc) {
		source_text_free(t);
		return rc;
	}
	t->modified_ns = (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec;
	*out = t;
	return 0;
}

void source_text_free(struct source_text *t)
{
	if (!t)
		return;
	free(t->path);
	free(t->bytes);
	free(t->line);
	free(t);
}

const char *source_text_line(const struct source_text *t, int64_t number)
{
	return number >= 1 && (uint64_t)number <= t->count ? t->line[number - 1] : "";
}
