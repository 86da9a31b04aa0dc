/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The mappings of this process, as /proc lists them: read line by line, by system calls alone.
 * Names may be cut.
 */
#include "runtime/core/runtime.h"

#include "runtime/core/decimal.h"
#include "runtime/core/sys.h"

#define LINE_BYTES 512 /* names that somebody looks for are in shorter lines */

/* The file line by line, longer lines truncated. */
struct lines {
	int fd;
	uint32_t at, bytes;
	char buffer[1024];
	char line[LINE_BYTES];
};

static int next_byte(struct lines *l)
{
	if (l->at == l->bytes) {
		long n = sys_call3(SYS_read, l->fd, l->buffer, sizeof(l->buffer));

		if (n <= 0)
			return -1;
		l->bytes = (uint32_t)n;
		l->at = 0;
	}
	return (unsigned char)l->buffer[l->at++];
}

static int maps_next_line(struct lines *l)
{
	uint32_t n = 0;
	int c;

	while ((c = next_byte(l)) >= 0 && c != '\n')
		if (n + 1 < sizeof(l->line))
			l->line[n++] = (char)c;
	l->line[n] = 0;
	return n || c >= 0;
}

/* start-end perms offset device inode   name */
static int maps_parse(const char *s, struct weft_mapping *m)
{
	m->low = number_parse(&s, 16);
	if (*s++ != '-')
		return 0;
	m->high = number_parse(&s, 16);
	for (int column = 0; column < 4; column++) {
		s += *s == ' ';
		s += strcspn(s, " ");
	}
	while (*s == ' ')
		s++;
	m->name = s;
	return 1;
}

int weft_maps_each(const char *path, int (*visit)(void *arg, const struct weft_mapping *m),
		   void *arg)
{
	struct lines l = {
		.fd = (int)sys_call4(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0)};
	struct weft_mapping m;
	int answer = 0;

	if (l.fd < 0)
		return l.fd;
	while (!answer && maps_next_line(&l))
		answer = maps_parse(l.line, &m) ? visit(arg, &m) : 0;
	sys_call1(SYS_close, l.fd);
	return answer;
}
