/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An append to the events ring, whose record is written in place. The protocol is described in
 * ring.c.
 *
 * 	struct ring_append a = {.ring = &ring, .frame = frame address of the caller};
 * 	struct weft_record *to = ring_append_open(&a, most_bytes, now_ns);
 *
 * 	if (to) {
 * 		... write all of *to but its first word, generation and rsv included ...
 * 		ring_append_close(&a, to, &header, bytes);
 * 	}
 *
 * a.result then is the outcome. What is written in between is BODY in the model. The caller must
 * not be inlined: its own frame address says how deep it is on its stack. Between open and close
 * nothing may be called that appends; a handler that interrupts and appends gets NESTED.
 */
#ifndef WEFT_RUNTIME_RING_APPEND_H
#define WEFT_RUNTIME_RING_APPEND_H

#include "runtime/core/ring.h"

/* In the producer's cache line, beside busy; not part of the reader's contract. */
#define BUSY_SINCE(p) ((p)->own[0])
#define RESERVED(p) ((p)->own[1]) /* where the record in progress will end; 0 = not known */
#define COMMITTING UINT64_C(1)    /* in RESERVED: the record is written, head and written change */
#define COMMIT_WRITTEN(p) ((p)->own[2])

enum weft_ring_result {
	WEFT_RING_WRITTEN = 0,
	WEFT_RING_HEALED = 1, /* written, after an abandoned append was taken over */
	WEFT_RING_FULL = -1,
	WEFT_RING_NESTED = -2, /* another append of the thread is in progress, or may be */
};

struct ring_append {
	const struct ring *ring;
	uint64_t frame;
	uint64_t start; /* position of the record */
	enum weft_ring_result result;
	struct weft_ring_producer *producer; /* of the ring: what is written cannot change it */
};

/* busy is set. WEFT_RING_NESTED; or WEFT_RING_HEALED: busy is ours, and the next record begins at
 * position *from. @now_ns: any clock of this process; 0 = read one. */
enum weft_ring_result weft_ring_enter_over(const struct ring *r, uint64_t frame, uint64_t busy,
					   uint64_t now_ns, uint64_t *from);

static inline void ring_put_pad(const struct ring *r, uint32_t place, uint32_t bytes)
{
	struct weft_record *pad = (struct weft_record *)(void *)(r->data + place);

	pad->bytes = bytes;
	pad->type = WEFT_RECORD_PAD;
	pad->flags = 0;
}

/* The record does not fit before the ring's end, which is @left bytes away: it goes to the ring's
 * beginning. @used: from tail to @from. */
static inline void *ring_place_behind_pad(const struct ring *r, uint64_t from, uint64_t used,
					  uint32_t left, uint32_t bytes, uint64_t *start)
{
	if (used > r->bytes || r->bytes - used < (uint64_t)left + bytes)
		return 0;
	ring_put_pad(r, r->bytes - left, left);
	*start = from + left;
	return r->data;
}

/*
 * Room for a record of @bytes from position @from on, after a pad if need be; *start: its position.
 * Pairs: acquire of tail with the release in ring_reader_release(). model: ROOM, PAD
 */
static inline void *ring_place(const struct ring *r, uint64_t from, uint32_t bytes, uint64_t *start)
{
	uint64_t tail = load_acquire(&r->consumer->tail), used = from - tail;
	uint32_t place = (uint32_t)from & (r->bytes - 1);
	uint32_t left = r->bytes - place;

	if (__builtin_expect(bytes > weft_ring_record_max(r), 0))
		return 0;
	if (__builtin_expect(bytes > left, 0))
		return ring_place_behind_pad(r, from, used, left, bytes, start);
	/* A tail beyond head (no consumer stores one) wraps to a huge use, and means full. */
	if (__builtin_expect(used > r->bytes - bytes, 0))
		return 0;
	*start = from;
	return r->data + place;
}

static inline uint64_t ring_head(const struct ring *r)
{
	return load_relaxed(&r->producer->head);
}

/* Pairs: release of head with the acquire in ring_reader_next(). model: WRITTEN, HEAD */
static inline void ring_publish(struct weft_ring_producer *p, uint64_t written, uint64_t head)
{
	store_release(&p->written, written);
	store_release(&p->head, head);
}

static inline uint64_t ring_one_more(const struct weft_ring_producer *p)
{
	return load_relaxed(&p->written) + 1;
}

/*
 * Built from its parts, not loaded: the caller has just stored them by narrower stores, and a wider
 * load over several stores waits until all have left the store buffer. model: FIRST_WORD
 */
static inline void ring_write_first_word(struct weft_record *to, const struct weft_record *header,
					 uint32_t bytes)
{
	_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the first word of a record");
	uint64_t word = bytes | (uint64_t)header->type << 32 | (uint64_t)header->flags << 48;

	store_relaxed((uint64_t *)(void *)to, word);
}

/* model: BUSY */
static inline void ring_enter(struct weft_ring_producer *p, uint64_t frame)
{
	BUSY_SINCE(p) = 0;
	KEEP_ORDER();
	store_relaxed(&p->busy, frame);
	KEEP_ORDER();
}

/* As weft_ring_enter_over(), which gets copies: what is in registers may stay there. */
static inline enum weft_ring_result ring_enter_over(const struct ring_append *a, uint64_t busy,
						    uint64_t now_ns, uint64_t *from)
{
	const struct ring ring = *a->ring;
	uint64_t begin = 0;
	enum weft_ring_result result = weft_ring_enter_over(&ring, a->frame, busy, now_ns, &begin);

	*from = begin;
	return result;
}

/* Reserves @bytes (a multiple of 8); NULL: a->result says why not. */
static inline __attribute__((always_inline)) struct weft_record *
ring_append_open(struct ring_append *a, uint32_t bytes, uint64_t now_ns)
{
	struct weft_ring_producer *p = a->ring->producer;
	uint64_t busy = load_relaxed(&p->busy); /* model: LOOK */
	struct weft_record *to;
	uint64_t from;

	a->producer = p;
	a->result = WEFT_RING_WRITTEN;
	if (__builtin_expect(busy != 0, 0)) {
		a->result = ring_enter_over(a, busy, now_ns, &from);
		if (a->result == WEFT_RING_NESTED)
			return 0;
	} else {
		RESERVED(p) = 0; /* model: FORGET */
		ring_enter(p, a->frame);
		from = load_relaxed(&p->head);
	}
	to = ring_place(a->ring, from, bytes, &a->start);
	if (__builtin_expect(!to, 0)) {
		store_relaxed(&p->busy, 0);
		a->result = WEFT_RING_FULL;
		return 0;
	}
	store_relaxed(&RESERVED(p), a->start + bytes);
	KEEP_ORDER();
	return to;
}

/* If busy is still ours after COMMITTING, nobody takes the append over (for a minute). */
static inline __attribute__((always_inline)) int ring_commit(const struct ring_append *a,
							     struct weft_record *to,
							     const struct weft_record *header,
							     uint32_t bytes)
{
	struct weft_ring_producer *p = a->producer;
	uint64_t written = ring_one_more(p), end = a->start + bytes;

	store_relaxed(&COMMIT_WRITTEN(p), written);
	KEEP_ORDER();
	store_relaxed(&RESERVED(p), end | COMMITTING);
	KEEP_ORDER();
	if (load_relaxed(&p->busy) != a->frame) /* model: STILL_MINE */
		return 0;
	ring_write_first_word(to, header, bytes);
	ring_publish(p, written, end);
	KEEP_ORDER();
	return 1;
}

/* @bytes: the whole record, no more than reserved. Of @header type and flags are used. */
static inline __attribute__((always_inline)) void
ring_append_close(struct ring_append *a, struct weft_record *to, const struct weft_record *header,
		  uint32_t bytes)
{
	KEEP_ORDER();
	if (ring_commit(a, to, header, bytes))
		store_relaxed(&a->producer->busy, 0);
	else
		a->result = WEFT_RING_NESTED;
}

#endif
