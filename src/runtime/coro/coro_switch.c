/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See coro_switch.h. The append is the events ring's (ring.c), which describes what happens to one
 * that is interrupted by another, or left by a longjmp. A switch is bookkeeping: it triggers no
 * contextual event.
 */
#include "runtime/coro/coro_switch.h"

#include <string.h>

#include "runtime/context/label_bytes.h"
#include "runtime/context/publish.h"
#include "runtime/event/events_ring.h"

/* The fixed part and the tags: what is copied at once. */
struct told {
	struct weft_switch_record r;
	uint32_t tags[WEFT_CONTEXT_V1_TAGS];
};
_Static_assert(offsetof(struct told, tags) == sizeof(struct weft_switch_record), "one piece");

static int has_tags(const struct weft_context_snapshot *c)
{
	uint64_t any = 0, pair;

	for (int i = 0; i < WEFT_CONTEXT_V1_TAGS / 2; i++) {
		memcpy(&pair, &c->tags[2 * i], sizeof(pair));
		any |= pair;
	}
	return any != 0;
}

/* Returns the size. */
static uint32_t encode_context(const struct weft_context_snapshot *c, struct told *t)
{
	if (UNLIKELY(!weft_publish_shows_v1()))
		return sizeof(t->r);
	t->r.span_id = c->span_id;
	t->r.root_span_id = c->root_span_id;
	memcpy(t->r.trace_id, c->trace_id, sizeof(t->r.trace_id));
	if (LIKELY(!has_tags(c)))
		return sizeof(t->r);
	memcpy(t->tags, c->tags, sizeof(t->tags));
	t->r.record.flags |= WEFT_SWITCH_TAGS;
	return sizeof(*t);
}

static enum weft_ring_result coro_switch_append(struct weft_slot *slot, const struct told *t,
						uint32_t bytes, const uint8_t *labels)
{
	const struct ring ring = events_ring(slot);
	const struct weft_ring_part part[2] = {
		{(const uint8_t *)t + sizeof(t->r.record), bytes - (uint32_t)sizeof(t->r.record)},
		{labels, t->r.record.rsv},
	};

	return weft_ring_append_two(&ring, &t->r.record, part, t->r.end_ns);
}

/* Not inlined: few coroutines have labels, and the stacks of the others may be small. */
static __attribute__((noinline)) enum weft_ring_result
append_labelled(struct weft_slot *slot, const struct weft_custom_labels_set *set, struct told *t,
		uint32_t bytes)
{
	uint8_t labels[WEFT_SWITCH_LABELS_BYTES];
	uint32_t left_out = 0;

	t->r.record.rsv = weft_label_bytes_put(set, labels, sizeof(labels), &left_out);
	if (left_out)
		events_add_one(slot, WEFT_COUNTER_LABELS_UNRECORDED);
	return coro_switch_append(slot, t, bytes, labels);
}

static void coro_switch_count(struct weft_slot *slot, enum weft_ring_result result)
{
	if (LIKELY(events_count(slot, result)))
		events_add_one(slot, WEFT_COUNTER_CORO_SWITCHES);
}

static void coro_switch_fill(struct told *t, const struct weft_slot *slot,
			     const struct weft_switch *interval)
{
	t->r.record = (struct weft_record){
		.type = WEFT_RECORD_SWITCH,
		.flags = interval->flags,
		.generation = (uint32_t)slot->thread.generation,
	};
	t->r.begin_ns = interval->begin_ns;
	t->r.end_ns = interval->end_ns > interval->begin_ns ? interval->end_ns : interval->begin_ns;
	t->r.coroutine = interval->coroutine;
	t->r.addr = interval->addr;
	t->r.woken_ns = interval->woken_ns;
	t->r.span_id = t->r.root_span_id = 0;
	memset(t->r.trace_id, 0, sizeof(t->r.trace_id));
}

void weft_switch_put_of(struct weft_slot *slot, const struct weft_switch *interval,
			const struct weft_switch_context *context)
{
	struct told t;
	uint32_t bytes;

	if (UNLIKELY(!slot || slot == weft_slot_private())) {
		weft_rt_count(WEFT_COUNTER_EVENTS_NO_SLOT, 1);
		return;
	}
	events_add_one(slot, WEFT_COUNTER_EVENTS_ATTEMPTED);
	coro_switch_fill(&t, slot, interval);
	bytes = encode_context(&context->ids, &t);
	coro_switch_count(slot, UNLIKELY(context->labels)
					? append_labelled(slot, context->labels, &t, bytes)
					: coro_switch_append(slot, &t, bytes, NULL));
}

void weft_switch_put(struct weft_slot *slot, const struct weft_switch *interval)
{
	struct weft_switch_context c = {.labels = NULL};

	if (LIKELY(slot != NULL))
		weft_switch_read_context(slot, &c);
	weft_switch_put_of(slot, interval, &c);
}
