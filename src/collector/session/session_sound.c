/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Is a record what it must be? Its target may be anybody: each length that later readers rely on
 * is checked here, and that its time can be true. Records are private copies by now.
 */
#include "collector/session/session_private.h"

#include "base/clock.h"
#include "collector/process/label_sets.h"

#include <string.h>
#include <weft/abi/otel_thread_context.h>

#define CLOCK_SLACK_NS UINT64_C(1000000000)

uint64_t session_now(const struct session *s)
{
	return s->clock ? s->clock() : clock_mono_ns();
}

/* For a time that is newer than the last reading of the clock, it is read again: a pass may take
 * long on a busy machine. */
enum record_fault fault_of_time(uint64_t time_ns, struct session *s)
{
	if (time_ns > s->judged_ns)
		s->judged_ns = session_now(s);
	return time_ns <= s->judged_ns + CLOCK_SLACK_NS &&
			       time_ns + CLOCK_SLACK_NS >= s->process->opened_ns
		       ? RECORD_SOUND
		       : RECORD_MISTIMED;
}

/* Labels stand behind all else, and each is whole. */
static int labels_are_sound(const struct weft_sample_record *r, uint64_t from)
{
	if (!r->label_bytes)
		return 1;
	return r->label_generation && r->labels_at >= from && r->labels_at % 8 == 0 &&
	       r->label_bytes <= LABEL_BYTES_MAX &&
	       (uint64_t)r->labels_at + r->label_bytes <= r->record.bytes &&
	       label_bytes_are_sound((const uint8_t *)r + r->labels_at, r->label_bytes);
}

/* One part of what other libraries publish, at *at, which moves behind it. */
static int part_is_sound(const struct weft_sample_record *r, uint64_t *at, uint32_t least,
			 uint32_t most)
{
	struct weft_sample_published head;

	if (*at + sizeof(head) > r->record.bytes)
		return 0;
	memcpy(&head, (const uint8_t *)r + *at, sizeof(head));
	*at += sizeof(head);
	if (head.bytes < least || head.bytes > most || *at + head.bytes > r->record.bytes)
		return 0;
	*at += (head.bytes + 7) & ~7u;
	return *at <= r->record.bytes;
}

/* It stands behind the labels. */
static int published_is_sound(const struct weft_sample_record *r, uint64_t from)
{
	uint64_t at = r->labels_at + ((r->label_bytes + UINT64_C(7)) & ~UINT64_C(7)), set;
	struct weft_sample_published head;

	if (!(r->flags & (WEFT_SAMPLE_PUBLISHED | WEFT_SAMPLE_PUBLISHED_SET)))
		return 1;
	if (r->labels_at < from || r->labels_at % 8)
		return 0;
	if (r->flags & WEFT_SAMPLE_PUBLISHED &&
	    !part_is_sound(r, &at, WEFT_OTEL_ATTRIBUTES_AT, WEFT_SAMPLE_PUBLISHED_BYTES))
		return 0;
	set = at;
	if (!(r->flags & WEFT_SAMPLE_PUBLISHED_SET))
		return 1;
	if (!part_is_sound(r, &at, 1, WEFT_SAMPLE_PUBLISHED_SET_BYTES))
		return 0;
	memcpy(&head, (const uint8_t *)r + set, sizeof(head));
	return label_bytes_are_sound((const uint8_t *)r + set + sizeof(head), head.bytes);
}

/* Every length that later readers rely on. */
static int sample_is_whole(const struct weft_sample_record *r)
{
	int64_t stack;
	uint64_t need;

	if (r->record.type != WEFT_RECORD_SAMPLE || r->record.bytes < sizeof(*r))
		return 0;
	stack = captured_bytes(r->stack, r->register_count, r->copy_bytes, r->frame_count);
	if (stack < 0 || r->frame_count > WEFT_FRAMES_MAX)
		return 0;
	need = sizeof(*r) + (uint64_t)stack;
	if (r->stack == WEFT_SAMPLE_RAW && r->flags & WEFT_SAMPLE_CHECK)
		need += r->frame_count * UINT64_C(8);
	return need <= r->record.bytes && labels_are_sound(r, need) && published_is_sound(r, need);
}

enum record_fault fault_of_sample(const struct weft_record *record, struct session *s)
{
	const struct weft_sample_record *r = (const void *)record;

	return sample_is_whole(r) ? fault_of_time(r->time_ns, s) : RECORD_MALFORMED;
}

/* Where the labels of a switch with these flags begin. */
static uint64_t switch_bytes(const struct weft_switch_record *r)
{
	return sizeof(*r) +
	       (r->record.flags & WEFT_SWITCH_TAGS ? WEFT_CONTEXT_V1_TAGS * sizeof(uint32_t) : 0);
}

static int wake_is_sound(const struct weft_switch_record *r)
{
	if (!(r->record.flags & WEFT_SWITCH_WOKEN))
		return 1;
	return !(r->record.flags & WEFT_SWITCH_RUN) && r->woken_ns >= r->begin_ns &&
	       r->woken_ns <= r->end_ns;
}

/* A wait may have begun long before the recording. */
static enum record_fault fault_of_switch(const struct weft_record *record, struct session *s)
{
	const struct weft_switch_record *r = (const void *)record;
	uint64_t labels = record->rsv, at;

	if (record->type != WEFT_RECORD_SWITCH || record->bytes < sizeof(*r))
		return RECORD_MALFORMED;
	at = switch_bytes(r);
	if (labels > WEFT_SWITCH_LABELS_BYTES || at + labels > record->bytes ||
	    record->bytes > at + ((labels + 7) & ~UINT64_C(7)) || r->begin_ns > r->end_ns ||
	    !wake_is_sound(r) ||
	    (labels && !label_bytes_are_sound((const uint8_t *)r + at, labels)))
		return RECORD_MALFORMED;
	return fault_of_time(r->end_ns, s);
}

enum record_fault fault_of_event(struct checked_event *event, struct session *s)
{
	*event = (struct checked_event){0};
	if (event->record->type == WEFT_RECORD_EVENT)
		return session_event_fault(event, s);
	return fault_of_switch(event->record, s);
}
