/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes an event into the thread's events ring, in place (ring_append.h): head, values, context,
 * stack (weft/abi/events.h). Most events have only numbers and no context, and go a short way.
 *
 * A stack is walked into the ring, too, so that the append stays open for as long: events of
 * handlers that come meanwhile are lost, and counted (events_nested). If there is no room for a
 * copy, the frames found are written; if there is none for these either, the event goes without a
 * stack.
 */
#include <string.h>

#include "base/context_snapshot.h"
#include "runtime/context/context.h"
#include "runtime/context/labels.h"
#include "runtime/event/event.h"
#include "runtime/event/events_ring.h"
#include "runtime/stack/registers.h"
#include "runtime/stack/stack.h"

#define REGISTERS_BYTES (64 * 8) /* more than there are */
#define BELOW_SP_BYTES 256       /* more than a red zone */
#define FEW_FRAMES_BYTES ((uint32_t)sizeof(struct weft_event_stack) + 64 * 8)
#define OWN_FRAME() ((uint64_t)(uintptr_t)__builtin_frame_address(0))

static inline uint32_t up(size_t bytes)
{
	return (uint32_t)((bytes + 7) & ~(size_t)7);
}

/* ---- the short way */

/* The labels that a record holds; NULL: none. (The first two of weft's own sets are the ids.) */
static inline const struct weft_custom_labels_set *labels_of(const struct weft_slot *slot)
{
	const struct weft_custom_labels_set *set = weft_labels_visible(slot);

	if (!set || (set->count <= WEFT_CUSTOM_LABELS_RESERVED &&
		     (uint64_t)(uintptr_t)set == slot->ext.label_set))
		return NULL;
	return set;
}

/* Is there anything of the thread to write: ids, tags, labels, a coroutine? */
static inline int has_surroundings(const struct weft_slot *slot)
{
	const uint64_t *tags = (const uint64_t *)(const void *)slot->context.tags;
	uint64_t any = WEFT_LOAD(slot->context.span_id) | WEFT_LOAD(slot->context.root_span_id) |
		       slot->events.coroutine | (uint64_t)(uintptr_t)labels_of(slot);

	for (int i = 0; i < WEFT_CONTEXT_V1_TAGS / 2; i++)
		any |= WEFT_LOAD(tags[i]);
	return any != 0;
}

static inline void event_put_head(struct weft_record *to, const struct weft_slot *slot,
				  const struct weft_event_put *put)
{
	struct weft_event_record *record = (struct weft_event_record *)(void *)to;

	store_relaxed(&to->generation, (uint32_t)slot->thread.generation);
	store_relaxed(&to->rsv, put->type->number);
	record->begin = put->begin;
	record->end = put->end;
}

static inline enum weft_ring_result append_numbers(struct weft_slot *slot,
						   const struct weft_event_put *put, uint64_t frame)
{
	const struct ring ring = events_ring(slot);
	const struct weft_record header = {.type = WEFT_RECORD_EVENT, .flags = put->flags};
	struct ring_append a = {.ring = &ring, .frame = frame};
	uint32_t count = put->type->field_count;
	uint32_t bytes = (uint32_t)sizeof(struct weft_event_record) + count * 8;
	struct weft_record *to = ring_append_open(&a, bytes, 0);
	uint64_t *value = (uint64_t *)(void *)((struct weft_event_record *)(void *)to + 1);

	if (UNLIKELY(!to))
		return a.result;
	event_put_head(to, slot, put);
	for (uint32_t i = 0; i < count; i++)
		store_relaxed(&value[i], (uint64_t)put->values[i].number);
	ring_append_close(&a, to, &header, bytes);
	return a.result;
}

/* ---- all of it */

/* What follows the head, measured once: that much room is reserved. */
struct plan {
	const struct weft_event_put *put;
	const struct weft_custom_labels_set *labels; /* NULL: none */
	struct weft_event_context context;
	uint32_t value_bytes, label_room, stack_room; /* each a multiple of 8 */
	uint16_t flags;
	uint16_t text_bytes[WEFT_EVENT_FIELDS_MAX]; /* UINT16_MAX: null */
};

static const struct weft_event_value nothing;

static const struct weft_event_value *event_put_value_at(const struct weft_event_put *put,
							 uint32_t index)
{
	return index < put->count ? &put->values[index] : &nothing;
}

static int event_put_is_text(const struct weft_event_type *type, uint32_t index)
{
	return type->fields[index].kind == WEFT_EVENT_STRING;
}

static uint16_t cut_text(const char *text, uint32_t bytes)
{
	uint32_t at = bytes;

	while (at && bytes - at < 3 && ((unsigned char)text[at] & 0xC0) == 0x80)
		at--;
	return (uint16_t)(((unsigned char)text[at] & 0xC0) == 0x80 ? bytes : at);
}

static uint16_t measure_text(struct plan *p, const struct weft_event_value *v, uint32_t most)
{
	size_t bytes = v->bytes;

	if (!v->text)
		return UINT16_MAX;
	if (bytes == SIZE_MAX)
		bytes = strnlen(v->text, (size_t)most + 1);
	if (bytes <= most)
		return (uint16_t)bytes;
	p->flags |= WEFT_EVENT_CUT_STRING;
	return cut_text(v->text, most);
}

static uint32_t count_texts(const struct weft_event_type *type)
{
	uint32_t texts = 0;

	for (uint32_t i = 0; i < type->field_count; i++)
		texts += event_put_is_text(type, i) ? 1 : 0;
	return texts;
}

/* All texts together get at most a quarter of the ring. */
static uint32_t longest_text(uint32_t texts)
{
	uint32_t share = texts ? weft_layout.events_bytes / 4 / texts : 0;

	return share < WEFT_EVENT_STRING_MAX ? share : WEFT_EVENT_STRING_MAX;
}

static void plan_values(struct plan *p)
{
	const struct weft_event_type *type = p->put->type;
	uint32_t most = longest_text(count_texts(type));

	for (uint32_t i = 0; i < type->field_count; i++) {
		p->text_bytes[i] = UINT16_MAX;
		if (event_put_is_text(type, i))
			p->text_bytes[i] = measure_text(p, event_put_value_at(p->put, i), most);
		p->value_bytes += p->text_bytes[i] == UINT16_MAX ? 8 : up(4u + p->text_bytes[i]);
	}
}

static uint64_t event_put_take_ids(struct weft_event_context *to, const struct weft_slot *slot)
{
	struct weft_context_snapshot now;
	uint64_t any;

	(void)weft_context_snapshot(slot, &now);
	if (UNLIKELY(!weft_publish_shows_v1()))
		memset(&now, 0, sizeof(now));
	to->span_id = now.span_id;
	to->root_span_id = now.root_span_id;
	memcpy(to->trace_id, now.trace_id, sizeof(to->trace_id));
	to->trace_flags = now.trace_flags;
	memcpy(to->tags, now.tags, sizeof(to->tags));
	any = now.span_id | now.root_span_id;
	for (int i = 0; i < WEFT_CONTEXT_V1_TAGS; i++)
		any |= now.tags[i];
	return any;
}

static void event_put_plan_context(struct plan *p, const struct weft_slot *slot)
{
	uint64_t any = event_put_take_ids(&p->context, slot);

	p->context.coroutine = slot->events.coroutine;
	p->labels = labels_of(slot);
	if (p->labels)
		p->label_room = weft_label_room(p->labels, WEFT_EVENT_LABELS_BYTES);
	if (any | p->context.coroutine | p->label_room)
		p->flags |= WEFT_EVENT_HAS_CONTEXT;
}

static uint32_t event_put_context_bytes(const struct plan *p)
{
	return p->flags & WEFT_EVENT_HAS_CONTEXT ? (uint32_t)sizeof(p->context) + p->label_room : 0;
}

static uint32_t record_bytes(const struct plan *p)
{
	return (uint32_t)sizeof(struct weft_event_record) + p->value_bytes +
	       event_put_context_bytes(p) + p->stack_room;
}

static uint64_t above(uint64_t sp, uint64_t low, uint64_t high)
{
	return sp >= low && sp < high ? high - sp : 0;
}

/* The size of a copy from a little below SP to the stack's end. */
static uint32_t event_put_copy_bytes(const struct weft_slot *slot, uint64_t sp)
{
	uint64_t there =
		above(sp, slot->thread.stack_low, slot->thread.stack_high) +
		above(sp, slot->events.coroutine_stack_low, slot->events.coroutine_stack_high);

	return weft_stack_copy_bytes(there + BELOW_SP_BYTES, WEFT_STACK_COPY_MAX);
}

/* A quarter of the free space, so that stacks leave room for later events; less than half the ring
 * in any case (no text makes a record longer than a quarter of it). */
static uint32_t most_stack(const struct weft_slot *slot)
{
	uint64_t used = load_relaxed(&slot->events_p.head) - load_relaxed(&slot->events_c.tail);

	return used < weft_layout.events_bytes ? (weft_layout.events_bytes - (uint32_t)used) / 4
					       : 0;
}

/* Room for frames or a copy; if there is little, no copy, and few frames. */
static void plan_stack(struct plan *p, const struct weft_slot *slot)
{
	uint32_t most = most_stack(slot), want;

	if (!p->put->caller)
		return;
	want = event_put_copy_bytes(slot, p->put->caller->sp) + REGISTERS_BYTES;
	want = want > WEFT_FRAMES_MAX * 8 ? want : WEFT_FRAMES_MAX * 8;
	want += (uint32_t)sizeof(struct weft_event_stack);
	p->stack_room = want <= most ? want & ~UINT32_C(7) : FEW_FRAMES_BYTES;
}

static uint8_t *event_put_text(uint8_t *to, const struct weft_event_value *v, uint32_t bytes)
{
	uint32_t told = bytes == UINT16_MAX ? WEFT_EVENT_NULL : bytes;
	uint32_t used = bytes == UINT16_MAX ? 4 : 4 + bytes;

	memcpy(to, &told, sizeof(told));
	if (used > 4) /* the pointer of an empty text may be NULL */
		memcpy(to + 4, v->text, used - 4);
	for (; used & 7; used++)
		to[used] = 0;
	return to + used;
}

static uint64_t event_put_word_of(const struct weft_event_type *type, uint32_t index,
				  const struct weft_event_value *v)
{
	uint64_t word = (uint64_t)v->number;
	float real;

	if (!(type->rsv[0] >> index & 1))
		return word;
	real = (float)v->real;
	word = 0;
	memcpy(&word, &real, sizeof(real));
	return word;
}

static uint8_t *put_values(uint8_t *to, const struct plan *p)
{
	const struct weft_event_type *type = p->put->type;

	for (uint32_t i = 0; i < type->field_count; i++) {
		const struct weft_event_value *v = event_put_value_at(p->put, i);
		uint64_t word;

		if (event_put_is_text(type, i)) {
			to = event_put_text(to, v, p->text_bytes[i]);
			continue;
		}
		word = event_put_word_of(type, i, v);
		memcpy(to, &word, sizeof(word));
		to += sizeof(word);
	}
	return to;
}

static uint8_t *event_put_context(uint8_t *to, struct plan *p, struct weft_slot *slot)
{
	uint8_t *labels = to + sizeof(p->context);
	uint32_t used = 0, left_out = 0;

	if (p->labels)
		used = weft_label_bytes_put(p->labels, labels, p->label_room, &left_out);
	if (left_out)
		events_add_one(slot, WEFT_COUNTER_LABELS_UNRECORDED);
	p->context.label_bytes = used;
	memcpy(to, &p->context, sizeof(p->context));
	return labels + up(used);
}

static uint8_t *event_put_stack(uint8_t *to, struct plan *p, struct weft_slot *slot)
{
	uint32_t bytes = 0;

	if (p->stack_room && weft_rt.take_event_stack)
		bytes = weft_rt.take_event_stack(slot, p->put->caller, to, p->stack_room);
	p->flags |= bytes ? WEFT_EVENT_HAS_STACK : WEFT_EVENT_NO_STACK;
	return to + bytes;
}

static __attribute__((noinline)) enum weft_ring_result append_plan(struct weft_slot *slot,
								   struct plan *p)
{
	const struct ring ring = events_ring(slot);
	struct ring_append a = {.ring = &ring, .frame = OWN_FRAME()};
	struct weft_record header = {.type = WEFT_RECORD_EVENT}, *to;
	uint8_t *at;

	to = ring_append_open(&a, record_bytes(p), 0);
	if (!to)
		return a.result;
	event_put_head(to, slot, p->put);
	at = put_values((uint8_t *)to + sizeof(struct weft_event_record), p);
	if (p->flags & WEFT_EVENT_HAS_CONTEXT)
		at = event_put_context(at, p, slot);
	if (p->put->caller)
		at = event_put_stack(at, p, slot);
	header.flags = p->flags;
	ring_append_close(&a, to, &header, (uint32_t)(at - (uint8_t *)to));
	return a.result;
}

/* If it does not fit with its stack, it is written without. */
static __attribute__((noinline)) enum weft_ring_result append_all(struct weft_slot *slot,
								  const struct weft_event_put *put)
{
	struct plan p; /* field by field: clearing all of it takes longer than the rest */
	enum weft_ring_result result;

	p.put = put;
	p.flags = put->flags;
	p.value_bytes = p.label_room = p.stack_room = 0;
	plan_values(&p);
	event_put_plan_context(&p, slot);
	plan_stack(&p, slot);
	result = append_plan(slot, &p);
	while (UNLIKELY(result == WEFT_RING_FULL) && p.stack_room) {
		p.stack_room = p.stack_room > FEW_FRAMES_BYTES ? FEW_FRAMES_BYTES : 0;
		result = append_plan(slot, &p);
	}
	return result;
}

/* ---- */

static inline int is_short(const struct weft_event_put *put)
{
	return put->type->rsv[1] && put->count >= put->type->field_count && !put->caller;
}

__attribute__((noinline)) int weft_event_write(struct weft_slot *slot,
					       const struct weft_event_put *put)
{
	enum weft_ring_result result;

	if (UNLIKELY(!weft_event_is_counted(slot))) {
		weft_event_count(slot, WEFT_COUNTER_EVENTS_NO_SLOT);
		return 0;
	}
	events_add_one(slot, WEFT_COUNTER_EVENTS_ATTEMPTED);
	if (LIKELY(is_short(put)) && LIKELY(!has_surroundings(slot)))
		result = append_numbers(slot, put, OWN_FRAME());
	else
		result = append_all(slot, put);
	if (UNLIKELY(!events_count(slot, result)))
		return 0;
	if (LIKELY(!(put->type->flags & WEFT_EVENT_HOUSEKEEPING)))
		weft_event_add(&slot->events.commits, 1);
	return 1;
}
