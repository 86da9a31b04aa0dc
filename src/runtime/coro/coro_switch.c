/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See coro.h. The record is written in place, by the events ring's protocol (ring_append.h).
 * A switch is bookkeeping: it triggers no contextual event.
 */
#include "runtime/coro/coro.h"

#include <string.h>

#include "runtime/context/context.h"
#include "runtime/context/labels.h"
#include "runtime/event/events_ring.h"

static int has_tags(const struct weft_context_snapshot *c)
{
	uint64_t any = 0, pair;

	for (int i = 0; i < WEFT_CONTEXT_V1_TAGS / 2; i++) {
		memcpy(&pair, &c->tags[2 * i], sizeof(pair));
		any |= pair;
	}
	return any != 0;
}

static void coro_switch_fill(struct weft_switch_record *r, const struct weft_slot *slot,
			     const struct weft_switch *interval,
			     const struct weft_context_snapshot *ids)
{
	store_relaxed(&r->record.generation, (uint32_t)slot->thread.generation);
	store_relaxed(&r->record.rsv, 0);
	r->begin_ns = interval->begin_ns;
	r->end_ns = interval->end_ns > interval->begin_ns ? interval->end_ns : interval->begin_ns;
	r->coroutine = interval->coroutine;
	r->addr = interval->addr;
	r->woken_ns = interval->woken_ns;
	r->span_id = ids->span_id;
	r->root_span_id = ids->root_span_id;
	memcpy(r->trace_id, ids->trace_id, sizeof(r->trace_id));
}

/* Returns the end of the record. */
static uint8_t *put_labels(struct weft_switch_record *r, uint8_t *to, uint32_t room,
			   struct weft_slot *slot, const struct weft_custom_labels_set *labels)
{
	uint32_t left_out = 0, used = weft_label_bytes_put(labels, to, room, &left_out);

	if (left_out)
		events_add_one(slot, WEFT_COUNTER_LABELS_UNRECORDED);
	store_relaxed(&r->record.rsv, used);
	return to + ((used + 7) & ~7u);
}

static __attribute__((noinline)) enum weft_ring_result
coro_switch_append(struct weft_slot *slot, const struct weft_switch *interval,
		   const struct weft_context_snapshot *ids,
		   const struct weft_custom_labels_set *labels)
{
	const struct ring ring = events_ring(slot);
	struct ring_append a = {.ring = &ring,
				.frame = (uint64_t)(uintptr_t)__builtin_frame_address(0)};
	struct weft_record header = {.type = WEFT_RECORD_SWITCH, .flags = interval->flags};
	uint32_t tags = has_tags(ids) ? sizeof(ids->tags) : 0;
	uint32_t room = labels ? weft_label_room(labels, WEFT_SWITCH_LABELS_BYTES) : 0;
	struct weft_switch_record *r =
		(void *)ring_append_open(&a, (uint32_t)sizeof(*r) + tags + room, interval->end_ns);
	uint8_t *at;

	if (UNLIKELY(!r))
		return a.result;
	at = (uint8_t *)(r + 1);
	coro_switch_fill(r, slot, interval, ids);
	if (UNLIKELY(tags)) {
		header.flags |= WEFT_SWITCH_TAGS;
		memcpy(at, ids->tags, sizeof(ids->tags));
		at += sizeof(ids->tags);
	}
	if (UNLIKELY(labels != NULL))
		at = put_labels(r, at, room, slot, labels);
	ring_append_close(&a, &r->record, &header, (uint32_t)(at - (uint8_t *)r));
	return a.result;
}

void weft_switch_put(struct weft_slot *slot, const struct weft_switch *interval,
		     const struct weft_switch_context *context)
{
	static const struct weft_context_snapshot nothing;
	struct weft_switch_context own;
	enum weft_ring_result result;

	if (UNLIKELY(!slot || slot == weft_slot_private())) {
		weft_rt_count(WEFT_COUNTER_EVENTS_NO_SLOT, 1);
		return;
	}
	if (LIKELY(!context)) {
		weft_switch_read_context(slot, &own);
		context = &own;
	}
	events_add_one(slot, WEFT_COUNTER_EVENTS_ATTEMPTED);
	result = coro_switch_append(slot, interval,
				    LIKELY(weft_publish_shows_v1()) ? &context->ids : &nothing,
				    context->labels);
	if (LIKELY(events_count(slot, result)))
		events_add_one(slot, WEFT_COUNTER_CORO_SWITCHES);
}
