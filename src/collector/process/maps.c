/* SPDX-License-Identifier: Apache-2.0 */
/* The executable mappings of a process: see maps.h. */
#include "collector/process/maps.h"

#include "base/array.h"
#include "proc/proc_maps.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

#define DELETED " (deleted)" /* as the kernel has it behind a path */

/* A hostile target may have as many mappings as the kernel lets it; more are not looked at. */
#define MAPPINGS_MAX 65536
/* mappings that have gone; samples come seconds late at most */
#define PAST_MAX 4096

int mapping_may_be(const struct mapping *one, const struct stat *st)
{
	return one->inode == 0 || major(st->st_dev) != one->device_major ||
	       minor(st->st_dev) != one->device_minor || st->st_ino == one->inode;
}

static void mapping_free(struct mapping *one)
{
	if (one)
		free(one->path);
	free(one);
}

void maps_free(struct maps *m)
{
	for (size_t i = 0; i < m->count; i++)
		mapping_free(m->item[i]);
	for (size_t i = 0; i < m->past_count; i++)
		mapping_free(m->past[i]);
	free(m->item);
	free(m->past);
	memset(m, 0, sizeof(*m));
}

/* The first item that ends above @address. */
static size_t first_above(const struct maps *m, uint64_t address)
{
	size_t low = 0, high = m->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (m->item[middle]->end <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* The kernel adds DELETED to the path of a file that was deleted since. */
static int same_path(const char *before, const char *now)
{
	size_t length = strlen(before);

	return strncmp(before, now, length) == 0 &&
	       (now[length] == 0 || strcmp(now + length, DELETED) == 0);
}

static int same_mapping(const struct mapping *a, const struct mapping *b)
{
	return a->start == b->start && a->end == b->end && a->offset == b->offset &&
	       a->inode == b->inode && a->device_major == b->device_major &&
	       a->device_minor == b->device_minor && same_path(a->path, b->path);
}

static int maps_make_room(struct mapping ***list, size_t count, size_t *room)
{
	struct mapping **grown = NULL;

	if (count < MAPPINGS_MAX)
		grown = array_grown(*list, count + 1, room, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	*list = grown;
	return 0;
}

static void maps_forget_oldest_half(struct maps *m)
{
	size_t half = m->past_count / 2;

	for (size_t i = 0; i < half; i++)
		mapping_free(m->past[i]);
	m->past_count -= half;
	memmove(m->past, m->past + half, m->past_count * sizeof(*m->past));
}

/* Moves a mapping that has gone to the past. */
static void maps_retire(struct maps *m, struct mapping *one)
{
	one->until = m->number + 1;
	one->missed_ns = m->looked_ns;
	if (m->past_count == PAST_MAX)
		maps_forget_oldest_half(m);
	if (maps_make_room(&m->past, m->past_count, &m->past_room))
		mapping_free(one);
	else
		m->past[m->past_count++] = one;
}

static struct mapping *mapping_copy(struct maps *m, const struct mapping *one)
{
	struct mapping *copy = malloc(sizeof(*copy));

	if (!copy)
		return NULL;
	*copy = *one;
	copy->from = m->number + 1;
	copy->until = 0;
	return copy;
}

int maps_add(struct maps *m, const struct mapping *one)
{
	size_t at = first_above(m, one->start), last = at;
	struct mapping *copy;

	if (at < m->count && same_mapping(m->item[at], one)) {
		free(one->path);
		return 0;
	}
	copy = maps_make_room(&m->item, m->count, &m->room) ? NULL : mapping_copy(m, one);
	if (!copy) {
		free(one->path);
		return -ENOMEM;
	}
	for (; last < m->count && m->item[last]->start < one->end; last++)
		maps_retire(m, m->item[last]);
	memmove(&m->item[at + 1], &m->item[last], (m->count - last) * sizeof(*m->item));
	m->item[at] = copy;
	m->count = m->count - (last - at) + 1;
	m->generation++;
	return 1;
}

/* The list as it was and as it becomes: one pass over both, however much has changed. */
struct merge {
	struct maps *maps;
	struct mapping **item; /* new list */
	size_t count, room;
	size_t at;    /* in the old list */
	uint64_t end; /* of the mapping before */
	int fresh, changed;
};

/* Retires the mappings of the old list that begin below @address. */
static void maps_retire_below(struct merge *g, uint64_t address)
{
	struct maps *m = g->maps;

	for (; g->at < m->count && m->item[g->at]->start < address; g->at++) {
		maps_retire(m, m->item[g->at]);
		g->changed = 1;
	}
}

/* Takes over @one's path. */
static int merge_mapping(struct merge *g, const struct mapping *one)
{
	struct maps *m = g->maps;
	struct mapping *copy = NULL;
	int room = maps_make_room(&g->item, g->count, &g->room) == 0;

	maps_retire_below(g, one->start);
	if (room && g->at < m->count && same_mapping(m->item[g->at], one)) {
		free(one->path);
		g->item[g->count++] = m->item[g->at++];
		return 0;
	}
	copy = room ? mapping_copy(m, one) : NULL;
	if (!copy) {
		free(one->path);
		return -ENOMEM;
	}
	maps_retire_below(g, one->end);
	g->item[g->count++] = copy;
	g->fresh++;
	g->changed = 1;
	return 0;
}

static int maps_merge_line(void *arg, struct proc_map *one)
{
	struct merge *g = arg;
	struct mapping mapping = {
		.start = one->start,
		.end = one->end,
		.offset = one->offset,
		.inode = one->inode,
		.device_major = one->device_major,
		.device_minor = one->device_minor,
		.path = one->path,
	};

	if (one->permissions[2] != 'x' || one->start < g->end)
		return 0;
	g->end = one->end;
	one->path = NULL;
	return merge_mapping(g, &mapping);
}

/* After a failure the rest of the old list stays, as far as there is memory. */
static void finish_merge(struct merge *g, int failed)
{
	struct maps *m = g->maps;

	while (failed && g->at < m->count && maps_make_room(&g->item, g->count, &g->room) == 0) {
		struct mapping *old = m->item[g->at++];

		if (g->count && old->start < g->item[g->count - 1]->end)
			maps_retire(m, old);
		else
			g->item[g->count++] = old;
	}
	maps_retire_below(g, UINT64_MAX);
	free(m->item);
	m->item = g->item;
	m->count = g->count;
	m->room = g->room;
	m->generation += g->changed != 0;
}

int maps_update(struct maps *m, const char *text, size_t bytes)
{
	struct merge g = {.maps = m};
	int rc = proc_maps_parse(text, bytes, maps_merge_line, &g);

	finish_merge(&g, rc);
	return rc ? rc : g.fresh;
}

static struct mapping *find_now(const struct maps *m, uint64_t pc)
{
	size_t at = first_above(m, pc);

	return at < m->count && mapping_holds(m->item[at], pc) ? m->item[at] : NULL;
}

struct mapping *maps_find(const struct maps *m, uint64_t pc)
{
	struct mapping *found = find_now(m, pc);

	for (size_t i = m->past_count; !found && i-- > 0;)
		if (mapping_holds(m->past[i], pc))
			found = m->past[i];
	return found;
}

struct mapping *maps_find_then(const struct maps *m, uint64_t pc, uint64_t time_ns)
{
	struct mapping *found = find_now(m, pc);

	for (size_t i = m->past_count; !found && i-- > 0 && m->past[i]->missed_ns > time_ns;)
		if (mapping_holds(m->past[i], pc))
			found = m->past[i];
	return found;
}

/* The past is searched from its end, down to what had gone before snapshot @number. */
struct mapping *maps_find_at(const struct maps *m, uint64_t pc, uint32_t number)
{
	struct mapping *found = find_now(m, pc);

	if (found && found->from <= number)
		return found;
	for (size_t i = m->past_count; i-- > 0 && m->past[i]->until > number;)
		if (m->past[i]->from <= number && mapping_holds(m->past[i], pc))
			return m->past[i];
	return NULL;
}

void mapping_name(const struct mapping *one, char *out, size_t bytes)
{
	const char *slash = strrchr(one->path, '/');
	const char *name = slash && one->path[0] == '/' ? slash + 1 : one->path;
	size_t length = strlen(name), tail = sizeof(DELETED) - 1;

	if (length > tail && strcmp(name + length - tail, DELETED) == 0)
		length -= tail;
	snprintf(out, bytes, "%.*s", (int)length, name);
}
