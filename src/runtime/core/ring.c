/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rings, producer's end. A record is written at head, and exists once head has been stored with
 * release: whatever interrupts or ends the writer before that leaves only bytes beyond head, which
 * nobody reads. Models: tests/models/samples.pml and events.pml, whose step names stand here behind
 * "model:".
 *
 * Events ring. busy is the frame address of the append in progress, 0 = none. If an append finds it
 * set, the other append was interrupted by the handler that this one runs in, or was left by a
 * longjmp, or is on another stack (a coroutine's, an alternate signal stack) and may go on. If this
 * append is higher up on the same stack, the other one has been left for certain, and is taken over
 * (HEALED). Else this record is dropped (NESTED), until a second has passed since the first such
 * drop. Then the other append is taken over: busy becomes ours, and what it had reserved becomes a
 * pad. Should it go on after all, it writes into that pad, finds busy changed, and publishes
 * nothing; for this the first word of a record is written last. In the few steps in which RESERVED
 * does not say that it is writing, that is not safe, and the wait is a minute.
 */
#include "runtime/core/ring_append.h"
#include "runtime/core/sys.h"

#define NEAR_BYTES (UINT64_C(8) << 20)
#define SIGNAL_FRAME_BYTES 600 /* the smallest that a kernel pushes */
#define DOUBT_NS UINT64_C(1000000000)
#define LONG_DOUBT_NS UINT64_C(60000000000)

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

void *weft_ring_reserve(const struct ring *r, uint32_t bytes)
{
	uint64_t start;

	return ring_place(r, ring_head(r), bytes, &start);
}

void weft_ring_commit(const struct ring *r, const struct weft_record *record)
{
	uint64_t head = ring_head(r);
	uint32_t place = (uint32_t)(head & (r->bytes - 1));
	uint32_t at = (uint32_t)((const uint8_t *)record - r->data);

	if (at != place)
		head += r->bytes - place;
	ring_publish(r->producer, ring_one_more(r->producer), head + record->bytes);
}

enum entry { ENTER, ABANDONED, IN_DOUBT, REFUSE };

static int is_writing(const struct weft_ring_producer *p)
{
	return RESERVED(p) && !(RESERVED(p) & COMMITTING);
}

static int ring_is_within(const struct ring *r, uint64_t address)
{
	return address >= r->stack_low && address < r->stack_high;
}

/* May the append that set busy be taken over? The stack grows down: deeper is a smaller address. */
static enum entry ring_classify_busy(const struct ring *r, uint64_t busy, uint64_t frame,
				     uint64_t now_ns)
{
	struct weft_ring_producer *p = r->producer;
	int is_higher = frame + SIGNAL_FRAME_BYTES > busy && frame < busy + NEAR_BYTES;
	uint64_t waited;

	if (is_higher && ring_is_within(r, frame) && ring_is_within(r, busy))
		return ABANDONED; /* model: CERTAIN */
	if (!BUSY_SINCE(p))
		BUSY_SINCE(p) = now_ns;
	waited = now_ns - BUSY_SINCE(p);
	if (is_writing(p)) /* model: DOUBT */
		return (is_higher && !r->stack_high) || waited > DOUBT_NS ? IN_DOUBT : REFUSE;
	return waited > LONG_DOUBT_NS ? ABANDONED : REFUSE;
}

/* Before this append owns busy: RESERVED still belongs to the one that it interrupted. Returns the
 * end of that, if it may go on, else 0. */
static uint64_t ring_forget(struct weft_ring_producer *p, enum entry entry)
{
	uint64_t end = entry == IN_DOUBT ? RESERVED(p) : 0;

	if (is_writing(p))
		RESERVED(p) = 0;
	return end;
}

/* A commit was left in its middle: was its record published, and counted? model: SETTLE */
static void ring_settle(struct weft_ring_producer *p)
{
	uint64_t end = RESERVED(p) & ~COMMITTING;
	uint64_t head = load_relaxed(&p->head);

	if (!(RESERVED(p) & COMMITTING))
		return;
	if (head == end)
		store_relaxed(&p->written, COMMIT_WRITTEN(p));
	else if ((int64_t)(end - head) > 0)
		store_relaxed(&p->written, COMMIT_WRITTEN(p) - 1);
	RESERVED(p) = 0;
}

/* Makes pads of what another append had reserved; returns the position after them. model: PAD */
static uint64_t ring_pass_over(const struct ring *r, uint64_t head, uint64_t end)
{
	while (head < end) {
		uint32_t place = (uint32_t)(head & (r->bytes - 1));
		uint64_t left = r->bytes - place;
		uint32_t bytes = (uint32_t)(end - head < left ? end - head : left);

		ring_put_pad(r, place, bytes);
		head += bytes;
	}
	return head;
}

enum weft_ring_result weft_ring_enter_over(const struct ring *r, uint64_t frame, uint64_t busy,
					   uint64_t now_ns, uint64_t *from)
{
	struct weft_ring_producer *p = r->producer;
	enum entry entry =
		ring_classify_busy(r, busy, frame, now_ns ? now_ns : clock_monotonic_ns());
	uint64_t end;

	if (entry == REFUSE)
		return WEFT_RING_NESTED;
	end = ring_forget(p, entry);
	ring_enter(p, frame);
	if (entry == ABANDONED)
		ring_settle(p);
	*from = ring_pass_over(r, ring_head(r), end);
	return WEFT_RING_HEALED;
}
