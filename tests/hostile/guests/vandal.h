/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process that owns the memory of its session and means harm: what it knows of the session, what
 * it writes there that could be true (vandal_records.c), and what it spoils (vandal_spoil.c).
 *
 * It goes by its own copy of the layout, for it spoils the header, too. Whatever is chosen comes
 * from @random alone, so that a seed makes the same choices again.
 */
#ifndef WEFT_TEST_VANDAL_H
#define WEFT_TEST_VANDAL_H

#include "base/session_layout.h"

#define VANDAL_SLOTS 12
#define VANDAL_STATES 256 /* each that is in use has the collector touch three pages */

struct vandal_ring {
	uint64_t head, written;
};

struct vandal {
	uint8_t *base;
	struct weft_session_header layout;
	uint64_t random;
	uint64_t generation[VANDAL_SLOTS];
	struct vandal_ring ring[VANDAL_SLOTS][2]; /* samples, events */
	uint64_t dict_head, modules_head;
	uint32_t types; /* event types that it has told of */
};

/* xorshift */
static inline uint64_t vandal_any(struct vandal *v)
{
	v->random ^= v->random << 13;
	v->random ^= v->random >> 7;
	v->random ^= v->random << 17;
	return v->random;
}

static inline uint64_t vandal_below(struct vandal *v, uint64_t limit)
{
	return vandal_any(v) % limit;
}

static inline void vandal_seed(struct vandal *v, uint64_t seed)
{
	v->random = seed * UINT64_C(0x9E3779B97F4A7C15) | 1;
	for (int i = 0; i < 8; i++)
		vandal_any(v);
}

static inline struct weft_session_header *vandal_header(const struct vandal *v)
{
	return (struct weft_session_header *)(void *)v->base;
}

static inline struct weft_slot *vandal_slot(const struct vandal *v, uint32_t index)
{
	return weft_session_slot(v->base, &v->layout, index);
}

/* Numbers at which checks are most often wrong. */
uint64_t vandal_odd_number(struct vandal *v);

/* @truth, but for one time in twenty-four. */
uint64_t vandal_lie(struct vandal *v, uint64_t truth);

/* One step of what a target does: a slot is claimed or ended, a record is published, a log grows.
 */
void vandal_write(struct vandal *v);

/* One write to any part of the session, as random as where. */
void vandal_spoil(struct vandal *v);

#endif
