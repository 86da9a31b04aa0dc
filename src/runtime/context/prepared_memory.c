/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory of prepared contexts: pieces of a power of two, cut from blocks (coro_blocks.c).
 *
 * All lists are changed with the log's lock held, which a forked child finds free. What was freed
 * waits in `retired`; now and then all slots are looked at, and the pieces that none names are
 * free. That is enough because nobody attaches what was freed: a thread that still shows a piece
 * has named it in its slot before the piece was freed, and names it until it has detached.
 *
 * What each store of a list leaves, should the thread not go on (a longjmp out of a handler keeps
 * the lock, as it does everywhere): whole lists, and at most one piece in none of them.
 */
#include "runtime/context/prepared.h"

#include "runtime/core/label_store.h"

#define LEAST_BITS 8 /* a piece has 256 bytes or more, */
#define CLASSES 8    /* .. and 32 KiB or fewer: the block of 32 labels */
#define PATIENCE 32u /* freed pieces that wait before slots are looked at */

static struct weft_prepared *free_pieces[CLASSES];
static struct weft_prepared *retired;
static uint32_t retired_count, kept_count; /* of these, named when they were looked at last */
static uint64_t round_of_marks;
static uint64_t last_generation = UINT64_C(1) << 62; /* (a coroutine's block had others) */
static struct {
	uint8_t *at;
	uint64_t left;
} slab; /* what is left of the newest block */

static unsigned int class_of(uint64_t bytes)
{
	unsigned int n = 0;

	while (UINT64_C(1) << (n + LEAST_BITS) < bytes)
		n++;
	return n;
}

/* ---- pieces that were freed */

static void prepared_mark(const struct weft_slot *slot)
{
	const struct weft_attachments *now = weft_attachments(slot);
	uint32_t depth = load_acquire(&now->depth); /* model: SCAN */

	for (uint32_t i = 0; i < depth && i < WEFT_ATTACHED_MOST; i++) {
		uint64_t at = load_acquire(&now->at[i].prepared);

		if (weft_block_of(at))
			((struct weft_prepared *)(uintptr_t)at)->mark = round_of_marks;
	}
}

static void prepared_mark_all(void)
{
	round_of_marks++;
	prepared_mark(weft_slot_private());
	if (!weft_rt_has_session())
		return;
	for (uint32_t i = 0; i < weft_rt_slots_high(); i++)
		prepared_mark(weft_rt_slot(i));
}

static void prepared_reclaim(void)
{
	struct weft_prepared **at = &retired, *p;

	prepared_mark_all();
	while ((p = *at)) {
		if (p->mark == round_of_marks) {
			at = &p->next;
			continue;
		}
		*at = p->next;
		retired_count--;
		p->next = free_pieces[class_of(p->bytes)];
		free_pieces[class_of(p->bytes)] = p;
	}
	kept_count = retired_count;
}

/* The more there is to look at, the more must have been freed since the last time. */
static int is_time_to_reclaim(void)
{
	uint32_t slots = weft_rt_has_session() ? weft_rt_slots_high() : 0;

	return retired_count - kept_count >= PATIENCE + (kept_count + slots) / 4;
}

/* ---- pieces that were never used */

/* As many bytes as are left, or fewer. In between it is less that is left. */
static struct weft_prepared *prepared_slice(uint64_t bytes)
{
	uint8_t *at = slab.at;

	slab.left -= bytes;
	KEEP_ORDER();
	slab.at = at + bytes;
	return (struct weft_prepared *)(void *)at;
}

/* What is left of the last block is cut up, too. */
static void prepared_take_block(void)
{
	uint64_t bytes;
	uint8_t *block = weft_block_take(&bytes);

	if (!block)
		return;
	for (unsigned int n = CLASSES; n-- > 0;)
		while (slab.left >= UINT64_C(1) << (n + LEAST_BITS)) {
			struct weft_prepared *p = prepared_slice(UINT64_C(1) << (n + LEAST_BITS));

			p->bytes = 1u << (n + LEAST_BITS);
			p->next = free_pieces[n];
			free_pieces[n] = p;
		}
	slab.left = 0;
	KEEP_ORDER();
	slab.at = block;
	KEEP_ORDER();
	slab.left = bytes;
}

static struct weft_prepared *prepared_cut(uint64_t bytes)
{
	if (slab.left < bytes)
		prepared_take_block();
	return slab.left < bytes ? NULL : prepared_slice(bytes);
}

static struct weft_prepared *prepared_take(unsigned int class)
{
	struct weft_prepared *p = free_pieces[class];

	if (!p)
		return prepared_cut(UINT64_C(1) << (class + LEAST_BITS));
	free_pieces[class] = p->next;
	return p;
}

struct weft_prepared *weft_prepared_alloc(uint64_t bytes)
{
	unsigned int class = class_of(bytes);
	struct weft_prepared *p;

	if (class >= CLASSES)
		return NULL;
	weft_log_lock();
	p = prepared_take(class);
	if (p) {
		p->generation[0] = ++last_generation;
		p->bytes = 1u << (class + LEAST_BITS);
		p->mark = 0;
	}
	weft_log_unlock();
	/* Who sees from outside what is stored there next also sees that the thread that had it
	 * attached has written since. Pairs: as in weft_store_begin_at(). */
	__atomic_thread_fence(__ATOMIC_RELEASE);
	return p;
}

void weft_prepared_free(struct weft_prepared *p)
{
	weft_log_lock();
	p->next = retired;
	retired = p;
	retired_count++;
	if (is_time_to_reclaim())
		prepared_reclaim();
	weft_log_unlock();
}
