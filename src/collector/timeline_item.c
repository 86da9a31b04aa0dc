/* SPDX-License-Identifier: Apache-2.0 */
/* What waits in a timeline, and what is remembered of it: see timeline.h. */
#include "collector/timeline.h"

#include <stdlib.h>
#include <string.h>

struct timeline_item *timeline_item_new(const struct weft_sample_record *sample,
					const struct recording_trace *trace,
					const struct wall_word *word)
{
	size_t frames = trace ? trace->count : 0;
	struct timeline_item *item = calloc(1, sizeof(*item) + frames * sizeof(item->frame[0]));

	if (!item)
		return NULL;
	item->refs = 1;
	if (word)
		item->word = *word;
	if (sample)
		item->sample = *sample;
	if (frames)
		memcpy(item->frame, trace->frame, frames * sizeof(item->frame[0]));
	item->trace = (struct recording_trace){item->frame, frames, trace && trace->truncated};
	item->time_ns = sample && sample->time_ns ? sample->time_ns : item->word.to_ns;
	return item;
}

void timeline_keep(struct timeline_item *item)
{
	item->refs++;
}

void timeline_drop(struct timeline_item *item)
{
	if (item && --item->refs == 0)
		free(item);
}
