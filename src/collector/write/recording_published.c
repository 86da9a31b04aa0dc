/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a handler has copied of another library's context (abi/sample_parts.h), decoded with the
 * newest key map that the outside thread has read, and added to its sample.
 */
#include "collector/write/recording_private.h"

#include "collector/look/published_merge.h"
#include "collector/process/published_context.h"
#include "collector/walk/walking.h"
#include "reader/context/custom_labels.h"
#include "reader/context/otel_record.h"

#include <string.h>

/* A set as a context: its ids by weft's convention. */
static void recording_decode_set(const uint8_t *at, uint32_t bytes, struct live_context *out)
{
	struct weft_sample_label head;

	live_begin(out, LIVE_CUSTOM_LABELS);
	for (const uint8_t *end = at + bytes; at < end;) {
		memcpy(&head, at, sizeof(head));
		at += sizeof(head);
		live_add(out, at, head.key_bytes, at + head.key_bytes, head.value_bytes);
		at += head.key_bytes + head.value_bytes;
	}
	custom_labels_parse_ids(out);
}

/* The newest key map; NULL: none is known. */
static const struct otel_payload *recording_keys(const struct process *p)
{
	const struct published_context *c = process_published_context(p);

	return c ? &c->payload : NULL;
}

static void recording_merge(struct recording *r, const struct walked_sample *walked,
			    struct published_merge *m)
{
	const struct weft_sample_published *otel = walked_published(walked, WEFT_SAMPLE_PUBLISHED);
	const struct weft_sample_published *set =
		walked_published(walked, WEFT_SAMPLE_PUBLISHED_SET);

	if (otel) {
		otel_record_decode((const uint8_t *)(otel + 1), otel->bytes, m->keys,
				   WEFT_OTEL_ROOT_KEY, &r->published);
		m->counts->context_otel += (uint64_t)published_merge(m, &r->published);
	}
	if (set) {
		recording_decode_set((const uint8_t *)(set + 1), set->bytes, &r->published);
		m->counts->context_labels += (uint64_t)published_merge(m, &r->published);
	}
}

uint32_t recording_add_published(struct recording *r, struct process *p,
				 const struct walked_sample *walked,
				 struct weft_sample_record *sample, uint32_t labels)
{
	uint8_t room[LABEL_BYTES_MAX];
	struct published_merge m = {.sample = sample,
				    .labels = room,
				    .keys = recording_keys(p),
				    .counts = &p->work->own};

	m.counts->context_unreadable += (sample->flags & WEFT_SAMPLE_UNREADABLE) != 0;
	if (published_drops_own(r->o.context_from)) {
		published_drop_own(sample);
		sample->label_generation = labels = 0;
	}
	if (sample->context == WEFT_CONTEXT_BUSY || sample->context == WEFT_CONTEXT_BAD)
		return labels;
	m.has_own_labels = labels || sample->label_generation;
	recording_merge(r, walked, &m);
	return labels ? labels : recording_label_set(r, room, (uint32_t)m.bytes);
}
