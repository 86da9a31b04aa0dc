/* SPDX-License-Identifier: Apache-2.0 */
/* The executable mappings of a process: see maps.h. */
#include "collector/maps.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A hostile target may have as many mappings as the kernel lets it; more are not looked at. */
#define MAPPINGS_MAX 65536

void maps_free(struct maps *m)
{
	for (size_t i = 0; i < m->count; i++)
		free(m->item[i].path);
	free(m->item);
	memset(m, 0, sizeof(*m));
}

/* Reads a number up to @stop and steps over it. */
static int take_number(const char **at, const char *end, unsigned int base, char stop,
		       uint64_t *out)
{
	uint64_t value = 0;
	const char *p = *at;

	for (; p < end && *p != stop; p++) {
		unsigned int digit = *p >= '0' && *p <= '9'   ? (unsigned int)(*p - '0')
				     : *p >= 'a' && *p <= 'f' ? (unsigned int)(*p - 'a' + 10)
							      : 99;

		if (digit >= base || value > (UINT64_MAX - digit) / base)
			return -EINVAL;
		value = value * base + digit;
	}
	if (p == end || p == *at)
		return -EINVAL;
	*out = value;
	*at = p + 1;
	return 0;
}

/* The kernel writes a newline in a path as \012 and nothing else in this way. */
static char *take_path(const char *at, const char *end)
{
	char *path = malloc((size_t)(end - at) + 1);
	size_t n = 0;

	if (!path)
		return NULL;
	while (at < end) {
		if (end - at >= 4 && memcmp(at, "\\012", 4) == 0) {
			path[n++] = '\n';
			at += 4;
		} else {
			path[n++] = *at++;
		}
	}
	path[n] = 0;
	return path;
}

int maps_parse_line(const char *line, size_t bytes, struct mapping *out)
{
	const char *at = line, *end = line + bytes;
	uint64_t major, minor;
	struct mapping one = {0};

	if (take_number(&at, end, 16, '-', &one.start) || take_number(&at, end, 16, ' ', &one.end))
		return -EINVAL;
	if (end - at < 5 || at[4] != ' ' || one.end <= one.start)
		return -EINVAL;
	one.executable = at[2] == 'x';
	at += 5;
	if (take_number(&at, end, 16, ' ', &one.offset) || take_number(&at, end, 16, ':', &major) ||
	    take_number(&at, end, 16, ' ', &minor))
		return -EINVAL;
	/* The last number ends the line when there is no path. */
	if (take_number(&at, end, 10, ' ', &one.inode)) {
		one.inode = 0;
		at = end;
	}
	while (at < end && *at == ' ')
		at++;
	one.device_major = (uint32_t)major;
	one.device_minor = (uint32_t)minor;
	one.path = take_path(at, end);
	if (!one.path)
		return -ENOMEM;
	*out = one;
	return 0;
}

/* The first item that ends above @address. */
static size_t first_above(const struct maps *m, uint64_t address)
{
	size_t low = 0, high = m->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (m->item[middle].end <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static int same_mapping(const struct mapping *a, const struct mapping *b)
{
	return a->start == b->start && a->end == b->end && a->offset == b->offset &&
	       a->inode == b->inode && a->device_major == b->device_major &&
	       a->device_minor == b->device_minor && strcmp(a->path, b->path) == 0;
}

static int make_room(struct maps *m)
{
	size_t room = m->room ? m->room * 2 : 32;
	struct mapping *item;

	if (m->count < m->room)
		return 0;
	if (m->count >= MAPPINGS_MAX)
		return -ENOMEM;
	item = realloc(m->item, room * sizeof(*item));
	if (!item)
		return -ENOMEM;
	m->item = item;
	m->room = room;
	return 0;
}

int maps_add(struct maps *m, struct mapping *one)
{
	size_t at = first_above(m, one->start), last = at;

	if (at < m->count && same_mapping(&m->item[at], one)) {
		free(one->path);
		return 0;
	}
	if (make_room(m)) {
		free(one->path);
		return -ENOMEM;
	}
	for (; last < m->count && m->item[last].start < one->end; last++)
		free(m->item[last].path);
	memmove(&m->item[at + 1], &m->item[last], (m->count - last) * sizeof(*m->item));
	m->item[at] = *one;
	m->item[at].id = ++m->last_id;
	m->count = m->count - (last - at) + 1;
	m->generation++;
	return 1;
}

int maps_update(struct maps *m, const char *text, size_t bytes)
{
	const char *end = text + bytes;
	int fresh = 0;

	while (text < end) {
		const char *stop = memchr(text, '\n', (size_t)(end - text));
		size_t length = stop ? (size_t)(stop - text) : (size_t)(end - text);
		struct mapping one;

		if (maps_parse_line(text, length, &one) == 0) {
			int rc = 0;

			if (one.executable)
				rc = maps_add(m, &one);
			else
				free(one.path);
			if (rc < 0)
				return rc;
			fresh += rc;
		}
		text += length + 1;
	}
	return fresh;
}

struct mapping *maps_find(const struct maps *m, uint64_t pc)
{
	size_t at = first_above(m, pc);

	return at < m->count && m->item[at].start <= pc ? &m->item[at] : NULL;
}

void mapping_name(const struct mapping *one, char *out, size_t bytes)
{
	static const char deleted[] = " (deleted)";
	const char *slash = strrchr(one->path, '/');
	const char *name = slash && one->path[0] == '/' ? slash + 1 : one->path;
	size_t length = strlen(name), tail = sizeof(deleted) - 1;

	if (length > tail && strcmp(name + length - tail, deleted) == 0)
		length -= tail;
	snprintf(out, bytes, "%.*s", (int)length, name);
}
