/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions by address and time: see jit_code.h.
 *
 * Every page of 4 KiB lists the entries that touch it, oldest first; a page that has been
 * written over very often forgets its older half. Strings lie in blocks that never move.
 */
#include "elf/names/jit_code.h"

#include "base/array.h"
#include "base/map.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PAGE_BITS 12
#define PAGE_ENTRIES_MAX 4096
#define BLOCK_BYTES 65536
#define ENTRIES_MAX (UINT32_C(1) << 24)
#define MAP_COST 96 /* a key, its bucket and what is rounded up */

struct entry {
	uint64_t start, since_ns;
	const char *name;
	uint32_t size;
	uint32_t line_first, line_count;
};

struct line {
	uint64_t address;
	const char *file;
	uint32_t line;
};

struct page {
	uint32_t *entry;
	uint32_t count, room;
};

struct block {
	struct block *next;
	size_t used;
	char text[BLOCK_BYTES];
};

struct jit_code {
	size_t *budget, taken;
	struct map *page_of;  /* page number -> 1 + place in pages */
	struct map *files;    /* name of a source -> its copy */
	struct block *blocks; /* the first one is being filled */
	struct entry *entries;
	struct line *lines;
	struct page *pages;
	size_t entry_count, entry_room;
	size_t line_count, line_room;
	size_t page_count, page_room;
};

struct jit_code *jit_code_new(size_t *budget)
{
	struct jit_code *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->budget = budget;
	c->page_of = map_new();
	c->files = map_new();
	if (!c->page_of || !c->files) {
		jit_code_free(c);
		return NULL;
	}
	return c;
}

void jit_code_free(struct jit_code *c)
{
	if (!c)
		return;
	while (c->blocks) {
		struct block *next = c->blocks->next;

		free(c->blocks);
		c->blocks = next;
	}
	for (size_t i = 0; i < c->page_count; i++)
		free(c->pages[i].entry);
	free(c->pages);
	free(c->lines);
	free(c->entries);
	map_free(c->page_of);
	map_free(c->files);
	__atomic_add_fetch(c->budget, c->taken, __ATOMIC_RELAXED);
	free(c);
}

size_t jit_code_count(const struct jit_code *c)
{
	return c->entry_count;
}

static int jit_code_take(struct jit_code *c, size_t bytes)
{
	/* Taken by one thread; another may give back meanwhile. */
	if (__atomic_load_n(c->budget, __ATOMIC_RELAXED) < bytes)
		return -ENOMEM;
	__atomic_sub_fetch(c->budget, bytes, __ATOMIC_RELAXED);
	c->taken += bytes;
	return 0;
}

/* Room for one more item in an array that doubles; what is there moves. */
static int jit_code_make_room(struct jit_code *c, void **items, size_t count, size_t *room,
			      size_t size)
{
	size_t more = *room ? *room * 2 : 16;
	void *grown;

	if (count < *room)
		return 0;
	if (jit_code_take(c, (more - *room) * size))
		return -ENOMEM;
	grown = realloc(*items, more * size);
	if (!grown)
		return -ENOMEM;
	*items = grown;
	*room = more;
	return 0;
}

static const char *jit_code_copy_text(struct jit_code *c, const char *text, size_t bytes)
{
	struct block *b = c->blocks;
	char *at;

	if (bytes > JIT_NAME_MAX)
		bytes = JIT_NAME_MAX;
	if (!b || b->used + bytes + 1 > sizeof(b->text)) {
		b = jit_code_take(c, sizeof(*b)) ? NULL : malloc(sizeof(*b));
		if (!b)
			return NULL;
		b->next = c->blocks;
		b->used = 0;
		c->blocks = b;
	}
	at = b->text + b->used;
	memcpy(at, text, bytes);
	at[bytes] = 0;
	b->used += bytes + 1;
	return at;
}

static struct page *page_at(struct jit_code *c, uint64_t number)
{
	uint64_t *place = map_get(c->page_of, &number, sizeof(number));
	int fresh;

	if (place)
		return &c->pages[*place - 1];
	if (jit_code_make_room(c, (void **)&c->pages, c->page_count, &c->page_room,
			       sizeof(*c->pages)) ||
	    jit_code_take(c, MAP_COST))
		return NULL;
	place = map_put(c->page_of, &number, sizeof(number), &fresh);
	if (!place)
		return NULL;
	c->pages[c->page_count] = (struct page){0};
	*place = ++c->page_count;
	return &c->pages[c->page_count - 1];
}

static int list_on_page(struct jit_code *c, uint64_t number, uint32_t index)
{
	struct page *p = page_at(c, number);
	size_t room;

	if (!p)
		return -ENOMEM;
	if (p->count == PAGE_ENTRIES_MAX) {
		p->count /= 2;
		memmove(p->entry, p->entry + p->count, p->count * sizeof(*p->entry));
	}
	room = p->room;
	if (jit_code_make_room(c, (void **)&p->entry, p->count, &room, sizeof(*p->entry)))
		return -ENOMEM;
	p->room = (uint32_t)room;
	p->entry[p->count++] = index;
	return 0;
}

static int jit_code_add_entry(struct jit_code *c, const struct entry *e)
{
	uint64_t last = (e->start + e->size - 1) >> PAGE_BITS;
	int rc;

	if (c->entry_count >= ENTRIES_MAX)
		return -ENOMEM;
	rc = jit_code_make_room(c, (void **)&c->entries, c->entry_count, &c->entry_room,
				sizeof(*c->entries));
	if (rc)
		return rc;
	c->entries[c->entry_count] = *e;
	for (uint64_t page = e->start >> PAGE_BITS; !rc && page <= last; page++)
		rc = list_on_page(c, page, (uint32_t)c->entry_count);
	/* Some pages may list it already when the budget ends: then it stays, for those. */
	c->entry_count++;
	return rc;
}

static int jit_code_can_be(uint64_t start, uint64_t size)
{
	return size > 0 && size <= JIT_CODE_MAX && start <= UINT64_MAX - size;
}

int jit_code_add(struct jit_code *c, const struct jit_entry *e)
{
	struct entry one = {
		.start = e->start,
		.size = (uint32_t)e->size,
		.since_ns = e->since_ns,
		.line_first = e->line_first,
		.line_count = e->line_count,
	};

	if (!jit_code_can_be(e->start, e->size) ||
	    (uint64_t)e->line_first + e->line_count > c->line_count)
		return -EINVAL;
	one.name = jit_code_copy_text(c, e->name, e->name_bytes);
	return one.name ? jit_code_add_entry(c, &one) : -ENOMEM;
}

static const char *source_file(struct jit_code *c, const char *file, size_t bytes)
{
	uint64_t *value;
	int fresh;

	if (bytes > JIT_NAME_MAX)
		bytes = JIT_NAME_MAX;
	value = map_get(c->files, file, bytes);
	if (value)
		return (const char *)(uintptr_t)*value;
	if (jit_code_take(c, MAP_COST + bytes))
		return NULL;
	value = map_put(c->files, file, bytes, &fresh);
	if (!value)
		return NULL;
	*value = (uint64_t)(uintptr_t)jit_code_copy_text(c, file, bytes);
	return (const char *)(uintptr_t)*value;
}

int64_t jit_code_add_line(struct jit_code *c, uint64_t address, uint32_t line, const char *file,
			  size_t file_bytes)
{
	struct line one = {.address = address, .line = line};

	if (file)
		one.file = source_file(c, file, file_bytes);
	if ((file && !one.file) || c->line_count >= UINT32_MAX ||
	    jit_code_make_room(c, (void **)&c->lines, c->line_count, &c->line_room,
			       sizeof(*c->lines)))
		return -1;
	c->lines[c->line_count] = one;
	return (int64_t)c->line_count++;
}

static int covers(const struct entry *e, uint64_t pc)
{
	return pc - e->start < e->size && pc >= e->start;
}

static const struct entry *jit_code_entry_at(const struct jit_code *c, uint64_t pc,
					     uint64_t time_ns)
{
	uint64_t number = pc >> PAGE_BITS;
	const uint64_t *place = map_get(c->page_of, &number, sizeof(number));
	const struct entry *first = NULL;

	if (!place)
		return NULL;
	for (uint32_t i = c->pages[*place - 1].count; i-- > 0;) {
		const struct entry *e = &c->entries[c->pages[*place - 1].entry[i]];

		if (!covers(e, pc))
			continue;
		if (e->since_ns <= time_ns)
			return e;
		first = e;
	}
	return first;
}

int jit_code_move(struct jit_code *c, uint64_t start, uint64_t to, uint64_t time_ns)
{
	const struct entry *e = jit_code_entry_at(c, start, time_ns);
	struct entry moved;

	if (!e || e->start != start)
		return -ENOENT;
	if (!jit_code_can_be(to, e->size))
		return -EINVAL;
	moved = *e;
	moved.start = to;
	moved.since_ns = time_ns;
	/* Its lines are by address: they would be another function's there. */
	moved.line_count = 0;
	return jit_code_add_entry(c, &moved);
}

/* The last line at or before @pc. */
static const struct line *line_at(const struct jit_code *c, const struct entry *e, uint64_t pc)
{
	const struct line *first;
	size_t count;

	if (!e->line_count)
		return NULL;
	first = c->lines + e->line_first;
	count = array_upto(first, e->line_count, sizeof(*first), offsetof(struct line, address),
			   pc);
	return count ? &first[count - 1] : NULL;
}

int jit_code_find(const struct jit_code *c, uint64_t pc, uint64_t time_ns, struct elf_place *out)
{
	const struct entry *e = jit_code_entry_at(c, pc, time_ns);
	const struct line *l;

	if (!e)
		return -ENOENT;
	l = line_at(c, e, pc);
	*out = (struct elf_place){
		.function = e->name,
		.file = l ? l->file : NULL,
		.line = l && l->file && l->line <= INT32_MAX ? (int)l->line : 0,
		.address = e->start,
	};
	return 0;
}
