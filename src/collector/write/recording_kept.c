/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a recording has of samples when the oldest chunks leave its file (weft/jfr.h, max_bytes):
 * the writer tells how many have left; what they held is remembered here, chunk by chunk.
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
	for (; count && all->first < all->count; count--)
		recording_events_add(&all->gone, &all->item[all->first++]);
	if (all->first < all->count / 2)
		return;
	all->count -= all->first;
	memmove(all->item, all->item + all->first, all->count * sizeof(*all->item));
	all->first = 0;
}

/* The first chunk of all is one without events, which the writer puts before the first event. */
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
