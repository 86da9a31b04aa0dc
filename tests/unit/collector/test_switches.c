/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Switches of coroutines out of the events ring: taken whole, with books that balance, also from
 * a target that lies in any field, that dies, or whose slot a thief takes.
 */
#include "base/clock.h"
#include "collector/session/session.h"

#include "base/session_layout.h"
#include "collector/write/process_work.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static struct process *process;
static struct session *session;
static struct queue queue;
static struct weft_slot *slot;

struct record {
	struct weft_switch_record r;
	uint8_t rest[1024];
};

static uint64_t *state_word(void)
{
	return weft_session_states(session->process->base, &session->process->layout);
}

/* Slot 0 as its next owner finds it. */
static void claim(uint64_t generation)
{
	struct weft_session_header *h = session->process->base;

	slot->thread.generation = generation;
	slot->thread.tid = getpid();
	h->slots_high = 1;
	*state_word() = WEFT_STATE_WORD(generation, WEFT_SLOT_LIVE);
}

static int begin(void **state)
{
	struct session_settings settings = {.period_ns = 1000000, .stack_mode = WEFT_STACK_AUTO};

	(void)state;
	if (process_new(&process, getpid()) || queue_init(&queue, 1 << 20))
		return -1;
	process->opened_ns = clock_mono_ns();
	if (session_new(&session, process, &settings))
		return -1;
	slot = weft_session_slot(session->process->base, &session->process->layout, 0);
	claim(1);
	return 0;
}

static int end(void **state)
{
	(void)state;
	session_free(session);
	process_free(process);
	queue_destroy(&queue);
	return 0;
}

static struct record sound(uint64_t coroutine)
{
	uint64_t now_ns = clock_mono_ns();

	return (struct record){.r = {.record = {.bytes = sizeof(struct weft_switch_record),
						.type = WEFT_RECORD_SWITCH,
						.flags = WEFT_SWITCH_RUN,
						.generation = 1},
				     .begin_ns = now_ns - 1000,
				     .end_ns = now_ns,
				     .coroutine = coroutine}};
}

static void publish(const struct record *record, uint32_t bytes)
{
	uint8_t *ring = (uint8_t *)slot + session->process->layout.events_offset;
	uint64_t head = slot->events_p.head;

	memcpy(ring + (head & (session->process->layout.events_bytes - 1)), record, bytes);
	slot->counters[WEFT_COUNTER_EVENTS_ATTEMPTED]++;
	slot->events_p.written++;
	__atomic_store_n(&slot->events_p.head, head + bytes, __ATOMIC_RELEASE);
	((struct weft_session_header *)session->process->base)->fresh[0] = 1;
}

static void put(const struct record *record)
{
	publish(record, record->r.record.bytes);
}

/* How many records the next drain brings. */
static uint64_t drain(enum drain_mode mode)
{
	return session_drain(session, &queue, mode).events;
}

/* attempted = delivered + lost by cause + pending; out of the sums as they are now. */
static struct session_counts assert_balanced(void)
{
	struct session_counts c;
	const uint64_t *n = c.counter;

	session_count(session, &c);
	assert_int_equal(n[WEFT_COUNTER_EVENTS_ATTEMPTED],
			 c.events_delivered + n[WEFT_COUNTER_EVENTS_RING_FULL] +
				 n[WEFT_COUNTER_EVENTS_NESTED] + n[WEFT_COUNTER_EVENTS_STOLEN] +
				 n[WEFT_COUNTER_EVENTS_INVALID] + n[WEFT_COUNTER_EVENTS_MISTIMED] +
				 n[WEFT_COUNTER_EVENTS_NO_SLOT] + c.events_pending);
	return c;
}

static void what_is_sound_is_taken_whole(void **state)
{
	struct record a = sound(7), b = sound(8);
	const struct checked_event *e;
	const struct weft_switch_record *r;
	struct batch *batch;

	(void)state;
	b.r.record.flags |= WEFT_SWITCH_TAGS;
	b.r.record.bytes += 40;
	memset(b.rest, 3, 40);
	put(&a);
	put(&b);
	assert_int_equal(assert_balanced().events_pending, 2);
	assert_int_equal(drain(DRAIN_RUNNING), 2);
	batch = queue_pop(&queue);
	assert_int_equal(batch->kind, BATCH_EVENTS);
	assert_int_equal(batch->bytes, 2 * sizeof(*e) + a.r.record.bytes + b.r.record.bytes);
	e = (const void *)batch->data;
	r = (const void *)e->record;
	assert_int_equal(r->coroutine, 7);
	e = (const void *)(batch->data + sizeof(*e) + a.r.record.bytes);
	r = (const void *)e->record;
	assert_int_equal(r->coroutine, 8);
	assert_memory_equal(r + 1, b.rest, 40);
	free(batch);
	assert_int_equal(assert_balanced().events_delivered, 2);
	assert_int_equal(slot->events_c.tail, slot->events_p.head);
}

static void wrong_type(struct record *b)
{
	b->r.record.type = WEFT_RECORD_SAMPLE;
}

static void strange_generation(struct record *b)
{
	b->r.record.generation = 2;
}

static void too_short(struct record *b)
{
	b->r.record.bytes -= 8;
}

static void too_long(struct record *b)
{
	b->r.record.bytes += 8;
}

static void tags_outside(struct record *b)
{
	b->r.record.flags |= WEFT_SWITCH_TAGS;
}

static void labels_outside(struct record *b)
{
	b->r.record.rsv = 9;
	b->r.record.bytes += 8;
}

static void too_many_labels(struct record *b)
{
	b->r.record.rsv = WEFT_SWITCH_LABELS_BYTES + 8;
	b->r.record.bytes += WEFT_SWITCH_LABELS_BYTES + 8;
}

static void labels_that_are_none(struct record *b)
{
	b->r.record.rsv = 8;
	b->r.record.bytes += 8;
	memset(b->rest, 0xff, 8);
}

static void ends_before_it_begins(struct record *b)
{
	b->r.begin_ns = b->r.end_ns + 1;
}

static void ends_in_the_future(struct record *b)
{
	b->r.end_ns += UINT64_C(60000000000);
}

static void ended_before_the_recording(struct record *b)
{
	b->r.begin_ns = 1;
	b->r.end_ns = 2;
}

static void woken_after_it_ran(struct record *b)
{
	b->r.record.flags = WEFT_SWITCH_WOKEN;
	b->r.woken_ns = b->r.end_ns + 1;
}

static void woken_before_it_slept(struct record *b)
{
	b->r.record.flags = WEFT_SWITCH_WOKEN;
	b->r.woken_ns = b->r.begin_ns - 1;
}

static void a_run_that_was_woken(struct record *b)
{
	b->r.record.flags = WEFT_SWITCH_WOKEN | WEFT_SWITCH_RUN;
	b->r.woken_ns = b->r.begin_ns;
}

/* Between two that are sound: these are taken all the same. */
static void what_lies_is_refused_and_counted(void **state)
{
	static void (*const lies[])(struct record *) = {
		wrong_type,
		strange_generation,
		too_short,
		too_long,
		tags_outside,
		labels_outside,
		too_many_labels,
		labels_that_are_none,
		ends_before_it_begins,
		ends_in_the_future,
		ended_before_the_recording,
		woken_after_it_ran,
		woken_before_it_slept,
		a_run_that_was_woken,
	};
	const uint64_t count = sizeof(lies) / sizeof(lies[0]);
	struct session_counts c;
	uint64_t late = 0;

	(void)state;
	for (uint64_t i = 0; i < count; i++) {
		struct record good = sound(7), bad = sound(8);

		lies[i](&bad);
		put(&good);
		put(&bad);
		put(&good);
		assert_int_equal(drain(DRAIN_RUNNING), 2);
		free(queue_pop(&queue));
		c = assert_balanced();
		late += lies[i] == ends_in_the_future || lies[i] == ended_before_the_recording;
		assert_int_equal(c.counter[WEFT_COUNTER_EVENTS_MISTIMED], late);
		assert_int_equal(c.counter[WEFT_COUNTER_EVENTS_INVALID], i + 1 - late);
		assert_int_equal(c.events_delivered, 2 * (i + 1));
	}
}

#define LATE_NS UINT64_C(10000000000)

/* As if the collector had not had a CPU for a while since its pass began. */
static uint64_t ten_seconds_later(void)
{
	return clock_mono_ns() + LATE_NS;
}

static void what_comes_during_a_long_pass_is_taken(void **state)
{
	struct record good = sound(7), future = sound(8);
	struct session_counts c;

	(void)state;
	good.r.end_ns += LATE_NS / 2;
	future.r.end_ns += 2 * LATE_NS;
	put(&good);
	put(&future);
	session->clock = ten_seconds_later;
	assert_int_equal(drain(DRAIN_RUNNING), 1);
	free(queue_pop(&queue));
	c = assert_balanced();
	assert_int_equal(c.counter[WEFT_COUNTER_EVENTS_INVALID], 0);
	assert_int_equal(c.counter[WEFT_COUNTER_EVENTS_MISTIMED], 1);
}

/* Nothing of what is behind a length that cannot be can be told apart. */
static void a_length_that_cannot_be_loses_the_rest(void **state)
{
	static const uint32_t lengths[] = {0, 4, 12, 1 << 20, UINT32_MAX};

	(void)state;
	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		struct record good = sound(7), bad = sound(8);

		bad.r.record.bytes = lengths[i];
		publish(&good, sizeof(good.r));
		publish(&bad, sizeof(bad.r));
		publish(&good, sizeof(good.r));
		assert_int_equal(drain(DRAIN_RUNNING), 1);
		free(queue_pop(&queue));
		assert_int_equal(assert_balanced().counter[WEFT_COUNTER_EVENTS_INVALID],
				 2 * (i + 1));
	}
}

static void a_head_that_cannot_be_does_no_harm(void **state)
{
	struct record good = sound(7);

	(void)state;
	slot->events_p.head = UINT64_C(1) << 60;
	((struct weft_session_header *)session->process->base)->fresh[0] = 1;
	assert_int_equal(drain(DRAIN_RUNNING), 0);
	put(&good);
	assert_int_equal(drain(DRAIN_RUNNING), 1);
	free(queue_pop(&queue));
}

static void a_thread_that_ended_is_drained_and_its_books_close(void **state)
{
	struct session_counts c;
	struct record r = sound(7);

	(void)state;
	put(&r);
	put(&r);
	*state_word() = WEFT_STATE_WORD(1, WEFT_SLOT_DEAD);
	assert_int_equal(drain(DRAIN_RUNNING), 2);
	assert_int_equal(*state_word(), WEFT_STATE_WORD(1, WEFT_SLOT_FREE));
	c = assert_balanced();
	assert_int_equal(c.events_delivered, 2);
	assert_int_equal(c.unbalanced, 0);
	assert_int_equal(slot->counters[WEFT_COUNTER_EVENTS_ATTEMPTED], 0);
}

/* One was attempted, and nobody knows what became of it: not after its thread has ended. */
static void books_that_do_not_balance_are_told(void **state)
{
	(void)state;
	slot->counters[WEFT_COUNTER_EVENTS_ATTEMPTED] = 3;
	*state_word() = WEFT_STATE_WORD(1, WEFT_SLOT_DEAD);
	drain(DRAIN_RUNNING);
	assert_int_equal(session->closed.unbalanced, 1);
}

static void one_in_the_hands_of_who_was_killed_is_pending(void **state)
{
	struct record r = sound(7);

	(void)state;
	put(&r);
	slot->counters[WEFT_COUNTER_EVENTS_ATTEMPTED]++;
	assert_int_equal(drain(DRAIN_GONE), 1);
	assert_int_equal(assert_balanced().events_pending, 1);
	assert_int_equal(session->closed.unbalanced, 0);
}

/* As carry_books_on() (src/runtime/core/slot.c) does. */
static void what_a_thief_finds_is_stolen(void **state)
{
	struct record r = sound(7);
	struct session_counts c;

	(void)state;
	put(&r);
	assert_int_equal(drain(DRAIN_RUNNING), 1);
	put(&r);
	put(&r);
	slot->counters[WEFT_COUNTER_EVENTS_STOLEN] = 2;
	slot->events_p.head = slot->events_c.tail = 0;
	claim(2);
	r.r.record.generation = 2;
	put(&r);
	assert_int_equal(drain(DRAIN_RUNNING), 1);
	c = assert_balanced();
	assert_int_equal(c.counter[WEFT_COUNTER_EVENTS_STOLEN], 2);
	assert_int_equal(c.events_delivered, 2);
	*state_word() = WEFT_STATE_WORD(2, WEFT_SLOT_DEAD);
	drain(DRAIN_RUNNING);
	assert_int_equal(session->closed.unbalanced, 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
	const struct CMUnitTest tests[] = {
		TEST(what_is_sound_is_taken_whole),
		TEST(what_lies_is_refused_and_counted),
		TEST(what_comes_during_a_long_pass_is_taken),
		TEST(a_length_that_cannot_be_loses_the_rest),
		TEST(a_head_that_cannot_be_does_no_harm),
		TEST(a_thread_that_ended_is_drained_and_its_books_close),
		TEST(books_that_do_not_balance_are_told),
		TEST(one_in_the_hands_of_who_was_killed_is_pending),
		TEST(what_a_thief_finds_is_stolen),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
