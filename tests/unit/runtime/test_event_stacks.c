/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The way to an event's stack: what the entries of weft/event.h keep of their caller, and what a
 * record says that has a stack, few frames of it, or none. The walk itself is looked at in the file
 * (tests/runtime/typed.sh); here a few lines stand in for it.
 */
#include <stdio.h>

#include "unit.h"

#include "events_unit.h"
#include "runtime/stack/registers.h"

static struct ring_reader reader;
static struct weft_slot *slot;

static struct weft_event_type stacked = {
	.name = "test.Stacked",
	.flags = WEFT_EVENT_STACK,
	WEFT_EVENT_FIELDS({.name = "a", .kind = WEFT_EVENT_LONG}),
};

/* What the walker was called with last, and how many bytes it says to have written. */
static struct weft_event_caller caller;
static uint32_t room_given, bytes_taken;

static uint32_t take_stack(struct weft_slot *of, const struct weft_event_caller *from, uint8_t *to,
			   uint32_t room)
{
	struct weft_event_stack head = {.stack = WEFT_SAMPLE_FRAMES, .frame_count = 2};
	const uint64_t frames[2] = {from->pc, 0xabc};

	assert_ptr_equal(of, slot);
	caller = *from;
	room_given = room;
	if (!bytes_taken)
		return 0;
	memcpy(to, &head, sizeof(head));
	memcpy(to + sizeof(head), frames, sizeof(frames));
	return bytes_taken;
}

static int begin(void **state)
{
	(void)state;
	slot = weft_thread_own_slot();
	assert_non_null(slot);
	record(WEFT_RUN_RECORDING);
	events_begin(slot, &reader);
	weft_rt.header->stack_copy_bytes = 8192;
	weft_rt.take_event_stack = take_stack;
	bytes_taken = sizeof(struct weft_event_stack) + 16;
	memset(&caller, 0, sizeof(caller));
	assert_true(weft_event_is_on(&stacked));
	return 0;
}

static int take(void)
{
	int bytes = ring_reader_next(&reader, &taken, sizeof(taken));

	assert_true(bytes >= 0);
	ring_reader_release(&reader);
	return bytes;
}

#define NOINLINE __attribute__((noinline))

static volatile uint64_t sink;

/* Values that live across the call, so that they are kept in registers which it must give back. */
static NOINLINE int emit_once(uint64_t seed)
{
	uint64_t a = seed * 3, b = seed * 5, c = seed * 7, d = seed * 11, e = seed * 13;
	int kept = weft_event_emit(&stacked, WEFT_LONG(seed));

	sink += a ^ b ^ c ^ d ^ e;
	return kept && a + b + c + d + e == seed * 39;
}

static NOINLINE int emit_at(uint64_t seed)
{
	uint64_t a = seed * 3, b = seed * 5, c = seed * 7, d = seed * 11, e = seed * 13;
	int kept = weft_event_emit_at(&stacked, 5, 6, WEFT_LONG(seed));

	sink += a ^ b ^ c ^ d ^ e;
	return kept && a + b + c + d + e == seed * 39;
}

static NOINLINE int timed(uint64_t seed)
{
	uint64_t a = seed * 3, b = seed * 5, c = seed * 7, d = seed * 11, e = seed * 13;
	struct weft_event event;
	int kept;

	weft_event_begin(&event, &stacked);
	kept = weft_event_commit(&event, WEFT_LONG(seed));
	sink += a ^ b ^ c ^ d ^ e;
	return kept && a + b + c + d + e == seed * 39;
}

static void expect_caller(int (*function)(uint64_t), uint64_t frame)
{
	uint64_t at = (uint64_t)(uintptr_t)function, seed = sink + 7;

	assert_true(function(seed));
	assert_true(caller.pc > at && caller.pc < at + 1024);
	assert_true(caller.sp < frame && caller.sp > frame - 4096);
#if defined(__x86_64__)
	assert_int_equal(caller.sp % 16, 0); /* as it is at a call */
#endif
	assert_int_equal(take(), sizeof(taken.r) + 8 + bytes_taken);
	assert_int_equal(taken.r.record.flags & ~WEFT_EVENT_IN_TSC, WEFT_EVENT_HAS_STACK);
	assert_int_equal(value_at(0), seed);
}

static void each_entry_keeps_its_caller(void **state)
{
	uint64_t frame = (uint64_t)(uintptr_t)__builtin_frame_address(0);

	(void)state;
	expect_caller(emit_once, frame);
	expect_caller(emit_at, frame);
	expect_caller(timed, frame);
}

static void the_stack_stands_behind_the_rest(void **state)
{
	const struct weft_event_stack *stack;

	(void)state;
	weft_context_set(1, 2);
	assert_int_equal(weft_event_emit(&stacked, WEFT_LONG(9)), 1);
	weft_context_set(0, 0);
	assert_int_equal(take(),
			 sizeof(taken.r) + 8 + sizeof(struct weft_event_context) + bytes_taken);
	assert_int_equal(value_at(0), 9);
	stack = (const void *)(taken.rest + 8 + sizeof(struct weft_event_context));
	assert_int_equal(stack->frame_count, 2);
	assert_int_equal(((const uint64_t *)(const void *)(stack + 1))[1], 0xabc);
}

static void without_bounds_it_goes_without(void **state)
{
	(void)state;
	bytes_taken = 0;
	assert_int_equal(weft_event_emit(&stacked, WEFT_LONG(9)), 1);
	assert_int_equal(take(), sizeof(taken.r) + 8);
	assert_int_equal(taken.r.record.flags & ~WEFT_EVENT_IN_TSC, WEFT_EVENT_NO_STACK);
	weft_rt.take_event_stack = NULL; /* nobody walks here */
	assert_int_equal(weft_event_emit(&stacked, WEFT_LONG(9)), 1);
	take();
	assert_int_equal(taken.r.record.flags & ~WEFT_EVENT_IN_TSC, WEFT_EVENT_NO_STACK);
}

/* Less and less is offered, and every event comes as long as there is room for itself. */
static void stacks_leave_room_for_events(void **state)
{
	uint64_t most, used, before = 0, kept = 0;
	uint32_t first, least = UINT32_MAX;

	(void)state;
	assert_int_equal(weft_event_emit(&stacked, WEFT_LONG(0)), 1);
	first = room_given;
	assert_true(first >= 4096 && first <= 8192 + 4096);
	most = slot->events_p.head;
	do {
		before = slot->events_p.head;
		room_given = 0;
		kept += (uint64_t)weft_event_emit(&stacked, WEFT_LONG(1));
		used = slot->events_p.head - slot->events_c.tail;
		if (room_given)
			least = room_given < least ? room_given : least;
	} while (slot->events_p.head != before);
	assert_true(least < first);
	assert_true(weft_layout.events_bytes - used < 2 * sizeof(taken.r) + 2 * most);
	while (take())
		;
	assert_int_equal(slot->counters[WEFT_COUNTER_EVENTS_WRITTEN], kept + 1);
}

static void no_stack_no_way_there(void **state)
{
	(void)state;
	row_of_type(&stacked)->flags &= ~(uint32_t)WEFT_EVENT_WITH_STACK;
	assert_int_equal(weft_event_emit(&stacked, WEFT_LONG(9)), 1);
	assert_int_equal(caller.pc, 0);
	assert_int_equal(take(), sizeof(taken.r) + 8);
	assert_int_equal(taken.r.record.flags & ~WEFT_EVENT_IN_TSC, 0);
	row_of_type(&stacked)->flags |= WEFT_EVENT_WITH_STACK;
}

/* An event that is over already has no type to look at. */
static void what_is_over_is_over(void **state)
{
	struct weft_event event = {.type = NULL};
	struct weft_event_value value = WEFT_LONG(1);

	(void)state;
	assert_int_equal(weft_event_put(&event, &value, 1), 0);
	assert_int_equal(take(), 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup(name, begin)
	const struct CMUnitTest tests[] = {
		TEST(each_entry_keeps_its_caller),    TEST(the_stack_stands_behind_the_rest),
		TEST(without_bounds_it_goes_without), TEST(stacks_leave_room_for_events),
		TEST(no_stack_no_way_there),          TEST(what_is_over_is_over),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
