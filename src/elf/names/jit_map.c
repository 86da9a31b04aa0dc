/* SPDX-License-Identifier: Apache-2.0 */
/* Reading a perf map: see jit_map.h. */
#include "elf/names/jit_map.h"

#include "base/output.h"
#include "base/quantity.h"
#include "base/text/digits.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#define BLOCK_BYTES 32768 /* also the longest line */

/* A hexadecimal number, with or without 0x, and the spaces behind it. */
static int jit_map_take_number(const char **at, const char *end, uint64_t *out)
{
	const char *p = *at;
	uint64_t value = 0;

	if (end - p > 2 && p[0] == '0' && (p[1] == 'x' || p[1] == 'X'))
		p += 2;
	if (digits_read(&p, end, 16, &value) || p == end || *p != ' ')
		return -EINVAL;
	while (p < end && *p == ' ')
		p++;
	*at = p;
	*out = value;
	return 0;
}

/* Only lack of memory is an error: whatever else a line says, there may be good ones after. */
static int jit_map_take_line(const char *line, size_t bytes, uint64_t since_ns,
			     struct jit_code *code)
{
	const char *at = line, *end = line + bytes;
	struct jit_entry e = {.since_ns = since_ns};

	if (jit_map_take_number(&at, end, &e.start) || jit_map_take_number(&at, end, &e.size))
		return 0;
	if (end > at && end[-1] == '\r')
		end--;
	if (at == end || memchr(at, 0, (size_t)(end - at)))
		return 0;
	e.name = at;
	e.name_bytes = (size_t)(end - at);
	return jit_code_add(code, &e) == -ENOMEM ? -ENOMEM : 0;
}

/* All whole lines of a block; *used: the bytes up to the end of the last one. */
static int jit_map_take_lines(struct jit_map *m, const char *text, size_t bytes, uint64_t since_ns,
			      struct jit_code *code, size_t *used)
{
	const char *at = text, *end = text + bytes, *stop;
	int rc = 0;

	while (!rc && at < end && (stop = memchr(at, '\n', (size_t)(end - at)))) {
		if (!m->skipping)
			rc = jit_map_take_line(at, (size_t)(stop - at), since_ns, code);
		m->skipping = 0;
		at = stop + 1;
	}
	*used = (size_t)(at - text);
	return rc;
}

static int is_written_anew(const struct jit_map *m, int fd)
{
	char now[JIT_MAP_TAIL];

	return fd_read_at(fd, now, m->tail_bytes, m->position - m->tail_bytes) !=
		       (ssize_t)m->tail_bytes ||
	       memcmp(now, m->tail, m->tail_bytes) != 0;
}

/* At the end of a reading: keeps the bytes before the position, by which the file is recognised. */
static int remember_tail(struct jit_map *m, int fd)
{
	uint64_t bytes = m->position < JIT_MAP_TAIL ? m->position : JIT_MAP_TAIL;
	ssize_t n = fd_read_at(fd, m->tail, bytes, m->position - bytes);

	m->tail_bytes = n > 0 ? (uint32_t)n : 0;
	return n < 0 ? (int)n : 0;
}

int jit_map_skip(struct jit_map *m, int fd)
{
	off_t end = lseek(fd, 0, SEEK_END);

	if (end < 0)
		return -errno;
	*m = (struct jit_map){.position = (uint64_t)end};
	return remember_tail(m, fd);
}

int64_t jit_map_read(struct jit_map *m, int fd, uint64_t since_ns, uint64_t most_bytes,
		     struct jit_code *code)
{
	char text[BLOCK_BYTES];
	uint64_t taken = 0;
	int rc = 0;

	if (is_written_anew(m, fd))
		*m = (struct jit_map){0};
	while (!rc && taken < most_bytes) {
		ssize_t n = fd_read_at(fd, text, sizeof(text), m->position);
		size_t used;

		if (n < 0)
			return n;
		rc = jit_map_take_lines(m, text, (size_t)n, since_ns, code, &used);
		if (used == 0 && (size_t)n == sizeof(text)) {
			m->skipping = 1;
			used = sizeof(text);
		}
		m->position += used;
		taken += used;
		if (used == 0)
			break;
	}
	if (taken && !rc)
		rc = remember_tail(m, fd);
	return rc ? rc : (int64_t)taken;
}
