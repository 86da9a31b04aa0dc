/* SPDX-License-Identifier: Apache-2.0 */
/* Mappings, put together by the files that they are of: see libraries.h. */
#include "collector/process/libraries.h"

#include "base/array.h"
#include "proc/proc_maps.h"

#include <stdlib.h>
#include <string.h>

/* Mappings of one file that follow one another; anonymous ones may lie between. */
struct run {
	struct libraries *all;
	struct proc_map first;
	uint64_t top;
	int executable;
};

void libraries_free(struct libraries *l)
{
	if (!l)
		return;
	for (size_t i = 0; i < l->count; i++)
		free(l->item[i].path);
	free(l->item);
	free(l);
}

/* Takes over its path. */
static void libraries_add(struct libraries *l, const struct library *one)
{
	struct library *grown = NULL;

	if (l->count < LIBRARIES_MAX)
		grown = array_grown(l->item, l->count + 1, &l->room, sizeof(*grown));
	if (!grown) {
		free(one->path);
		return;
	}
	l->item = grown;
	l->item[l->count++] = *one;
}

static void end_run(struct run *run)
{
	struct library one = {.base = run->first.start, .top = run->top, .path = run->first.path};

	if (run->executable)
		libraries_add(run->all, &one);
	else
		free(one.path);
	*run = (struct run){.all = run->all};
}

static int libraries_run_continues(const struct run *run, const struct proc_map *one)
{
	return run->first.path && run->first.inode == one->inode &&
	       run->first.device_major == one->device_major &&
	       run->first.device_minor == one->device_minor &&
	       strcmp(run->first.path, one->path) == 0 && one->offset > run->first.offset;
}

static int libraries_add_mapping(void *arg, struct proc_map *one)
{
	struct run *run = arg;

	if (!one->inode)
		return 0;
	if (!libraries_run_continues(run, one)) {
		end_run(run);
		run->first = *one;
		one->path = NULL;
	}
	run->top = one->end;
	run->executable |= one->permissions[2] == 'x';
	return 0;
}

struct libraries *libraries_read(const char *text, size_t bytes)
{
	struct run run = {.all = calloc(1, sizeof(*run.all))};

	if (!run.all)
		return NULL;
	proc_maps_parse(text, bytes, libraries_add_mapping, &run);
	end_run(&run);
	if (run.all->count)
		return run.all;
	libraries_free(run.all);
	return NULL;
}

static int libraries_is_same(const struct library *a, const struct library *b)
{
	return a->base == b->base && a->top == b->top && strcmp(a->path, b->path) == 0;
}

/* First come the items that are mapped, sorted by address, then those that have gone. */
void libraries_follow(struct libraries *now, struct libraries *before)
{
	size_t there = now->count, at = 0;

	for (size_t i = 0; before && i < before->count; i++) {
		struct library *old = &before->item[i];

		if (!old->gone)
			while (at < there && now->item[at].base < old->base)
				at++;
		if (!old->gone && at < there && libraries_is_same(&now->item[at], old))
			continue;
		old->gone = 1;
		libraries_add(now, old);
		old->path = NULL;
	}
	libraries_free(before);
}

void libraries_settle(struct libraries *l)
{
	while (l->count && l->item[l->count - 1].gone)
		free(l->item[--l->count].path);
}
