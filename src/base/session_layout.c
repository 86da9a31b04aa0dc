/* SPDX-License-Identifier: Apache-2.0 */
/* The layout of a session: header, words, logs, map, slots; each area page aligned. */
#include "base/session_layout.h"

#include <errno.h>
#include <weft/abi/events.h>
#include <weft/publish.h>

#define PAGE UINT64_C(4096)
#define AREA_MAX (UINT64_C(1) << 43) /* no single offset or size above: sums cannot wrap */

static uint64_t page_up(uint64_t bytes)
{
	return (bytes + PAGE - 1) & ~(PAGE - 1);
}

static int ring_size_is_sound(uint32_t bytes)
{
	return bytes >= WEFT_RING_BYTES_MIN && bytes <= WEFT_RING_BYTES_MAX &&
	       (bytes & (bytes - 1)) == 0;
}

static uint32_t round_slots(uint64_t slots)
{
	if (slots < WEFT_SESSION_BLOCK_SLOTS)
		return WEFT_SESSION_BLOCK_SLOTS;
	if (slots > WEFT_SESSION_SLOTS_MAX)
		return WEFT_SESSION_SLOTS_MAX;
	return (uint32_t)(slots + WEFT_SESSION_BLOCK_SLOTS - 1) &
	       ~(uint32_t)(WEFT_SESSION_BLOCK_SLOTS - 1);
}

static uint64_t session_layout_place(uint64_t *at, uint64_t bytes)
{
	uint64_t offset = *at;

	*at += page_up(bytes);
	return offset;
}

int weft_session_layout(struct weft_session_header *h, uint32_t slots, uint32_t samples_bytes,
			uint32_t events_bytes)
{
	uint64_t at = WEFT_SESSION_HEADER_BYTES;

	samples_bytes = samples_bytes ? samples_bytes : WEFT_RING_BYTES_DEFAULT;
	events_bytes = events_bytes ? events_bytes : WEFT_RING_BYTES_DEFAULT;
	if (!ring_size_is_sound(samples_bytes) || !ring_size_is_sound(events_bytes))
		return -EINVAL;
	h->magic = WEFT_SESSION_MAGIC;
	h->formats = WEFT_FORMAT_V1; /* until the runtime says otherwise */
	h->version = WEFT_SESSION_VERSION;
	h->header_bytes = WEFT_SESSION_HEADER_BYTES;
	h->slot_count = round_slots(slots);
	h->block_slots = WEFT_SESSION_BLOCK_SLOTS;
	h->states_offset = session_layout_place(&at, h->slot_count * sizeof(uint64_t));
	h->free_offset = session_layout_place(&at, h->slot_count / WEFT_SESSION_BLOCK_SLOTS *
							   sizeof(uint64_t));
	h->dict_offset = session_layout_place(&at, h->dict_bytes = WEFT_DICT_BYTES);
	h->modules_offset = session_layout_place(&at, h->modules_bytes = WEFT_MODULES_BYTES);
	h->map_offset = session_layout_place(&at, h->map_bytes = WEFT_MAP_BYTES);
	h->event_area_bytes = WEFT_EVENT_AREA_BYTES;
	h->event_area_offset = session_layout_place(&at, h->event_area_bytes);
	h->samples_offset = WEFT_SLOT_CONTROL_BYTES;
	h->samples_bytes = samples_bytes;
	h->events_offset = h->samples_offset + samples_bytes;
	h->events_bytes = events_bytes;
	h->slot_stride = (uint64_t)h->events_offset + events_bytes;
	h->slots_offset = session_layout_place(&at, h->slot_count * h->slot_stride);
	h->total_bytes = at;
	return 0;
}

uint32_t weft_session_slots_for(uint64_t address_space, uint32_t samples_bytes,
				uint32_t events_bytes)
{
	uint64_t stride = UINT64_C(0) + WEFT_SLOT_CONTROL_BYTES;

	stride += samples_bytes ? samples_bytes : WEFT_RING_BYTES_DEFAULT;
	stride += events_bytes ? events_bytes : WEFT_RING_BYTES_DEFAULT;
	if (!address_space || address_space / stride > WEFT_SESSION_SLOTS_MAX)
		return WEFT_SESSION_SLOTS_MAX;
	if (address_space / stride < WEFT_SESSION_BLOCK_SLOTS)
		return WEFT_SESSION_BLOCK_SLOTS;
	return (uint32_t)(address_space / stride) & ~(uint32_t)(WEFT_SESSION_BLOCK_SLOTS - 1);
}

/* Is [offset, offset + bytes) page aligned, after *end and within total? Moves *end. */
static int area_follows(uint64_t *end, uint64_t offset, uint64_t bytes, uint64_t total)
{
	if (offset % PAGE || offset < *end || offset > AREA_MAX || bytes > AREA_MAX)
		return 0;
	*end = offset + bytes;
	return *end <= total;
}

static int slot_is_sound(const struct weft_session_header *h)
{
	uint64_t end = WEFT_SLOT_CONTROL_BYTES;

	return ring_size_is_sound(h->samples_bytes) && ring_size_is_sound(h->events_bytes) &&
	       h->slot_stride % PAGE == 0 && h->slot_stride <= AREA_MAX / WEFT_SESSION_SLOTS_MAX &&
	       area_follows(&end, h->samples_offset, h->samples_bytes, h->slot_stride) &&
	       area_follows(&end, h->events_offset, h->events_bytes, h->slot_stride);
}

static int counts_are_sound(const struct weft_session_header *h)
{
	return h->block_slots == WEFT_SESSION_BLOCK_SLOTS &&
	       h->slot_count >= WEFT_SESSION_BLOCK_SLOTS &&
	       h->slot_count <= WEFT_SESSION_SLOTS_MAX &&
	       h->slot_count % WEFT_SESSION_BLOCK_SLOTS == 0;
}

int weft_session_validate(const struct weft_session_header *h, uint64_t fd_bytes)
{
	uint64_t end = WEFT_SESSION_HEADER_BYTES, total = h->total_bytes;
	uint64_t words = h->slot_count * sizeof(uint64_t);

	if (h->magic != WEFT_SESSION_MAGIC || h->version != WEFT_SESSION_VERSION ||
	    h->header_bytes != WEFT_SESSION_HEADER_BYTES || total > fd_bytes || total % PAGE)
		return -EPROTO;
	if (!counts_are_sound(h) || !slot_is_sound(h))
		return -EPROTO;
	if (!area_follows(&end, h->states_offset, words, total) ||
	    !area_follows(&end, h->free_offset, words / WEFT_SESSION_BLOCK_SLOTS, total) ||
	    !area_follows(&end, h->dict_offset, h->dict_bytes, total) ||
	    !area_follows(&end, h->modules_offset, h->modules_bytes, total) ||
	    !area_follows(&end, h->map_offset, h->map_bytes, total) ||
	    !area_follows(&end, h->event_area_offset, h->event_area_bytes, total) ||
	    h->event_area_bytes < WEFT_EVENT_AREA_BYTES ||
	    !area_follows(&end, h->slots_offset, h->slot_count * h->slot_stride, total))
		return -EPROTO;
	return 0;
}
