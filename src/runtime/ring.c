/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rings, producer's end. A record is written at head and exists when head is stored with
 * release; so whatever interrupts or ends us in between leaves at most bytes behind head
 * that nobody looks at.
 *
 * busy (events ring) is the frame address of the append in progress, 0 = none. An append
 * that finds it set is one of two things. It runs deeper on the same stack, by more than
 * a signal frame: then a handler interrupted the other one, which will go on; this record
 * is dropped (NESTED). Or it runs higher up: then the other one was left by a longjmp for
 * good, and is taken over (HEALED). Deeper, or on another stack altogether (a coroutine, an
 * alternate signal stack), it can also be either: dropped, until a second has passed since
 * the first such drop; then taken over, and the other one, should it go on after all, finds
 * busy changed and publishes nothing.
 */
#include "runtime/ring.h"

#define SAME_STACK_BYTES (UINT64_C(8) << 20)
#define SIGNAL_FRAME_BYTES 600 /* the smallest that a kernel pushes */
#define DOUBT_NS UINT64_C(1000000000)

/* Beside busy, in the producer's line; not part of the reader's contract. */
#define BUSY_SINCE(p) ((p)->rsv[0])
#define COMMIT_HEAD(p) ((p)->rsv[1]) /* where head will stand; 0 = no commit in progress */
#define COMMIT_WRITTEN(p) ((p)->rsv[2])

__attribute__((no_sanitize("address", "thread", "undefined"))) void
weft_ring_copy(void *to, const void *from, uint32_t bytes)
{
#if defined(__x86_64__)
	uint64_t words = bytes / 8;

	__asm__ volatile("rep movsq" : "+D"(to), "+S"(from), "+c"(words) : : "memory");
#else
	uint64_t *out = to;
	const uint64_t *in = from;

	for (uint32_t i = 0; i < bytes / 8; i++) {
		out[i] = in[i];
		__asm__ volatile("" : : : "memory");
	}
#endif
}

static void put_pad(const struct ring *r, uint32_t place, uint32_t bytes)
{
	struct weft_record *pad = (struct weft_record *)(void *)(r->data + place);

	pad->bytes = bytes;
	pad->type = WEFT_RECORD_PAD;
	pad->flags = 0;
}

/*
 * *start: the position of the record, after a pad if need be.
 * Pairs: acquire of tail with the release in ring_reader_release().
 */
static inline void *reserve(const struct ring *r, uint32_t bytes, uint64_t *start)
{
	uint64_t head = __atomic_load_n(&r->producer->head, __ATOMIC_RELAXED);
	uint64_t tail = __atomic_load_n(&r->consumer->tail, __ATOMIC_ACQUIRE);
	uint32_t place = (uint32_t)(head & (r->bytes - 1));
	uint32_t left = r->bytes - place;
	uint32_t pad = bytes > left ? left : 0;

	/* A tail beyond head (no consumer stores one) wraps to a huge use, thus full. */
	if (bytes > weft_ring_record_max(r) || head - tail > r->bytes ||
	    r->bytes - (head - tail) < (uint64_t)pad + bytes)
		return 0;
	if (pad)
		put_pad(r, place, pad);
	*start = head + pad;
	return r->data + (pad ? 0 : place);
}

void *weft_ring_reserve(const struct ring *r, uint32_t bytes)
{
	uint64_t start;

	return reserve(r, bytes, &start);
}

/* Pairs: release of head with the acquire in ring_reader_next(). */
static inline void publish(struct weft_ring_producer *p, uint64_t head)
{
	uint64_t written = __atomic_load_n(&p->written, __ATOMIC_RELAXED);

	__atomic_store_n(&COMMIT_WRITTEN(p), written + 1, __ATOMIC_RELAXED);
	__atomic_store_n(&COMMIT_HEAD(p), head, __ATOMIC_RELEASE);
	__atomic_store_n(&p->written, written + 1, __ATOMIC_RELEASE);
	__atomic_store_n(&p->head, head, __ATOMIC_RELEASE);
	__atomic_store_n(&COMMIT_HEAD(p), 0, __ATOMIC_RELEASE);
}

/* A commit left in its middle: was the record published, and is it counted? */
static void settle(struct weft_ring_producer *p)
{
	uint64_t head = __atomic_load_n(&COMMIT_HEAD(p), __ATOMIC_RELAXED);
	int published = __atomic_load_n(&p->head, __ATOMIC_RELAXED) == head;

	if (head)
		__atomic_store_n(&p->written, COMMIT_WRITTEN(p) - !published, __ATOMIC_RELAXED);
	__atomic_store_n(&COMMIT_HEAD(p), 0, __ATOMIC_RELAXED);
}

void weft_ring_commit(const struct ring *r, const struct weft_record *record)
{
	uint64_t head = __atomic_load_n(&r->producer->head, __ATOMIC_RELAXED);
	uint32_t place = (uint32_t)(head & (r->bytes - 1));
	uint32_t at = (uint32_t)((const uint8_t *)record - r->data);

	if (at != place)
		head += r->bytes - place;
	publish(r->producer, head + record->bytes);
}

enum entry { ENTER, ENTER_ABANDONED, REFUSE };

/* The stack grows down: deeper is a smaller address. */
static enum entry enter(struct weft_ring_producer *p, uint64_t frame, uint64_t now_ns)
{
	uint64_t busy = __atomic_load_n(&p->busy, __ATOMIC_RELAXED);

	if (!busy)
		return ENTER;
	if (frame + SIGNAL_FRAME_BYTES > busy && frame < busy + SAME_STACK_BYTES)
		return ENTER_ABANDONED;
	if (!BUSY_SINCE(p))
		BUSY_SINCE(p) = now_ns;
	return now_ns - BUSY_SINCE(p) > DOUBT_NS ? ENTER_ABANDONED : REFUSE;
}

/* Up to here word by word: `rep movsq` takes some ten nanoseconds to get going. */
#define SHORT_BYTES 128

static void copy_words(uint8_t *out, const uint8_t *in, uint32_t bytes)
{
	if (bytes > SHORT_BYTES) {
		weft_ring_copy(out, in, bytes);
		return;
	}
	for (uint32_t i = 0; i < bytes; i += 8) {
		uint64_t word;

		__builtin_memcpy(&word, in + i, 8);
		*(uint64_t *)(void *)(out + i) = word;
		__asm__ volatile("" : : : "memory"); /* no call of memcpy */
	}
}

/*
 * Field by field: the caller has just stored them so, and a wider load that spans several
 * stores waits until all of them have left the store buffer.
 */
static void copy_header(struct weft_record *to, const struct weft_record *from)
{
	__atomic_store_n(&to->bytes, from->bytes, __ATOMIC_RELAXED);
	__atomic_store_n(&to->type, from->type, __ATOMIC_RELAXED);
	__atomic_store_n(&to->flags, from->flags, __ATOMIC_RELAXED);
	__atomic_store_n(&to->generation, from->generation, __ATOMIC_RELAXED);
	__atomic_store_n(&to->rsv, from->rsv, __ATOMIC_RELAXED);
}

static void write_record(struct weft_record *to, const struct weft_record *header,
			 const void *payload, uint32_t payload_bytes)
{
	uint8_t *out = (uint8_t *)(to + 1);
	const uint8_t *in = payload;
	uint32_t words = payload_bytes & ~7u;

	copy_header(to, header);
	copy_words(out, in, words);
	for (uint32_t i = words; i < payload_bytes; i++)
		out[i] = in[i];
}

/* Not inlined: its frame address must be its own. */
__attribute__((noinline)) enum weft_ring_result
weft_ring_append(const struct ring *r, struct weft_record *header, const void *payload,
		 uint32_t payload_bytes, uint64_t now_ns)
{
	uint64_t frame = (uint64_t)(uintptr_t)__builtin_frame_address(0);
	enum entry entry = enter(r->producer, frame, now_ns);
	struct weft_record *to;
	uint64_t start;

	if (entry == REFUSE)
		return WEFT_RING_NESTED;
	__atomic_store_n(&r->producer->busy, frame, __ATOMIC_RELAXED);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	BUSY_SINCE(r->producer) = 0;
	if (entry == ENTER_ABANDONED)
		settle(r->producer);
	header->bytes = (uint32_t)sizeof(*header) + ((payload_bytes + 7) & ~7u);
	to = reserve(r, header->bytes, &start);
	if (to) {
		write_record(to, header, payload, payload_bytes);
		__atomic_signal_fence(__ATOMIC_SEQ_CST);
		if (__atomic_load_n(&r->producer->busy, __ATOMIC_RELAXED) != frame)
			return WEFT_RING_NESTED;
		publish(r->producer, start + header->bytes);
	}
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	__atomic_store_n(&r->producer->busy, 0, __ATOMIC_RELAXED);
	if (!to)
		return WEFT_RING_FULL;
	return entry == ENTER ? WEFT_RING_WRITTEN : WEFT_RING_HEALED;
}
