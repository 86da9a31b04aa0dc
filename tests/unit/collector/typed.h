/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For tests of typed events: definitions and events as a program writes them, byte by byte, and
 * what a liar makes of them. A type is described by the struct of weft/event.h.
 */
#ifndef WEFT_TESTS_TYPED_H
#define WEFT_TESTS_TYPED_H

#include <string.h>
#include <weft/event.h>

#define TYPED_BYTES 8192

/* The data of a WEFT_LOG_EVENT_TYPE record. */
struct definition {
	_Alignas(8) uint8_t data[TYPED_BYTES];
	uint32_t bytes, texts;
};

static inline struct weft_event_type_head *definition_head(struct definition *d)
{
	return (struct weft_event_type_head *)(void *)d->data;
}

static inline struct weft_event_type_field *definition_field(struct definition *d, uint32_t i)
{
	return (struct weft_event_type_field *)(void *)(definition_head(d) + 1) + i;
}

static inline uint32_t definition_text(struct definition *d, const char *text)
{
	uint32_t at = d->bytes - d->texts;

	if (!text)
		return 0;
	memcpy(d->data + d->bytes, text, strlen(text) + 1);
	d->bytes += (uint32_t)strlen(text) + 1;
	return at;
}

static inline void define(struct definition *d, const struct weft_event_type *type)
{
	struct weft_event_type_head *head = definition_head(d);

	memset(d, 0, sizeof(*d));
	d->texts = (uint32_t)(sizeof(*head) +
			      type->field_count * sizeof(struct weft_event_type_field));
	d->bytes = d->texts + 1;
	*head = (struct weft_event_type_head){
		.head_bytes = sizeof(*head),
		.field_bytes = sizeof(struct weft_event_type_field),
		.flags = type->flags,
		.field_count = type->field_count,
		.name = definition_text(d, type->name),
		.label = definition_text(d, type->label),
		.description = definition_text(d, type->description),
		.category = definition_text(d, type->category),
		.threshold = definition_text(d, type->threshold),
		.throttle = definition_text(d, type->throttle),
		.select = definition_text(d, type->select),
	};
	for (uint32_t i = 0; i < type->field_count; i++)
		*definition_field(d, i) = (struct weft_event_type_field){
			.name = definition_text(d, type->fields[i].name),
			.label = definition_text(d, type->fields[i].label),
			.kind = (uint16_t)type->fields[i].kind,
			.content = type->fields[i].content,
		};
	head->text_bytes = d->bytes - d->texts;
}

/* An event as it stands in a ring. */
struct written {
	struct weft_event_record r;
	_Alignas(8) uint8_t rest[TYPED_BYTES];
};

static inline struct written event_of(uint32_t number, uint64_t begin_ns, uint64_t end_ns)
{
	return (struct written){.r = {.record = {.bytes = sizeof(struct weft_event_record),
						 .type = WEFT_RECORD_EVENT,
						 .generation = 1,
						 .rsv = number},
				      .begin = begin_ns,
				      .end = end_ns}};
}

static inline void *put_bytes(struct written *w, const void *data, uint32_t bytes)
{
	uint8_t *at = (uint8_t *)w + w->r.record.bytes;

	memcpy(at, data, bytes);
	w->r.record.bytes += (bytes + 7u) & ~7u;
	return at;
}

static inline void put_number(struct written *w, int64_t number)
{
	put_bytes(w, &number, sizeof(number));
}

/* NULL: null. */
static inline void put_text(struct written *w, const char *text)
{
	uint8_t room[512] = {0};
	uint32_t bytes = text ? (uint32_t)strlen(text) : WEFT_EVENT_NULL;

	memcpy(room, &bytes, sizeof(bytes));
	if (text)
		memcpy(room + sizeof(bytes), text, bytes);
	put_bytes(w, room, (uint32_t)sizeof(bytes) + (text ? bytes : 0));
}

static inline struct weft_event_context *put_context(struct written *w, uint64_t span_id)
{
	struct weft_event_context c = {.span_id = span_id};

	w->r.record.flags |= WEFT_EVENT_HAS_CONTEXT;
	return put_bytes(w, &c, sizeof(c));
}

static inline struct weft_event_stack *put_frames(struct written *w, const uint64_t *pc,
						  uint32_t count)
{
	struct weft_event_stack s = {.stack = WEFT_SAMPLE_FRAMES, .frame_count = count};
	struct weft_event_stack *at;

	w->r.record.flags |= WEFT_EVENT_HAS_STACK;
	at = put_bytes(w, &s, sizeof(s));
	put_bytes(w, pc, count * 8);
	return at;
}

#endif
