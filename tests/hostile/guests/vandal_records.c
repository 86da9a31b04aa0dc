/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a target writes to its session, true for the most part, so that a collector goes deep into
 * it: claims, samples of both kinds with labels, switches of coroutines, typed events, strings,
 * modules. See vandal.h; for the thread that owns @v alone, with a stack that goes on above it.
 */
#include "vandal.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <weft/abi/events.h>

#define BLOCK_WORDS 1900 /* less than half of the smallest ring */
#define STACK_WORDS 64   /* of its own stack, all of which are there */
#define REGISTERS 17
#define TYPES 6

static uint64_t block[BLOCK_WORDS];

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* ---- slots */

static void claim(struct vandal *v, uint32_t index)
{
	struct weft_slot *slot = vandal_slot(v, index);
	uint64_t *state = &weft_session_states(v->base, &v->layout)[index];
	uint64_t generation = v->generation[index] + 1 + vandal_lie(v, 0) % 1000;

	v->generation[index] = generation;
	__atomic_store_n(state, WEFT_STATE_WORD(generation, WEFT_SLOT_OPENING), __ATOMIC_SEQ_CST);
	memset(v->ring[index], 0, sizeof(v->ring[index]));
	memset(&slot->samples_p, 0, sizeof(slot->samples_p));
	memset(&slot->events_p, 0, sizeof(slot->events_p));
	memset(&slot->samples_c, 0, sizeof(slot->samples_c));
	memset(&slot->events_c, 0, sizeof(slot->events_c));
	memset(slot->counters, 0, sizeof(slot->counters));
	slot->thread.tid = (int32_t)vandal_lie(v, (uint64_t)getpid() + index);
	slot->thread.generation = generation;
	slot->thread.claimed_ns = vandal_lie(v, now_ns());
	for (size_t i = 0; i < sizeof(slot->name); i++)
		slot->name[i] = (char)vandal_any(v);
	slot->given_name[0] = vandal_below(v, 2) ? vandal_any(v) : 0;
	slot->given_name[1] = vandal_any(v);
	if (vandal_header(v)->slots_high <= index)
		vandal_header(v)->slots_high = index + 1;
	__atomic_store_n(state, WEFT_STATE_WORD(generation, WEFT_SLOT_LIVE), __ATOMIC_SEQ_CST);
}

static void end(struct vandal *v, uint32_t index)
{
	struct weft_slot *slot = vandal_slot(v, index);

	slot->events.cpu_ns = vandal_lie(v, vandal_below(v, 1000000));
	slot->thread.ended_ns = vandal_lie(v, now_ns());
	__atomic_store_n(&weft_session_states(v->base, &v->layout)[index],
			 WEFT_STATE_WORD(v->generation[index], WEFT_SLOT_DEAD), __ATOMIC_SEQ_CST);
}

/* ---- rings */

static void put_at(uint8_t *ring, uint64_t head, uint32_t bytes, const void *from, uint32_t count)
{
	memcpy(ring + (head & (bytes - 1)), from, count);
}

/* Of a ring that is full the vandal cares one time in eight not at all. */
static void publish(struct vandal *v, uint32_t index, int is_events, uint32_t count)
{
	struct weft_slot *slot = vandal_slot(v, index);
	struct vandal_ring *mine = &v->ring[index][is_events];
	struct weft_ring_producer *p = is_events ? &slot->events_p : &slot->samples_p;
	struct weft_ring_consumer *c = is_events ? &slot->events_c : &slot->samples_c;
	uint32_t bytes = is_events ? v->layout.events_bytes : v->layout.samples_bytes;
	uint8_t *ring =
		(uint8_t *)slot + (is_events ? v->layout.events_offset : v->layout.samples_offset);
	uint32_t left = bytes - (uint32_t)(mine->head & (bytes - 1));

	if (mine->head + 2 * count - __atomic_load_n(&c->tail, __ATOMIC_ACQUIRE) > bytes &&
	    vandal_below(v, 8))
		return;
	if (left < count) {
		struct weft_record pad = {.bytes = left, .type = WEFT_RECORD_PAD};

		put_at(ring, mine->head, bytes, &pad, left < sizeof(pad) ? left : sizeof(pad));
		mine->head += left;
	}
	put_at(ring, mine->head, bytes, block, count);
	mine->head += count;
	mine->written++;
	slot->counters[is_events ? WEFT_COUNTER_EVENTS_ATTEMPTED : WEFT_COUNTER_ATTEMPTED]++;
	p->written = vandal_lie(v, mine->written);
	__atomic_store_n(&p->head, vandal_lie(v, mine->head), __ATOMIC_RELEASE);
	__atomic_fetch_or(&vandal_header(v)->fresh[0], 1, __ATOMIC_RELEASE);
}

/* ---- parts of records */

static uint64_t any_pc(struct vandal *v)
{
	switch (vandal_below(v, 8)) {
	case 0:
		return vandal_any(v);
	case 1:
		return (uint64_t)(uintptr_t)block + vandal_below(v, sizeof(block));
	case 2:
	case 3:
		return (uint64_t)(uintptr_t)memcpy + vandal_below(v, 0x10000);
	default:
		return (uint64_t)(uintptr_t)claim + vandal_below(v, 0x800);
	}
}

static uint8_t *pad_to_8(uint8_t *at)
{
	while ((uintptr_t)at % 8)
		*at++ = 0;
	return at;
}

/* Whole labels, most often. */
static uint8_t *put_labels(struct vandal *v, uint8_t *at)
{
	for (uint64_t i = vandal_below(v, 6); i > 0; i--) {
		struct weft_sample_label head = {
			.key_bytes = (uint16_t)(1 + vandal_below(v, 6)),
			.value_bytes = (uint16_t)vandal_below(v, 40),
		};
		int text = head.key_bytes + head.value_bytes;

		head.key_bytes = (uint16_t)vandal_lie(v, head.key_bytes);
		head.value_bytes = (uint16_t)vandal_lie(v, head.value_bytes);
		memcpy(at, &head, sizeof(head));
		for (at += sizeof(head); text > 0; text--)
			*at++ = (uint8_t)(vandal_below(v, 8) ? 'a' + vandal_below(v, 3)
							     : vandal_any(v));
	}
	return at;
}

/* Registers and a copy of the stack that the vandal itself runs on, from @stack on. */
static uint64_t *put_copy(struct vandal *v, uint64_t *word, const uint64_t *stack, uint32_t words)
{
	for (uint32_t i = 0; i < REGISTERS; i++)
		*word++ = any_pc(v);
	word[-REGISTERS + 6] = (uint64_t)(uintptr_t)stack;
	word[-REGISTERS + 7] = vandal_lie(v, (uint64_t)(uintptr_t)stack);
	for (uint32_t i = 0; i < words; i++)
		*word++ = i < STACK_WORDS ? stack[i] : any_pc(v);
	return word;
}

static uint64_t *put_frames(struct vandal *v, uint64_t *word, uint32_t frames)
{
	for (uint32_t i = 0; i < frames; i++)
		*word++ = any_pc(v);
	return word;
}

static void put_head(struct vandal *v, struct weft_record *r, uint32_t index, uint16_t type,
		     const void *until)
{
	r->bytes = (uint32_t)vandal_lie(v, (uint64_t)((const uint8_t *)until - (uint8_t *)block));
	r->type = (uint16_t)vandal_lie(v, type);
	r->generation = (uint32_t)vandal_lie(v, v->generation[index]);
}

static uint32_t block_bytes(const void *until)
{
	return (uint32_t)((const uint8_t *)until - (uint8_t *)block);
}

/* ---- records */

static void put_ids(struct vandal *v, struct weft_sample_record *r)
{
	r->context = (uint8_t)vandal_lie(v, vandal_below(v, 6));
	r->span_id = vandal_below(v, 50);
	r->root_span_id = vandal_below(v, 5);
	r->trace_id[vandal_below(v, 16)] = (uint8_t)vandal_any(v);
	r->coroutine = vandal_below(v, 4) ? 0 : vandal_below(v, 20);
	for (int i = 0; i < WEFT_CONTEXT_V1_TAGS; i++)
		r->tags[i] = (uint32_t)vandal_lie(v, vandal_below(v, 8));
}

static void put_sample(struct vandal *v, uint32_t index)
{
	struct weft_sample_record *r = (void *)block;
	const uint64_t *stack = __builtin_frame_address(0);
	uint32_t frames = (uint32_t)vandal_below(v, 60), words = (uint32_t)vandal_below(v, 600);
	int is_copy = vandal_below(v, 2) != 0, has_both = is_copy && !vandal_below(v, 3);
	uint64_t *word = (uint64_t *)(r + 1);
	uint8_t *labels, *at;

	memset(r, 0, sizeof(*r));
	r->copy_address = vandal_lie(v, (uint64_t)(uintptr_t)stack);
	if (is_copy)
		word = put_copy(v, word, stack, words);
	if (!is_copy || has_both)
		word = put_frames(v, word, frames);
	labels = (uint8_t *)word;
	at = put_labels(v, labels);
	r->label_bytes = (uint16_t)vandal_lie(v, (uint64_t)(at - labels));
	r->labels_at = (uint32_t)vandal_lie(v, block_bytes(labels));
	r->label_generation = (uint32_t)vandal_lie(v, vandal_below(v, 9));
	at = pad_to_8(at);
	put_ids(v, r);
	r->time_ns = vandal_lie(v, now_ns());
	r->weight = (uint32_t)vandal_lie(v, 1);
	r->engine = (uint16_t)vandal_lie(v, WEFT_ENGINE_CPU);
	r->flags = (uint16_t)vandal_lie(v, has_both ? WEFT_SAMPLE_CHECK : 0);
	r->stack = (uint8_t)vandal_lie(v, is_copy ? WEFT_SAMPLE_RAW : WEFT_SAMPLE_FRAMES);
	r->register_count = (uint16_t)vandal_lie(v, is_copy ? REGISTERS : 0);
	r->copy_bytes = (uint32_t)vandal_lie(v, is_copy ? words * 8 : 0);
	r->frame_count = (uint32_t)vandal_lie(v, !is_copy || has_both ? frames : 0);
	r->map_number = (uint32_t)vandal_lie(v, vandal_header(v)->map_number);
	r->end = (uint8_t)vandal_lie(v, vandal_below(v, 6));
	put_head(v, &r->record, index, WEFT_RECORD_SAMPLE, at);
	publish(v, index, 0, block_bytes(at));
}

static void put_switch(struct vandal *v, uint32_t index)
{
	struct weft_switch_record *r = (void *)block;
	int has_tags = vandal_below(v, 2) != 0;
	uint8_t *at = (uint8_t *)(r + 1), *labels;

	memset(r, 0, sizeof(*r) + 64);
	r->record.flags =
		(uint16_t)vandal_lie(v, vandal_below(v, 16) & ~(uint64_t)WEFT_SWITCH_TAGS);
	if (has_tags) {
		r->record.flags |= WEFT_SWITCH_TAGS;
		at += WEFT_CONTEXT_V1_TAGS * sizeof(uint32_t);
	}
	labels = at;
	at = put_labels(v, at);
	r->record.rsv = (uint32_t)vandal_lie(v, (uint64_t)(at - labels));
	at = pad_to_8(at);
	r->end_ns = vandal_lie(v, now_ns());
	r->begin_ns = vandal_lie(v, r->end_ns - vandal_below(v, 1000000));
	r->woken_ns = vandal_lie(v, r->begin_ns);
	r->coroutine = vandal_lie(v, vandal_below(v, 20));
	r->addr = any_pc(v);
	r->span_id = vandal_below(v, 50);
	put_head(v, &r->record, index, WEFT_RECORD_SWITCH, at);
	publish(v, index, 1, block_bytes(at));
}

/* Type n has so many fields, of kinds that follow from its number. */
static uint32_t fields_of(uint32_t type)
{
	return 1 + type % 7;
}

static uint16_t kind_of(uint32_t type, uint32_t field)
{
	return (uint16_t)(1 + (type * 5 + field * 3) % WEFT_EVENT_ID);
}

static uint8_t *put_value(struct vandal *v, uint8_t *at, uint16_t kind)
{
	uint64_t number = vandal_below(v, 3) ? vandal_below(v, 9) : vandal_odd_number(v);
	uint32_t bytes = (uint32_t)vandal_below(v, 30);

	if (kind != WEFT_EVENT_STRING) {
		memcpy(at, &number, sizeof(number));
		return at + sizeof(number);
	}
	*(uint32_t *)(void *)at = (uint32_t)vandal_lie(v, bytes);
	for (at += sizeof(bytes); bytes > 0; bytes--)
		*at++ = (uint8_t)vandal_any(v);
	return pad_to_8(at);
}

static uint8_t *put_event_context(struct vandal *v, uint8_t *at)
{
	struct weft_event_context *c = (void *)at;
	uint8_t *labels = (uint8_t *)(c + 1);

	memset(c, 0, sizeof(*c));
	c->span_id = vandal_below(v, 50);
	c->tags[vandal_below(v, WEFT_CONTEXT_V1_TAGS)] = (uint32_t)vandal_below(v, 9);
	at = put_labels(v, labels);
	c->label_bytes = (uint32_t)vandal_lie(v, (uint64_t)(at - labels));
	return pad_to_8(at);
}

static uint8_t *put_event_stack(struct vandal *v, uint8_t *at)
{
	struct weft_event_stack *s = (void *)at;
	const uint64_t *stack = __builtin_frame_address(0);
	int is_copy = vandal_below(v, 2) != 0;
	uint32_t count = (uint32_t)vandal_below(v, 100);

	memset(s, 0, sizeof(*s));
	s->stack = (uint8_t)vandal_lie(v, is_copy ? WEFT_SAMPLE_RAW : WEFT_SAMPLE_FRAMES);
	s->end = (uint8_t)vandal_lie(v, vandal_below(v, 6));
	s->register_count = (uint16_t)vandal_lie(v, is_copy ? REGISTERS : 0);
	s->frame_count = (uint32_t)vandal_lie(v, is_copy ? 0 : count);
	s->copy_bytes = (uint32_t)vandal_lie(v, is_copy ? count * 8 : 0);
	s->copy_address = vandal_lie(v, (uint64_t)(uintptr_t)stack);
	s->map_number = (uint32_t)vandal_lie(v, vandal_header(v)->map_number);
	return (uint8_t *)(is_copy ? put_copy(v, (uint64_t *)(s + 1), stack, count)
				   : put_frames(v, (uint64_t *)(s + 1), count));
}

static void put_event(struct vandal *v, uint32_t index)
{
	struct weft_event_record *r = (void *)block;
	uint32_t type = (uint32_t)vandal_below(v, TYPES);
	uint8_t *at = (uint8_t *)(r + 1);
	uint64_t flags = vandal_below(v, 8) & (WEFT_EVENT_HAS_CONTEXT | WEFT_EVENT_HAS_STACK);

	memset(r, 0, sizeof(*r));
	r->record.rsv = (uint32_t)vandal_lie(v, WEFT_EVENT_ROW_FIRST + type);
	r->end = vandal_lie(v, now_ns());
	r->begin = vandal_lie(v, r->end - vandal_below(v, 1000));
	for (uint32_t i = 0; i < fields_of(type); i++)
		at = put_value(v, at, kind_of(type, i));
	if (flags & WEFT_EVENT_HAS_CONTEXT)
		at = put_event_context(v, at);
	if (flags & WEFT_EVENT_HAS_STACK)
		at = put_event_stack(v, at);
	r->record.flags = (uint16_t)vandal_lie(v, flags);
	put_head(v, &r->record, index, WEFT_RECORD_EVENT, at);
	publish(v, index, 1, block_bytes(at));
}

/* ---- logs */

/* Behind what is there; the head then says so, or something else. */
static void put_log(struct vandal *v, int is_modules, uint16_t type, uint32_t id, uint32_t bytes)
{
	uint64_t offset = is_modules ? v->layout.modules_offset : v->layout.dict_offset;
	uint64_t room = is_modules ? v->layout.modules_bytes : v->layout.dict_bytes;
	uint64_t *mine = is_modules ? &v->modules_head : &v->dict_head;
	uint64_t *head =
		is_modules ? &vandal_header(v)->modules_head : &vandal_header(v)->dict_head;
	struct weft_log_record r = {.type = (uint16_t)vandal_lie(v, type), .id = id};
	uint32_t whole = (uint32_t)(sizeof(r) + bytes + 7) & ~7u;

	if (*mine + whole > room)
		return;
	r.bytes = (uint32_t)vandal_lie(v, whole);
	r.data_bytes = (uint32_t)vandal_lie(v, bytes);
	memcpy(v->base + offset + *mine, &r, sizeof(r));
	memcpy(v->base + offset + *mine + sizeof(r), block, bytes);
	*mine += whole;
	/* A head that lies ends the log, as the collector reads it. */
	__atomic_store_n(head, vandal_below(v, 20) ? *mine : vandal_lie(v, *mine),
			 __ATOMIC_RELEASE);
}

static void put_string(struct vandal *v)
{
	uint32_t bytes = (uint32_t)vandal_below(v, 100);
	uint16_t type = vandal_below(v, 4) ? WEFT_LOG_STRING : WEFT_LOG_TAG_NAME;

	for (uint32_t i = 0; i < bytes; i++)
		((uint8_t *)block)[i] =
			(uint8_t)(vandal_below(v, 9) ? 'a' + i % 26 : vandal_any(v));
	put_log(v, 0, type, (uint32_t)vandal_lie(v, vandal_below(v, 12)), bytes);
}

static void put_module(struct vandal *v)
{
	static const char *const paths[] = {
		"/bin/sh", "/proc/self/mem",   "/dev/zero", "/etc", "/proc/self/exe",
		"",        "/nowhere/\033[2J", "memfd:weft"};
	const char *path = paths[vandal_below(v, sizeof(paths) / sizeof(paths[0]))];
	uint16_t type = (uint16_t)(WEFT_LOG_MODULE + vandal_below(v, 4));
	struct weft_log_module module = {.bias = any_pc(v), .start = any_pc(v) & ~UINT64_C(0xFFF)};
	struct weft_log_loaded loaded = {.since_ns = vandal_lie(v, now_ns() - 1000),
					 .at_ns = vandal_lie(v, now_ns()),
					 .bias = module.bias,
					 .start = module.start,
					 .inode = vandal_any(v)};
	uint32_t bytes = sizeof(module);

	module.end = vandal_lie(v, module.start + 0x1000 * vandal_below(v, 64));
	loaded.end = module.end;
	if (type == WEFT_LOG_MODULE) {
		memcpy(block, &module, bytes);
	} else {
		bytes = type == WEFT_LOG_GONE ? WEFT_LOG_LOADED_AGAIN_BYTES : sizeof(loaded);
		memcpy(block, &loaded, bytes);
	}
	memcpy((uint8_t *)block + bytes, path, strlen(path));
	put_log(v, 1, type, (uint32_t)vandal_below(v, 20), bytes + (uint32_t)strlen(path));
}

static uint32_t put_text(char *texts, uint32_t *used, const char *text)
{
	uint32_t at = *used;

	strcpy(texts + at, text);
	*used += (uint32_t)strlen(text) + 1;
	return at;
}

/* The next of the types, or one of them again. */
static void put_type(struct vandal *v)
{
	uint32_t type = v->types < TYPES ? v->types++ : (uint32_t)vandal_below(v, TYPES);
	struct weft_event_type_head *head = (void *)block;
	struct weft_event_type_field *field = (void *)(head + 1);
	char texts[400] = "", name[32];
	uint32_t used = 1, count = fields_of(type);

	memset(block, 0, sizeof(*head) + count * sizeof(*field));
	snprintf(name, sizeof(name), "app.Vandal%u", type);
	head->name = (uint32_t)vandal_lie(v, put_text(texts, &used, name));
	head->label = put_text(texts, &used, "\033]0;label\a");
	head->threshold = put_text(texts, &used, "1 ms");
	head->throttle = put_text(texts, &used, "100/s");
	head->select = put_text(texts, &used, "if-context");
	head->flags = (uint32_t)vandal_lie(v, WEFT_EVENT_STACK | (type & 1));
	for (uint32_t i = 0; i < count; i++) {
		snprintf(name, sizeof(name), "f%u", i);
		field[i].name = (uint32_t)vandal_lie(v, put_text(texts, &used, name));
		field[i].kind = (uint16_t)vandal_lie(v, kind_of(type, i));
		field[i].content = (uint32_t)vandal_lie(v, 1u << vandal_below(v, 11));
	}
	head->head_bytes = (uint16_t)vandal_lie(v, sizeof(*head));
	head->field_bytes = (uint16_t)vandal_lie(v, sizeof(*field));
	head->field_count = (uint32_t)vandal_lie(v, count);
	head->text_bytes = (uint32_t)vandal_lie(v, used);
	memcpy(field + count, texts, used);
	put_log(v, 0, WEFT_LOG_EVENT_TYPE, WEFT_EVENT_ROW_FIRST + type,
		(uint32_t)((uint8_t *)(field + count) + used - (uint8_t *)block));
}

/* ---- all of it */

void vandal_write(struct vandal *v)
{
	uint32_t index = (uint32_t)vandal_below(v, VANDAL_SLOTS);

	if (v->generation[index] == 0 || vandal_below(v, 40) == 0) {
		claim(v, index);
		return;
	}
	switch (vandal_below(v, 40)) {
	case 0:
		end(v, index);
		break;
	case 1:
		put_module(v);
		break;
	case 2:
	case 3:
		put_string(v);
		break;
	case 4:
		put_type(v);
		break;
	case 5:
	case 6:
	case 7:
	case 8:
	case 9:
		put_switch(v, index);
		break;
	case 10:
	case 11:
	case 12:
	case 13:
	case 14:
	case 15:
	case 16:
	case 17:
		put_event(v, index);
		break;
	default:
		put_sample(v, index);
	}
}
