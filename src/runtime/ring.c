/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rings, producer's end. A record is written at head and exists when head is stored with
 * release; so whatever interrupts or ends us in between leaves at most bytes behind head
 * that nobody looks at. Models: tests/models/samples.pml and events.pml, whose step names
 * stand here behind "model:".
 *
 * Events ring. busy is the frame address of the append in progress, 0 = none. An append that
 * finds it set was called by a handler that interrupted the other one, or the other one was
 * left by a longjmp, or runs on another stack (a coroutine, an alternate signal stack) and
 * may go on. Higher up on the same stack it was left for certain: it is taken over (HEALED).
 * Else there is a doubt: this record is dropped (NESTED), until a second has passed since the
 * first such drop. Then it is taken over: busy is ours, what it had reserved becomes a pad,
 * and should it go on after all, it writes into that pad, finds busy changed, and publishes
 * nothing; for this the first word of a record is written last. In the few steps in which it
 * cannot be taken over so (RESERVED does not say that it writes), the doubt lasts a minute.
 */
#include "runtime/ring.h"

#define NEAR_BYTES (UINT64_C(8) << 20)
#define SIGNAL_FRAME_BYTES 600 /* the smallest that a kernel pushes */
#define DOUBT_NS UINT64_C(1000000000)
#define LONG_DOUBT_NS UINT64_C(60000000000)

/* Beside busy, in the producer's line; not part of the reader's contract. */
#define BUSY_SINCE(p) ((p)->rsv[0])
#define RESERVED(p) ((p)->rsv[1]) /* where the record in progress will end; 0 = not known */
#define COMMITTING UINT64_C(1)    /* in RESERVED: no more writing, head and written change */
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
 * A record of @bytes from position @from on, after a pad if need be; *start: its position.
 * Pairs: acquire of tail with the release in ring_reader_release(). model: ROOM, PAD
 */
static inline void *reserve(const struct ring *r, uint64_t from, uint32_t bytes, uint64_t *start)
{
	uint64_t tail = __atomic_load_n(&r->consumer->tail, __ATOMIC_ACQUIRE);
	uint32_t place = (uint32_t)(from & (r->bytes - 1));
	uint32_t left = r->bytes - place;
	uint32_t pad = bytes > left ? left : 0;

	/* A tail beyond head (no consumer stores one) wraps to a huge use, thus full. */
	if (bytes > weft_ring_record_max(r) || from - tail > r->bytes ||
	    r->bytes - (from - tail) < (uint64_t)pad + bytes)
		return 0;
	if (pad)
		put_pad(r, place, pad);
	*start = from + pad;
	return r->data + (pad ? 0 : place);
}

static inline uint64_t head_of(const struct ring *r)
{
	return __atomic_load_n(&r->producer->head, __ATOMIC_RELAXED);
}

void *weft_ring_reserve(const struct ring *r, uint32_t bytes)
{
	uint64_t start;

	return reserve(r, head_of(r), bytes, &start);
}

/* Pairs: release of head with the acquire in ring_reader_next(). model: WRITTEN, HEAD */
static inline void publish(struct weft_ring_producer *p, uint64_t written, uint64_t head)
{
	__atomic_store_n(&p->written, written, __ATOMIC_RELEASE);
	__atomic_store_n(&p->head, head, __ATOMIC_RELEASE);
}

static inline uint64_t one_more(const struct weft_ring_producer *p)
{
	return __atomic_load_n(&p->written, __ATOMIC_RELAXED) + 1;
}

void weft_ring_commit(const struct ring *r, const struct weft_record *record)
{
	uint64_t head = head_of(r);
	uint32_t place = (uint32_t)(head & (r->bytes - 1));
	uint32_t at = (uint32_t)((const uint8_t *)record - r->data);

	if (at != place)
		head += r->bytes - place;
	publish(r->producer, one_more(r->producer), head + record->bytes);
}

enum entry { ENTER, ABANDONED, IN_DOUBT, REFUSE };

static int is_writing(const struct weft_ring_producer *p)
{
	return RESERVED(p) && !(RESERVED(p) & COMMITTING);
}

static int is_within(const struct ring *r, uint64_t address)
{
	return address >= r->stack_low && address < r->stack_high;
}

/* busy is set: what of it? The stack grows down: deeper is a smaller address. */
static enum entry judge(const struct ring *r, uint64_t busy, uint64_t frame, uint64_t now_ns)
{
	struct weft_ring_producer *p = r->producer;
	int is_higher = frame + SIGNAL_FRAME_BYTES > busy && frame < busy + NEAR_BYTES;
	uint64_t waited;

	if (is_higher && is_within(r, frame) && is_within(r, busy))
		return ABANDONED; /* model: CERTAIN */
	if (!BUSY_SINCE(p))
		BUSY_SINCE(p) = now_ns;
	waited = now_ns - BUSY_SINCE(p);
	if (is_writing(p)) /* model: DOUBT */
		return (is_higher && !r->stack_high) || waited > DOUBT_NS ? IN_DOUBT : REFUSE;
	return waited > LONG_DOUBT_NS ? ABANDONED : REFUSE;
}

/* Before busy is ours: RESERVED speaks of another one's record. Its end, if it may go on. */
static uint64_t forget(struct weft_ring_producer *p, enum entry entry)
{
	uint64_t end = entry == IN_DOUBT ? RESERVED(p) : 0;

	if (is_writing(p))
		RESERVED(p) = 0;
	return end;
}

/* A commit left in its middle: was the record published, and is it counted? model: SETTLE */
static void settle(struct weft_ring_producer *p)
{
	uint64_t end = RESERVED(p) & ~COMMITTING;
	uint64_t head = __atomic_load_n(&p->head, __ATOMIC_RELAXED);

	if (!(RESERVED(p) & COMMITTING))
		return;
	if (head == end)
		__atomic_store_n(&p->written, COMMIT_WRITTEN(p), __ATOMIC_RELAXED);
	else if ((int64_t)(end - head) > 0)
		__atomic_store_n(&p->written, COMMIT_WRITTEN(p) - 1, __ATOMIC_RELAXED);
	RESERVED(p) = 0;
}

/* What another one had reserved becomes pads; the position behind them. model: PAD */
static uint64_t pass_over(const struct ring *r, uint64_t head, uint64_t end)
{
	while (head < end) {
		uint32_t place = (uint32_t)(head & (r->bytes - 1));
		uint64_t left = r->bytes - place;
		uint32_t bytes = (uint32_t)(end - head < left ? end - head : left);

		put_pad(r, place, bytes);
		head += bytes;
	}
	return head;
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

static void copy_bytes(uint8_t *out, const uint8_t *in, uint32_t bytes)
{
	uint32_t words = bytes & ~7u;

	copy_words(out, in, words);
	for (uint32_t i = words; i < bytes; i++)
		out[i] = in[i];
}

/*
 * From its parts: the caller has just stored them so, and a wider load that spans several
 * stores waits until all of them have left the store buffer. model: FIRST_WORD
 */
static void write_first_word(struct weft_record *to, const struct weft_record *header,
			     uint32_t bytes)
{
	_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the first word of a record");
	uint64_t word = bytes | (uint64_t)header->type << 32 | (uint64_t)header->flags << 48;

	__atomic_store_n((uint64_t *)(void *)to, word, __ATOMIC_RELAXED);
}

#define KEEP_ORDER() __atomic_signal_fence(__ATOMIC_SEQ_CST) /* against our own handlers */

struct append {
	const struct ring *ring;
	const struct weft_record *header;
	const void *payload, *more;
	uint32_t payload_bytes, more_bytes;
	uint64_t frame;
};

/* All but the first word: until that is written, a pad may stand there. model: BODY */
static inline __attribute__((always_inline)) void write_body(struct weft_record *to,
							     const struct append *a)
{
	uint8_t *out = (uint8_t *)(to + 1);

	__atomic_store_n(&to->generation, a->header->generation, __ATOMIC_RELAXED);
	__atomic_store_n(&to->rsv, a->header->rsv, __ATOMIC_RELAXED);
	copy_bytes(out, a->payload, a->payload_bytes);
	if (__builtin_expect(a->more_bytes != 0, 0))
		copy_bytes(out + a->payload_bytes, a->more, a->more_bytes);
}

/* Is it still ours after COMMITTING, then nobody takes it over any more (for a minute). */
static inline __attribute__((always_inline)) int
commit(const struct append *a, struct weft_record *to, uint64_t end, uint32_t bytes)
{
	struct weft_ring_producer *p = a->ring->producer;
	uint64_t written = one_more(p);

	__atomic_store_n(&COMMIT_WRITTEN(p), written, __ATOMIC_RELAXED);
	KEEP_ORDER();
	__atomic_store_n(&RESERVED(p), end | COMMITTING, __ATOMIC_RELAXED);
	KEEP_ORDER();
	if (__atomic_load_n(&p->busy, __ATOMIC_RELAXED) != a->frame) /* model: STILL_MINE */
		return 0;
	write_first_word(to, a->header, bytes);
	publish(p, written, end);
	KEEP_ORDER();
	return 1;
}

/* busy is ours. */
static inline __attribute__((always_inline)) enum weft_ring_result
write_record(const struct append *a, uint64_t from)
{
	struct weft_ring_producer *p = a->ring->producer;
	uint32_t bytes = (uint32_t)sizeof(*a->header) +
			 ((a->payload_bytes + a->more_bytes + UINT32_C(7)) & ~UINT32_C(7));
	uint64_t start;
	struct weft_record *to = reserve(a->ring, from, bytes, &start);

	if (to) {
		__atomic_store_n(&RESERVED(p), start + bytes, __ATOMIC_RELAXED);
		KEEP_ORDER();
		write_body(to, a);
		KEEP_ORDER();
		if (!commit(a, to, start + bytes, bytes))
			return WEFT_RING_NESTED;
	}
	__atomic_store_n(&p->busy, 0, __ATOMIC_RELAXED);
	return to ? WEFT_RING_WRITTEN : WEFT_RING_FULL;
}

/* model: BUSY */
static inline void enter(struct weft_ring_producer *p, uint64_t frame)
{
	BUSY_SINCE(p) = 0;
	KEEP_ORDER();
	__atomic_store_n(&p->busy, frame, __ATOMIC_RELAXED);
	KEEP_ORDER();
}

static __attribute__((noinline, cold)) enum weft_ring_result
append_over(struct append by_value, uint64_t busy, uint64_t now_ns)
{
	const struct append *a = &by_value;
	struct weft_ring_producer *p = a->ring->producer;
	enum entry entry = judge(a->ring, busy, a->frame, now_ns);
	enum weft_ring_result result;
	uint64_t end;

	if (entry == REFUSE)
		return WEFT_RING_NESTED;
	end = forget(p, entry);
	enter(p, a->frame);
	if (entry == ABANDONED)
		settle(p);
	result = write_record(a, pass_over(a->ring, head_of(a->ring), end));
	return result == WEFT_RING_WRITTEN ? WEFT_RING_HEALED : result;
}

static inline __attribute__((always_inline)) enum weft_ring_result append(const struct append *a,
									  uint64_t now_ns)
{
	struct weft_ring_producer *p = a->ring->producer;
	uint64_t busy = __atomic_load_n(&p->busy, __ATOMIC_RELAXED); /* model: LOOK */

	if (__builtin_expect(busy != 0, 0))
		return append_over(*a, busy, now_ns);
	RESERVED(p) = 0; /* model: FORGET */
	enter(p, a->frame);
	return write_record(a, head_of(a->ring));
}

/* Not inlined: their frame addresses must be their own. */
__attribute__((noinline)) enum weft_ring_result
weft_ring_append(const struct ring *r, const struct weft_record *header, const void *payload,
		 uint32_t payload_bytes, uint64_t now_ns)
{
	struct append a = {.ring = r,
			   .header = header,
			   .payload = payload,
			   .payload_bytes = payload_bytes,
			   .frame = (uint64_t)(uintptr_t)__builtin_frame_address(0)};

	return append(&a, now_ns);
}

__attribute__((noinline)) enum weft_ring_result
weft_ring_append_two(const struct ring *r, const struct weft_record *header,
		     const struct weft_ring_part part[2], uint64_t now_ns)
{
	struct append a = {.ring = r,
			   .header = header,
			   .payload = part[0].data,
			   .payload_bytes = part[0].bytes,
			   .more = part[1].data,
			   .more_bytes = part[1].bytes,
			   .frame = (uint64_t)(uintptr_t)__builtin_frame_address(0)};

	return append(&a, now_ns);
}
