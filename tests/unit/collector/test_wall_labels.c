/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Labels read from outside (wall_labels.c): a child sleeps, and this program writes into its slot,
 * and has written into its memory, what an honest one would, and every kind of lie. Of a lie comes
 * nothing, or labels of that thread's; never another slot's bytes, never more than there is room.
 */
#include "outside_child.h"

#include "base/session_layout.h"
#include "collector/look/wall_private.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

#define OURS 3
#define NEIGHBOUR 4
#define GENERATION 7
#define PAGE 4096
#define LIES 100000
#define SECRET "neighbours-secret"
#define NOWHERE UINT64_C(0x10)

typedef struct weft_custom_labels_set set_t;
typedef struct weft_custom_labels_label label_t;

static const struct wall_options options = {.period_ns = 1000000};
static struct outside_child child;
static struct weft_slot *slot;
static struct watched_thread *thread;
static uint64_t slot_at; /* in the child */
static uint8_t *page;    /* of the child too, by fork; behind it there is nothing */

/* ---- what the child shows */

static label_t label_of(uint64_t key, uint64_t key_bytes, uint64_t value, uint64_t value_bytes)
{
	return (label_t){{key_bytes, (const unsigned char *)(uintptr_t)key},
			 {value_bytes, (const unsigned char *)(uintptr_t)value}};
}

/* At @at, which is @there in the child: two labels of weft's, two of the program's, one absent. */
static void put_honest(uint8_t *at, uint64_t there)
{
	static const char texts[] = "span-idroot-span-id12tenantacmeempty";
	uint64_t text = there + 1000;
	label_t label[] = {
		label_of(text, 7, text + 19, 1),      label_of(text + 7, 12, text + 20, 1),
		label_of(text + 21, 6, text + 27, 4), label_of(0, 6, text, 4),
		label_of(text + 31, 5, text, 0),
	};
	set_t set = {(void *)(uintptr_t)(there + sizeof(set)), 5, 5};

	memcpy(at, &set, sizeof(set));
	memcpy(at + sizeof(set), label, sizeof(label));
	memcpy(at + 1000, texts, sizeof(texts));
}

static void put_label(unsigned int i, label_t label)
{
	memcpy(slot->labels + sizeof(set_t) + i * sizeof(label), &label, sizeof(label));
}

static void put_set(uint64_t storage, uint64_t count)
{
	set_t set = {(void *)(uintptr_t)storage, count, count};

	memcpy(slot->labels, &set, sizeof(set));
}

static uint64_t labels_at(uint64_t offset)
{
	return slot_at + offsetof(struct weft_slot, labels) + offset;
}

static void be_honest(void)
{
	put_honest(slot->labels, labels_at(0));
	slot->ext.label_set = labels_at(0);
	slot->label_state.current_at = 0;
	((struct weft_session_header *)child.process->base)->mapped_at =
		(uint64_t)(uintptr_t)child.process->base;
}

/* ---- reading it */

static uint8_t got[LABEL_BYTES_MAX + 64];

/* As it must always be, whatever is there. */
static int read_labels(void)
{
	const struct weft_session_header *h = child.process->base;
	int bytes;

	memset(got, 0xEE, sizeof(got));
	bytes = wall_labels_of_slot(child.process, thread->slot, thread->tid, got);
	assert_in_range(bytes + 1, 0, LABEL_BYTES_MAX + 1);
	for (size_t i = LABEL_BYTES_MAX; i < sizeof(got); i++)
		assert_int_equal(got[i], 0xEE);
	if (bytes > 0)
		assert_true(label_bytes_are_sound(got, (size_t)bytes));
	/* all that is the process's own may be in a set of its own */
	if (h->mapped_at == (uint64_t)(uintptr_t)h)
		assert_null(memmem(got, sizeof(got), SECRET, sizeof(SECRET) - 1));
	return bytes;
}

static void assert_honest(void)
{
	static const char wanted[] = "\6\0\4\0tenantacme\5\0\0\0empty";

	assert_int_equal(read_labels(), sizeof(wanted) - 1);
	assert_memory_equal(got, wanted, sizeof(wanted) - 1);
}

static void assert_lie(void)
{
	assert_int_equal(read_labels(), -1);
	be_honest();
	assert_honest();
}

/* ---- its own set */

static void honest_sets_are_read(void **state)
{
	(void)state;
	be_honest();
	assert_honest();
	slot->ext.label_set = 0;
	assert_int_equal(read_labels(), 0);
}

static void sets_elsewhere_are_not(void **state)
{
	uint64_t end = slot_at + WEFT_SLOT_CONTROL_BYTES;
	uint64_t stride = child.process->layout.slot_stride;
	const uint64_t lies[] = {NOWHERE,    slot_at - 8,           end - sizeof(set_t) + 1,
				 end,        labels_at(0) + stride, labels_at(0) - stride,
				 UINT64_MAX, UINT64_MAX - 15,       slot_at + (UINT64_C(1) << 63)};

	(void)state;
	be_honest();
	for (size_t i = 0; i < sizeof(lies) / sizeof(*lies); i++) {
		slot->ext.label_set = lies[i];
		assert_lie();
	}
}

/* A coroutine's, or that of a prepared context. */
static void sets_in_the_process_are_read(void **state)
{
	(void)state;
	be_honest();
	slot->ext.label_set = (uint64_t)(uintptr_t)page;
	assert_honest();
	slot->ext.label_set = (uint64_t)(uintptr_t)page + PAGE;
	assert_lie();
}

static void labels_elsewhere_are_not(void **state)
{
	uint64_t end = slot_at + WEFT_SLOT_CONTROL_BYTES, text = labels_at(1000);
	uint64_t next = labels_at(0) + child.process->layout.slot_stride + 1000;
	const label_t lies[] = {
		label_of(next, 17, text, 4),
		label_of(text, 7, next, 17),
		label_of(end - 3, 4, text, 4),
		label_of(text, 7, end - 3, 4),
		label_of(NOWHERE, 4, text, 4),
		label_of(text, 7, NOWHERE, 4),
		label_of(end - 127, UINT64_MAX, text, 4),
		label_of(text, 7, end - 255, UINT64_MAX),
		label_of(UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX),
	};

	(void)state;
	be_honest();
	for (size_t i = 0; i < sizeof(lies) / sizeof(*lies); i++) {
		put_label(2, lies[i]);
		assert_lie();
	}
	put_set(end - sizeof(label_t), 2);
	assert_lie();
	put_set(0, 1);
	assert_lie();
}

static void lengths_are_cut(void **state)
{
	struct weft_sample_label head;

	(void)state;
	be_honest();
	put_label(2, label_of(labels_at(1000), UINT64_MAX, labels_at(1000), UINT64_MAX));
	assert_true(read_labels() > 0);
	memcpy(&head, got, sizeof(head));
	assert_int_equal(head.key_bytes, WEFT_CUSTOM_LABELS_KEY_BYTES);
	assert_int_equal(head.value_bytes, WEFT_CUSTOM_LABELS_VALUE_BYTES);
	for (unsigned int i = 0; i < 200; i++)
		put_label(i, label_of(labels_at(1000), 128, labels_at(1000), 256));
	put_set(labels_at(sizeof(set_t)), UINT64_MAX);
	assert_int_equal(read_labels(), LABEL_BYTES_MAX);
	be_honest();
	put_label(2, label_of(labels_at(1021), 6, 0, 4)); /* a value that is not there is empty */
	assert_int_equal(read_labels(), 4 + 6 + 4 + 5);
}

/* ---- of the program's own */

static uint64_t at_page(uint64_t offset)
{
	return (uint64_t)(uintptr_t)page + offset;
}

/* What the child has in the page: at 0 an honest set, whose address is at 2048; sets that lie,
 * and behind each, its address. */
#define FOREIGN_LIES 5
static void fill_page(void)
{
	const set_t lies[FOREIGN_LIES] = {
		{(void *)NOWHERE, 1, 1},
		{(void *)(uintptr_t)at_page(PAGE - 16), 1, 1},
		{(void *)(uintptr_t)at_page(3000), 1, 1},
		{(void *)(uintptr_t)at_page(3032), 1, 1},
		{NULL, UINT64_MAX, 1},
	};
	label_t label[] = {label_of(NOWHERE, 4, at_page(1000), 4),
			   label_of(at_page(1000), 7, at_page(PAGE - 3), 4)};
	uint64_t at = at_page(0);

	put_honest(page, at);
	memcpy(page + 2048, &at, sizeof(at));
	for (unsigned int i = 0; i < FOREIGN_LIES; i++) {
		at = at_page(2056 + i * 32);
		memcpy(page + 2056 + i * 32, &lies[i], sizeof(lies[i]));
		memcpy(page + 2080 + i * 32, &at, sizeof(at));
	}
	memcpy(page + 3000, label, sizeof(label));
	at = at_page(PAGE - 8); /* a set over the end */
	memcpy(page + 3100, &at, sizeof(at));
}

static void foreign_sets_are_read(void **state)
{
	(void)state;
	be_honest();
	memset(slot->labels + 1000, 'x', 64); /* not these */
	slot->label_state.current_at = at_page(2048);
	assert_honest();
	slot->label_state.current_at = at_page(PAGE - 16); /* NULL stands there: weft's is shown */
	be_honest();
	assert_honest();
}

static void foreign_lies_are_not(void **state)
{
	(void)state;
	be_honest();
	for (unsigned int i = 0; i < FOREIGN_LIES; i++) {
		slot->label_state.current_at = at_page(2080 + i * 32);
		assert_lie();
	}
	slot->label_state.current_at = at_page(3100);
	assert_lie();
	/* a pointer that cannot be read: weft's own, which is as it was */
	slot->label_state.current_at = NOWHERE;
	assert_honest();
	slot->label_state.current_at = at_page(PAGE - 4);
	assert_honest();
}

/* ---- all kinds at once */

static uint64_t any_word(unsigned int *seed)
{
	uint64_t stride = child.process->layout.slot_stride;
	const uint64_t bases[] = {slot_at,
				  labels_at(0),
				  labels_at(1000),
				  slot_at + WEFT_SLOT_CONTROL_BYTES,
				  labels_at(1000) + stride,
				  at_page(0),
				  at_page(PAGE),
				  0,
				  UINT64_MAX,
				  64,
				  256,
				  128};
	uint64_t base = bases[(unsigned int)rand_r(seed) % (sizeof(bases) / sizeof(*bases))];

	return rand_r(seed) % 2 ? base : base + (uint64_t)(rand_r(seed) % 600) - 300;
}

static void any_lies_are_survived(void **state)
{
	struct weft_session_header *h = child.process->base;
	uint64_t *words = (uint64_t *)(void *)slot->labels;
	unsigned int seed = 20260728, whole = 0;

	(void)state;
	for (int i = 0; i < LIES; i++) {
		if (i % 8 == 0)
			be_honest();
		words[(unsigned int)rand_r(&seed) % 24] = any_word(&seed);
		if (rand_r(&seed) % 16 == 0)
			slot->ext.label_set = any_word(&seed);
		if (rand_r(&seed) % 16 == 0)
			slot->label_state.current_at = any_word(&seed);
		if (rand_r(&seed) % 64 == 0)
			h->mapped_at = any_word(&seed);
		whole += read_labels() > 0;
	}
	assert_in_range(whole, LIES / 100, LIES - LIES / 100);
}

/* ---- the scene */

static void claim_and_sleep(struct session *s, uint64_t *shared)
{
	struct weft_session_header *h = s->process->base;
	struct weft_slot *own = weft_session_slot(s->process->base, &s->process->layout, OURS);

	own->thread.tid = (int32_t)syscall(SYS_gettid);
	own->thread.generation = GENERATION;
	__atomic_store_n(&h->slots_high, NEIGHBOUR + 1, __ATOMIC_SEQ_CST);
	__atomic_store_n(&weft_session_states(s->process->base, &s->process->layout)[OURS],
			 WEFT_STATE_WORD(GENERATION, WEFT_SLOT_LIVE), __ATOMIC_SEQ_CST);
	__atomic_store_n(shared, 1, __ATOMIC_RELEASE);
	for (;;)
		pause();
}

static int begin(void **state)
{
	struct weft_slot *neighbour;
	size_t cursor = 0;

	(void)state;
	page = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (page == MAP_FAILED || mprotect(page + PAGE, PAGE, PROT_NONE))
		return -1;
	fill_page();
	if (outside_child_begin(&child, &options, claim_and_sleep))
		return -1;
	outside_child_await(&child, child.pid, 'S');
	slot = weft_session_slot(child.process->base, &child.process->layout, OURS);
	slot_at = (uint64_t)(uintptr_t)slot;
	neighbour = weft_session_slot(child.process->base, &child.process->layout, NEIGHBOUR);
	for (size_t at = 0; at + sizeof(SECRET) < sizeof(neighbour->labels); at += 17)
		memcpy(neighbour->labels + at, SECRET, 17);
	thread = threads_next(child.threads, &cursor);
	return thread && thread->slot == OURS ? 0 : -1;
}

static int end(void **state)
{
	(void)state;
	outside_child_end(&child);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(honest_sets_are_read),
		cmocka_unit_test(sets_elsewhere_are_not),
		cmocka_unit_test(sets_in_the_process_are_read),
		cmocka_unit_test(labels_elsewhere_are_not),
		cmocka_unit_test(lengths_are_cut),
		cmocka_unit_test(foreign_sets_are_read),
		cmocka_unit_test(foreign_lies_are_not),
		cmocka_unit_test(any_lies_are_survived),
	};

	return cmocka_run_group_tests(tests, begin, end);
}
