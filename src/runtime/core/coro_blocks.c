/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Label blocks of coroutines: a store (label_store.h) with its two sets, room for what scopes save,
 * and a record of OpenTelemetry's. Allocated at a coroutine's first label, freed at its end.
 *
 * Blocks lie in a few areas that are mapped as they are needed, each twice as large as the one
 * before, and never unmapped: a reader outside finds memory where a block was, and the generations
 * of a block's labels only grow, whichever coroutine it belongs to.
 *
 * Free blocks form a stack, new ones are cut from the newest area. Both are
 * lock-free: nobody waits for a thread that a longjmp has led out of here, or that does not exist
 * in a forked child. The block that such a thread was about to get is leaked.
 *
 * The word of the stack holds the page of the top block and a count of pushes and pops, against
 * ABA: a pop succeeds only if no other came since it read `next`. Blocks are never unmapped, so
 * that reading `next` is safe even when the block has been taken.
 */
#include "runtime/core/runtime.h"

#include <stdlib.h>

#include <weft/abi/otel_thread_context.h>

#include "runtime/core/label_store.h"
#include "runtime/core/sys.h"

#define AREAS 24
#define PAGE 4096
#define PAGE_BITS 36 /* of a page's number: addresses have 48 bits */
#define FIRST_AREA_BYTES (UINT64_C(1) << 20)
#define SAVED_LEAST 4096 /* room for what scopes save */

struct block {
	struct weft_label_store store;
	struct weft_slot_otel notes;
	uint64_t next; /* in a free block: the one below it in the stack */
	_Alignas(64) uint8_t record[sizeof(struct weft_otel_record)];
	uint64_t rsv[7];
	uint64_t generation[1]; /* of the set behind it */
	uint8_t sets[];
};

static struct {
	uint64_t from; /* stored before area_count is raised */
	uint64_t used; /* bytes handed out; beyond the area's size when it is full */
} areas[AREAS];
static uint32_t area_count;
static uint64_t free_blocks; /* page of the top block | count << PAGE_BITS; page 0: empty */
static uint64_t block_bytes; /* a power of two; 0: no block yet */

static uint64_t bytes_of_area(uint32_t n)
{
	return FIRST_AREA_BYTES << n;
}

uint64_t weft_block_of(uint64_t address)
{
	uint32_t count = load_acquire(&area_count);

	for (uint32_t i = 0; i < count; i++)
		if (address - areas[i].from < bytes_of_area(i))
			return address & ~(load_relaxed(&block_bytes) - 1);
	return 0;
}

static uint64_t size_of_block(void)
{
	uint64_t least = offsetof(struct block, sets) + weft_labels_bytes() + SAVED_LEAST,
		 bytes = 4096;

	while (bytes < least)
		bytes *= 2;
	return bytes;
}

/* New memory; 0: none. */
static uint64_t memory(uint64_t bytes, int is_mapped)
{
	long at;

	if (!is_mapped)
		return (uint64_t)(uintptr_t)malloc(bytes);
	at = sys_map_memory(bytes);
	if (sys_is_error(at))
		return 0;
	weft_area_add((const void *)at, bytes);
	return (uint64_t)at;
}

/* Maps area @n, in which blocks are aligned to their size. Threads may race: one mapping stays. */
static int map_area(uint32_t n, uint64_t bytes)
{
	int is_mapped = !weft_rt_is_careful(); /* else the program filters its system calls */
	uint64_t none = 0, at;

	if (n == AREAS)
		return -1;
	if (!load_acquire(&areas[n].from)) {
		at = memory(bytes_of_area(n) + bytes, is_mapped);
		if (!at)
			return -1;
		if (!__atomic_compare_exchange_n(&areas[n].from, &none,
						 (at + bytes - 1) & ~(bytes - 1), 0,
						 __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE) &&
		    is_mapped) { /* (malloc's is leaked) */
			weft_area_gone((const void *)(uintptr_t)at);
			sys_call2(SYS_munmap, (long)at, (long)(bytes_of_area(n) + bytes));
		}
	}
	cas_acq_rel(&area_count, &n, n + 1);
	return 0;
}

static struct block *fresh_block(void)
{
	uint64_t bytes = size_of_block(), at;
	uint32_t n;

	store_relaxed(&block_bytes, bytes); /* the same value every time */
	do {
		n = load_acquire(&area_count);
		at = n ? __atomic_fetch_add(&areas[n - 1].used, bytes, __ATOMIC_RELAXED) : 0;
		if (n && at < bytes_of_area(n - 1))
			return (struct block *)(uintptr_t)(areas[n - 1].from + at);
	} while (!map_area(n, bytes));
	return NULL;
}

static struct block *free_blocks_top(uint64_t word)
{
	return (struct block *)(uintptr_t)((word & ((UINT64_C(1) << PAGE_BITS) - 1)) * PAGE);
}

static uint64_t word_after(uint64_t word, uint64_t newest)
{
	return ((word >> PAGE_BITS) + 1) << PAGE_BITS | newest / PAGE;
}

static struct block *free_blocks_pop(void)
{
	uint64_t word = load_acquire(&free_blocks), next;
	struct block *b;

	do {
		b = free_blocks_top(word);
		if (!b)
			return fresh_block();
		next = load_relaxed(&b->next);
	} while (!__atomic_compare_exchange_n(&free_blocks, &word, word_after(word, next), 0,
					      __ATOMIC_ACQUIRE, __ATOMIC_ACQUIRE));
	return b;
}

struct weft_label_store *weft_block_alloc(void)
{
	struct block *b = free_blocks_pop();
	struct weft_store_place place;
	uint64_t generation;

	if (!b)
		return NULL;
	generation = b->store.generation + 1; /* (of malloc's memory: any number) */
	__builtin_memset(&b->store, 0, sizeof(b->store));
	__builtin_memset(&b->notes, 0, sizeof(b->notes));
	((struct weft_otel_record *)(void *)b->record)->valid = 0;
	place = (struct weft_store_place){
		.a = b->sets,
		.b = b->sets + weft_labels_twin,
		.max = weft_labels_max,
		.saved_at = b->sets + weft_labels_bytes(),
		.saved_room = (uint32_t)(size_of_block() - offsetof(struct block, sets) -
					 weft_labels_bytes()),
	};
	weft_store_lay_out(&b->store, &place);
	b->store.generation = generation;
	b->store.record = (uint64_t)(uintptr_t)b->record;
	b->store.notes = (uint64_t)(uintptr_t)&b->notes;
	return &b->store;
}

uint8_t *weft_block_take(uint64_t *bytes)
{
	struct block *b = free_blocks_pop();

	*bytes = size_of_block();
	return (uint8_t *)b;
}

void weft_block_free(struct weft_label_store *store)
{
	uint64_t word = load_relaxed(&free_blocks);
	struct block *b = (struct block *)(void *)store;

	do
		store_relaxed(&b->next, (uint64_t)(uintptr_t)free_blocks_top(word));
	while (!cas_release(&free_blocks, &word, word_after(word, (uint64_t)(uintptr_t)b)));
}
