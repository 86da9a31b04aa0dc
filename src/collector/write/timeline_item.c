/* SPDX-License-Identifier: Apache-2.0 */
/* What waits in a timeline, and what is remembered of it: see timeline.h. */
#include "collector/write/timeline.h"

#include <stdlib.h>
#include <string.h>

static void take_trace(struct timeline_item *item, const struct recording_trace *trace)
{
	size_t frames = trace ? trace->count : 0;

	if (frames)
		memcpy(item->frame, trace->frame, frames * sizeof(item->frame[0]));
	item->trace = (struct recording_trace){item->frame, frames, trace && trace->truncated};
}

/* The values stand behind the frames. */
struct timeline_item *timeline_item_of_event(const struct recorded_event *event,
					     const struct recording_trace *trace)
{
	size_t frames = trace->count * sizeof(trace->frame[0]);
	struct timeline_item *item = calloc(1, sizeof(*item) + frames + event->values_bytes);
	uint8_t *values;

	if (!item)
		return NULL;
	item->refs = 1;
	item->kind = ITEM_EVENT;
	take_trace(item, trace);
	values = (uint8_t *)item->frame + frames;
	memcpy(values, event->values, event->values_bytes);
	item->event = *event;
	item->event.values = values;
	item->time_ns = event->end_ns;
	return item;
}

struct timeline_item *timeline_item_new(const struct recorded_sample *sample,
					const struct recording_trace *trace,
					const struct wall_word *word)
{
	size_t frames = trace ? trace->count : 0;
	struct timeline_item *item = calloc(1, sizeof(*item) + frames * sizeof(item->frame[0]));

	if (!item)
		return NULL;
	item->refs = 1;
	item->kind = word ? ITEM_WORD : ITEM_SAMPLE;
	item->has_sample = sample != NULL;
	if (word)
		item->word = *word;
	if (sample)
		item->sample = *sample;
	take_trace(item, trace);
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
