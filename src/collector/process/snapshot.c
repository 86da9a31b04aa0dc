/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Module map snapshots: see snapshot.h.
 *
 * A place is written in steps: every older snapshot that it covers is taken back (its number
 * becomes 0) before the first byte of it changes; a handler that was reading one sees that
 * when it looks at the number again. Since places follow one another round the area, the
 * oldest go first. The process or the collector may die between any two stores: what was
 * published last stays whole, for it is not touched before the next is published.
 */
#include "collector/process/snapshot.h"

#include "base/atomic.h"

#include <string.h>

#define HEAD sizeof(struct weft_map_snapshot)

void snapshots_begin(struct snapshots *s, void *base, const struct weft_session_header *layout)
{
	*s = (struct snapshots){
		.header = base,
		.area = (uint8_t *)base + layout->map_offset,
		.area_offset = layout->map_offset,
		.area_bytes = layout->map_bytes,
		.number = layout->map_number & WEFT_MAP_NUMBER_BITS,
	};
}

static struct weft_map_snapshot *snapshot_at(const struct snapshots *s, uint64_t offset)
{
	return (struct weft_map_snapshot *)(void *)(s->area + offset);
}

/* At most a third of the area, so that the next snapshot never overlaps the newest. */
uint32_t snapshots_most(const struct snapshots *s)
{
	uint64_t most = s->area_bytes / 3;

	most = most > HEAD ? (most - HEAD) / sizeof(struct weft_map_module) : 0;
	return most < WEFT_MAP_MODULES_MAX ? (uint32_t)most : WEFT_MAP_MODULES_MAX;
}

static void forget_oldest(struct snapshots *s)
{
	store_relaxed(&snapshot_at(s, s->place[0].offset)->number, 0);
	memmove(s->place, s->place + 1, --s->places * sizeof(*s->place));
}

static int overlaps(const struct snapshot_place *a, const struct snapshot_place *b)
{
	return a->offset < b->offset + b->bytes && b->offset < a->offset + a->bytes;
}

/* Takes back the oldest ones, up to the last that overlaps @next. */
static void snapshot_take_back(struct snapshots *s, const struct snapshot_place *next)
{
	uint32_t covered = 0;

	for (uint32_t i = 0; i < s->places; i++)
		if (overlaps(&s->place[i], next))
			covered = i + 1;
	if (covered == 0 && s->places == SNAPSHOTS_MAX)
		covered = 1;
	while (covered-- > 0)
		forget_oldest(s);
}

static void snapshot_store_words(void *to, const void *from, size_t bytes)
{
	uint64_t *word = to;
	const uint64_t *value = from;

	for (size_t i = 0; i < bytes / sizeof(*word); i++)
		store_relaxed(&word[i], value[i]);
}

/* Pairs: the fence with the handler's acquire fence before it looks at the number again; the
 * stores of number and map_current with its acquire loads. */
static void write_snapshot(struct snapshots *s, const struct snapshot_place *place,
			   const struct weft_map_module *modules, uint32_t count, uint64_t epoch)
{
	struct weft_map_snapshot *to = snapshot_at(s, place->offset);

	__atomic_thread_fence(__ATOMIC_RELEASE);
	store_relaxed(&to->number, 0);
	snapshot_store_words(to + 1, modules, count * sizeof(*modules));
	store_relaxed(&to->count, count);
	store_relaxed(&to->epoch, epoch);
	store_release(&to->number, s->number);
	store_relaxed(&s->header->map_number, s->number);
	store_release(&s->header->map_current, s->area_offset + place->offset);
}

uint32_t snapshots_next(const struct snapshots *s)
{
	uint32_t next = s->number + 1;

	return next & WEFT_MAP_NUMBER_BITS ? next : next + 1;
}

uint32_t snapshots_put(struct snapshots *s, const struct weft_map_module *modules, uint32_t count,
		       uint64_t tables_used, uint64_t epoch)
{
	struct snapshot_place next = {.offset = s->at};

	if (count > snapshots_most(s))
		count = snapshots_most(s);
	next.bytes = HEAD + count * sizeof(*modules);
	if (s->area_bytes < next.bytes * 3)
		return s->number;
	if (s->area_bytes - next.offset < next.bytes)
		next.offset = 0;
	s->number = snapshots_next(s);
	store_release(&s->header->tables_used, tables_used);
	snapshot_take_back(s, &next);
	write_snapshot(s, &next, modules, count, epoch);
	s->place[s->places++] = next;
	s->at = next.offset + next.bytes;
	return s->number;
}
