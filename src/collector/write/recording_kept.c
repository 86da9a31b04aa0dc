/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How many samples are left in a file from which the writer drops the oldest chunks (weft/jfr.h,
 * max_bytes): it tells how many chunks it has dropped, and what each held is remembered here.
 */
#include "collector/write/recording_private.h"

#include "base/array.h"

static int recording_kept_append(struct chunk_events *all, const struct recording_events *one)
{
	struct recording_events *grown =
		array_grown(all->item, all->count + 1, &all->room, sizeof(*grown));

	if (!grown)
		return -1;
	all->item = grown;
	all->item[all->count++] = *one;
	return 0;
}

static void recording_kept_leave(struct chunk_events *all, uint64_t count)
{
	for (; count && all->count; count--) {
		recording_events_add(&all->gone, all->item);
		memmove(all->item, all->item + 1, --all->count * sizeof(*all->item));
	}
}

/* The writer begins a file with a chunk without events, which was not told here. */
void recording_kept(struct recording *r, const struct recording_events *chunk)
{
	static const struct recording_events nothing;
	struct chunk_events *all = &r->chunks;
	struct weft_jfr_written written;

	if (!r->o.max_bytes && !r->o.max_age_ns)
		return;
	weft_jfr_written(r->writer, &written);
	while (all->chunks + 1 < written.chunks && recording_kept_append(all, &nothing) == 0)
		all->chunks++;
	if (recording_kept_append(all, chunk) == 0)
		all->chunks++;
	recording_kept_leave(all, written.dropped_chunks - all->dropped);
	all->dropped = written.dropped_chunks;
}
