/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The producer's end of a slot's two rings (abi/session.h has the protocol, and
 * base/ring_consumer.h the other end). Wait-free; the consumer never blocks the producer.
 *
 * samples: one call reserves, one commits. weft's handlers do not nest, so nothing guards them.
 * events: an append (ring_append.h) may be interrupted by a handler that appends too, or be left by
 * a longjmp: see `busy` in ring.c.
 */
#ifndef WEFT_RUNTIME_RING_H
#define WEFT_RUNTIME_RING_H

#include <stdint.h>

#include <weft/abi/session.h>

#include "base/atomic.h"

struct ring {
	struct weft_ring_producer *producer;
	const struct weft_ring_consumer *consumer;
	uint8_t *data;
	uint32_t bytes; /* power of two */
	/* Of the thread's own stack, for the events ring; 0 = not known. */
	uint64_t stack_low, stack_high;
};

static inline uint32_t weft_ring_record_max(const struct ring *r)
{
	return r->bytes / 2;
}

/*
 * weft_ring_reserve() - contiguous room for a record of @bytes (a multiple of 8, at most
 * half the ring), after a pad if need be; NULL: full. Nothing is published by it.
 */
void *weft_ring_reserve(const struct ring *r, uint32_t bytes);

/*
 * weft_ring_commit() - publish the record at @record, which came from weft_ring_reserve() and
 * has its length (not more than was reserved) in its header.
 */
void weft_ring_commit(const struct ring *r, const struct weft_record *record);

/* Inline on purpose: no libc, no sanitizer between a stack and its copy. Words of 8. */
void weft_ring_copy(void *to, const void *from, uint32_t bytes);

#endif
