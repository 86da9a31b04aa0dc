/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where everything lies in a session: the only place that computes it (for whoever makes the memfd)
 * and that checks it (for whoever receives one). No allocation, no libc: used in the target and in
 * the collector. Names carry the prefix because libweft.a has them.
 */
#ifndef WEFT_BASE_SESSION_LAYOUT_H
#define WEFT_BASE_SESSION_LAYOUT_H

#include <weft/abi/session.h>

#define WEFT_DICT_BYTES (1024 * 1024)
#define WEFT_MODULES_BYTES (1024 * 1024)
#define WEFT_MAP_BYTES (4 * 1024 * 1024)

/*
 * weft_session_layout() - fill the layout fields ([M], 0x000..0x097) of a zeroed header.
 * @slots is rounded up to a multiple of 64 and held to 64..65536; ring sizes 0 mean the
 * default. -EINVAL: a ring size that is no power of two or out of its range.
 * The file is then made @h->total_bytes long; all else in it starts as zeros.
 */
int weft_session_layout(struct weft_session_header *h, uint32_t slots, uint32_t samples_bytes,
			uint32_t events_bytes);

/* How many slots fit into @address_space bytes (0 = no limit): 64..65536, a multiple of 64. */
uint32_t weft_session_slots_for(uint64_t address_space, uint32_t samples_bytes,
				uint32_t events_bytes);

/*
 * weft_session_validate() - is this layout sound for a file of @fd_bytes (from fstat)?
 * 0 or -EPROTO. @h must be a private copy: the other side can change the shared one.
 */
int weft_session_validate(const struct weft_session_header *h, uint64_t fd_bytes);

/* Addresses, from a validated header and an index below its slot_count. */
static inline struct weft_slot *weft_session_slot(void *base, const struct weft_session_header *h,
						  uint32_t index)
{
	return (struct weft_slot *)(void *)((uint8_t *)base + h->slots_offset +
					    index * h->slot_stride);
}

static inline uint64_t *weft_session_states(void *base, const struct weft_session_header *h)
{
	return (uint64_t *)(void *)((uint8_t *)base + h->states_offset);
}

static inline uint64_t *weft_session_free_bits(void *base, const struct weft_session_header *h)
{
	return (uint64_t *)(void *)((uint8_t *)base + h->free_offset);
}

#endif
