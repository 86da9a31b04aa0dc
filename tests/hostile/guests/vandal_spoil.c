/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes of random values to random places of a session: those that a collector reads again and
 * again, and those that it is about to read. See vandal.h.
 */
#include "vandal.h"

#include <stddef.h>
#include <string.h>

#include <weft/abi/events.h>

uint64_t vandal_odd_number(struct vandal *v)
{
	uint64_t power = UINT64_C(1) << vandal_below(v, 64);

	switch (vandal_below(v, 10)) {
	case 0:
		return 0;
	case 1:
		return UINT64_MAX;
	case 2:
		return INT32_MAX;
	case 3:
		return UINT32_MAX;
	case 4:
		return power;
	case 5:
		return power - 1;
	case 6:
		return v->layout.samples_bytes - 16 + vandal_below(v, 5) * 8;
	case 7:
		return vandal_below(v, 64) * 8;
	case 8:
		return vandal_below(v, 256);
	default:
		return vandal_any(v);
	}
}

uint64_t vandal_lie(struct vandal *v, uint64_t truth)
{
	return vandal_below(v, 24) ? truth : vandal_odd_number(v);
}

/* A bit, a byte, or a number of two, four or eight. */
static void spoil_at(struct vandal *v, uint8_t *at)
{
	uint64_t number = vandal_odd_number(v);
	uint64_t kind = vandal_below(v, 5);

	if (kind == 4)
		*at = (uint8_t)(*at ^ 1u << vandal_below(v, 8));
	else
		memcpy(at, &number, (size_t)1 << kind);
}

/* Words that the collector reads in each pass, and heads of what it reads. */
static void spoil_header(struct vandal *v)
{
	static const size_t words[] = {
		offsetof(struct weft_session_header, run_state),
		offsetof(struct weft_session_header, target_state),
		offsetof(struct weft_session_header, blocks_open),
		offsetof(struct weft_session_header, slots_high),
		offsetof(struct weft_session_header, slots_used),
		offsetof(struct weft_session_header, dict_head),
		offsetof(struct weft_session_header, modules_head),
		offsetof(struct weft_session_header, timers_armed),
		offsetof(struct weft_session_header, modules_epoch),
		offsetof(struct weft_session_header, map_number),
		offsetof(struct weft_session_header, map_current),
		offsetof(struct weft_session_header, time_shift_ns),
		offsetof(struct weft_session_header, fresh),
		offsetof(struct weft_session_header, exit_cpu_ns),
		offsetof(struct weft_session_header, attach_taken),
		offsetof(struct weft_session_header, cookie),
	};
	size_t at = words[vandal_below(v, sizeof(words) / sizeof(words[0]))];

	spoil_at(v, v->base + (vandal_below(v, 2) ? at : vandal_below(v, 0x1000 - 8)));
}

static void spoil_state(struct vandal *v)
{
	uint64_t *word = &weft_session_states(v->base, &v->layout)[vandal_below(v, VANDAL_STATES)];

	if (vandal_below(v, 4))
		word = &weft_session_states(v->base, &v->layout)[vandal_below(v, VANDAL_SLOTS)];
	if (vandal_below(v, 2))
		__atomic_store_n(word,
				 WEFT_STATE_WORD(WEFT_GENERATION_OF(*word) + vandal_below(v, 2),
						 vandal_below(v, 6) | (vandal_any(v) & 0x80)),
				 __ATOMIC_RELEASE);
	else
		__atomic_store_n(word, vandal_odd_number(v), __ATOMIC_RELEASE);
}

static void spoil_slot(struct vandal *v)
{
	uint8_t *slot = (uint8_t *)vandal_slot(v, (uint32_t)vandal_below(v, VANDAL_SLOTS));
	uint64_t room = vandal_below(v, 4) ? 0x280 : WEFT_SLOT_CONTROL_BYTES - 8;

	spoil_at(v, slot + vandal_below(v, room));
}

/* Where records are, or will be soon. */
static void spoil_ring(struct vandal *v)
{
	struct weft_slot *slot = vandal_slot(v, (uint32_t)vandal_below(v, VANDAL_SLOTS));
	int is_events = vandal_below(v, 2) != 0;
	uint64_t bytes = is_events ? v->layout.events_bytes : v->layout.samples_bytes;
	uint64_t head = is_events ? slot->events_p.head : slot->samples_p.head;
	uint64_t at = (head - vandal_below(v, 8192) + 512) & (bytes - 1) & ~UINT64_C(7);

	if (at > bytes - 8)
		at = 0;
	spoil_at(v, (uint8_t *)slot +
			    (is_events ? v->layout.events_offset : v->layout.samples_offset) + at);
}

/* From its beginning, or from just before its end. */
static void spoil_area(struct vandal *v, uint64_t offset, uint64_t bytes, uint64_t used)
{
	uint64_t room = used + 256 < bytes ? used + 256 : bytes;
	uint64_t at = vandal_below(v, room);

	if (vandal_below(v, 2) && used > 128 && used < bytes)
		at = used - 128 + vandal_below(v, 192);
	spoil_at(v, v->base + offset + (at + 8 < bytes ? at : 0));
}

void vandal_spoil(struct vandal *v)
{
	const struct weft_session_header *h = &v->layout;

	switch (vandal_below(v, 16)) {
	case 0:
	case 1:
		spoil_header(v);
		break;
	case 2:
		spoil_state(v);
		break;
	case 3:
	case 4:
	case 5:
		spoil_slot(v);
		break;
	case 6:
		spoil_area(v, h->dict_offset, h->dict_bytes, v->dict_head);
		break;
	case 7:
		spoil_area(v, h->modules_offset, h->modules_bytes, v->modules_head);
		break;
	case 8:
		spoil_area(v, h->map_offset, h->map_bytes, 16384);
		break;
	case 9:
		spoil_area(v, h->event_area_offset, h->event_area_bytes, WEFT_EVENT_ROWS_BYTES);
		break;
	default:
		spoil_ring(v);
	}
}
