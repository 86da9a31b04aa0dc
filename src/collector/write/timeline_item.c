/* SPDX-License-Identifier: Apache-2.0 */
/* What waits in a timeline, and what is remembered of it: see timeline.h. */
#include "collector/write/timeline.h"

#include <stdlib.h>
#include <string.h>

/* @more bytes stand behind the frames. */
static struct timeline_item *item_alloc(enum timeline_kind kind,
					const struct recording_trace *trace, size_t more)
{
	size_t frames = trace ? trace->count : 0, bytes = frames * sizeof(struct weft_jfr_frame);
	struct timeline_item *item = calloc(1, sizeof(*item) + bytes + more);

	if (!item)
		return NULL;
	item->refs = 1;
	item->bytes = (uint32_t)(sizeof(*item) + bytes + more);
	item->kind = (uint8_t)kind;
	if (bytes)
		memcpy(item->frame, trace->frame, bytes);
	item->trace = (struct recording_trace){item->frame, frames, trace && trace->truncated};
	return item;
}

struct timeline_item *timeline_item_of_event(const struct recorded_event *event,
					     const struct recording_trace *trace)
{
	struct timeline_item *item = item_alloc(ITEM_EVENT, trace, event->values_bytes);

	if (!item)
		return NULL;
	item->event = *event;
	item->event.values = memcpy(item->frame + trace->count, event->values, event->values_bytes);
	item->time_ns = event->end_ns;
	return item;
}

struct timeline_item *timeline_item_new(const struct recorded_sample *sample,
					const struct recording_trace *trace,
					const struct wall_word *word)
{
	struct timeline_item *item = item_alloc(word ? ITEM_WORD : ITEM_SAMPLE, trace, 0);

	if (!item)
		return NULL;
	item->has_sample = sample != NULL;
	if (word)
		item->word = *word;
	if (sample)
		item->sample = *sample;
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
