/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The mappings of this process, as /proc lists them: read line by line, by system calls alone.
 * Names may be cut. And those of them that are ours, and must stay: a program that unmaps what it
 * does not know is kept from them (hooks/hook_maps.c).
 *
 * An area is added once it is mapped, and taken out before it is unmapped, by whoever does that. A
 * reader may miss one that comes or goes at this moment; it never sees the halves of two.
 */
#include "runtime/core/runtime.h"

#include "runtime/core/decimal.h"
#include "runtime/core/sys.h"

#define LINE_BYTES 512 /* names that somebody looks for are in shorter lines */
#define AREAS_MAX 64   /* a dozen, and the blocks of coroutines */
#define PAGE UINT64_C(4096)
#define PAGES_BITS 28 /* of how many an area has; the rest is the number of its first */
#define PAGES_MAX ((UINT64_C(1) << PAGES_BITS) - 1)

/* Of one word each, so that a reader has both ends of it; 0 = free. */
static uint64_t areas[AREAS_MAX];
static uint32_t areas_high;

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

/* ---- those that are ours */

static uint64_t area_word(uint64_t low, uint64_t bytes)
{
	uint64_t pages = (bytes + PAGE - 1) / PAGE;

	return low / PAGE << PAGES_BITS | (pages < PAGES_MAX ? pages : PAGES_MAX);
}

static void areas_reach(uint32_t count)
{
	uint32_t high = load_relaxed(&areas_high);

	while (high < count && !cas_acq_rel(&areas_high, &high, count))
		;
}

void weft_area_add(const void *low, uint64_t bytes)
{
	uint64_t word = area_word((uint64_t)(uintptr_t)low, bytes);

	for (uint32_t i = 0; i < AREAS_MAX; i++) {
		uint64_t none = 0;

		if (!cas_acq_rel(&areas[i], &none, word))
			continue;
		areas_reach(i + 1);
		return;
	}
}

void weft_area_gone(const void *low)
{
	uint64_t page = (uint64_t)(uintptr_t)low / PAGE;

	for (uint32_t i = 0; i < AREAS_MAX; i++) {
		uint64_t word = load_relaxed(&areas[i]);

		if (word && word >> PAGES_BITS == page && cas_acq_rel(&areas[i], &word, 0))
			return;
	}
}

int weft_area_in(uint64_t low, uint64_t high, struct weft_mapping *found)
{
	uint32_t count = load_acquire(&areas_high);

	found->low = UINT64_MAX;
	for (uint32_t i = 0; i < count; i++) {
		uint64_t word = load_acquire(&areas[i]), from = (word >> PAGES_BITS) * PAGE;
		uint64_t to = from + (word & PAGES_MAX) * PAGE;

		if (from < high && to > low && from < found->low) {
			found->low = from;
			found->high = to;
		}
	}
	return found->low != UINT64_MAX;
}
