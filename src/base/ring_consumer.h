/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The consumer's end of a slot's ring (abi/session.h): copies whole, checked records out of
 * memory that the producer can change at any time.
 *
 * Trusts nothing: positions live in the reader's private struct, every length is read once
 * and checked against the ring and the published head, and a record is handed out only as
 * a private copy. After a malformed record nothing of what is published can be told apart
 * any more: the reader jumps to head and says -EPROTO; what it left behind is
 * written - delivered of that generation, lost as "invalid".
 *
 * Pairs: the acquire load of head with the producer's release store in ring_commit()
 * (src/runtime/core/ring.h); the release store of tail with its acquire load there.
 * If this side dies between any two steps, the records since the last tail are simply still
 * there. Progress: wait-free.
 */
#ifndef WEFT_BASE_RING_CONSUMER_H
#define WEFT_BASE_RING_CONSUMER_H

#include <errno.h>
#include <string.h>

#include <weft/abi/session.h>

#include "base/atomic.h"

#define RING_PAD_BYTES_MIN 8 /* a pad is its first 8 bytes at least; other records 16 */

struct ring_reader {
	const struct weft_ring_producer *producer;
	struct weft_ring_consumer *consumer;
	const uint8_t *data;
	uint32_t bytes; /* power of two */
	uint64_t tail;
	uint64_t delivered;
};

static inline void ring_reader_open(struct ring_reader *r, const struct weft_ring_producer *p,
				    struct weft_ring_consumer *c, const void *data, uint32_t bytes)
{
	*r = (struct ring_reader){.producer = p, .consumer = c, .data = data, .bytes = bytes};
}

/* Give the space of all records taken so far back to the producer. */
static inline void ring_reader_release(struct ring_reader *r)
{
	store_relaxed(&r->consumer->delivered, r->delivered);
	store_release(&r->consumer->tail, r->tail);
}

/* Bytes published and not yet taken, within what the ring can hold. */
static inline uint64_t ring_reader_pending(const struct ring_reader *r)
{
	uint64_t head = load_acquire(&r->producer->head);

	return head - r->tail <= r->bytes ? head - r->tail : 0;
}

static inline int ring_reader_skip_to_head(struct ring_reader *r, uint64_t head)
{
	r->tail = head;
	return -EPROTO;
}

/*
 * ring_reader_next() - copy the next record into @out (@room bytes, 8-aligned).
 * Returns its length with header, 0 when there is none, -EPROTO after a malformed record or
 * position (see above; call again later), -EMSGSIZE when it is longer than @room (skipped).
 * Space goes back to the producer with ring_reader_release() only.
 */
static inline int ring_reader_next(struct ring_reader *r, void *out, uint32_t room)
{
	uint64_t head = load_acquire(&r->producer->head);

	if (head - r->tail > r->bytes || head % 8)
		return ring_reader_skip_to_head(r, head & ~UINT64_C(7));
	while (head != r->tail) {
		uint32_t place = (uint32_t)(r->tail & (r->bytes - 1));
		uint64_t published = head - r->tail;
		struct weft_record header;

		memset(&header, 0, sizeof(header));
		memcpy(&header, r->data + place, RING_PAD_BYTES_MIN);
		if (header.bytes % 8 || header.bytes < RING_PAD_BYTES_MIN ||
		    header.bytes > r->bytes - place || header.bytes > published)
			return ring_reader_skip_to_head(r, head);
		if (header.type == WEFT_RECORD_PAD) {
			r->tail += header.bytes;
			continue;
		}
		if (header.bytes < sizeof(header))
			return ring_reader_skip_to_head(r, head);
		r->tail += header.bytes;
		if (header.bytes > room)
			return -EMSGSIZE;
		memcpy(out, r->data + place, header.bytes);
		memcpy(out, &header, RING_PAD_BYTES_MIN); /* the length that was checked */
		r->delivered++;
		return (int)header.bytes;
	}
	return 0;
}

#endif
