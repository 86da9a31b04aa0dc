/* SPDX-License-Identifier: Apache-2.0 */
#include "print/batch.h"

#include "base/array.h"

#include <errno.h>
#include <stdlib.h>

void batch_free(struct batch *b)
{
	free(b->entries);
	*b = (struct batch){0};
}

void batch_clear(struct batch *b)
{
	b->count = 0;
	b->is_sorted = 1;
}

int batch_add(struct batch *b, int64_t end_ticks, uint64_t offset)
{
	struct batch_entry *bigger =
		array_grown(b->entries, b->count + 1, &b->room, sizeof(*bigger));

	if (!bigger)
		return -ENOMEM;
	b->entries = bigger;
	if (b->count && end_ticks < bigger[b->count - 1].end_ticks)
		b->is_sorted = 0;
	bigger[b->count++] = (struct batch_entry){end_ticks, offset};
	return 0;
}

static int batch_by_end(const void *left, const void *right)
{
	const struct batch_entry *a = left, *b = right;

	if (a->end_ticks != b->end_ticks)
		return a->end_ticks < b->end_ticks ? -1 : 1;
	return (a->offset > b->offset) - (a->offset < b->offset);
}

void batch_sort(struct batch *b)
{
	if (!b->is_sorted)
		qsort(b->entries, b->count, sizeof(*b->entries), batch_by_end);
	b->is_sorted = 1;
}
