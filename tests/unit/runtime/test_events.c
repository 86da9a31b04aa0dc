/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Typed events in the ring: what a record says, what leaves it out (thresholds and windows to the
 * nanosecond, in both clocks), and that nobody is harmed where nothing can be committed. What they
 * make of each other is test_events_semantics.c's; types and settings are test_event_types.c's.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <weft/coro_carry.h>
#include <weft/labels.h>

#include "unit.h"

#include "events_unit.h"
#include "runtime/event/event_clock.h"

static struct ring_reader reader;
static struct weft_slot *slot;

static struct weft_event_type pair = {
	.name = "test.Pair",
	WEFT_EVENT_FIELDS({.name = "a", .kind = WEFT_EVENT_LONG},
			  {.name = "b", .kind = WEFT_EVENT_DOUBLE}),
};
static struct weft_event_type timed = {.name = "test.Timed"};
static struct weft_event_type instant = {.name = "test.Instant", .flags = WEFT_EVENT_INSTANT};
static struct weft_event_type context = {.name = "test.Context", .flags = WEFT_EVENT_CONTEXTUAL};

static int begin(void **state)
{
	(void)state;
	slot = weft_thread_own_slot();
	assert_non_null(slot);
	record(WEFT_RUN_RECORDING);
	weft_context_clear();
	weft_labels_clear();
	events_begin(slot, &reader);
	return 0;
}

static int end(void **state)
{
	(void)state;
	record(WEFT_RUN_IDLE);
	weft_rt.header->features &= ~(uint64_t)WEFT_FEATURE_CLOCKSOURCE_TSC;
	weft_rt.header->tsc_hz = 0;
	return 0;
}

static uint64_t count(enum weft_counter counter)
{
	return slot->counters[counter];
}

static int take(void)
{
	int bytes = ring_reader_next(&reader, &taken, sizeof(taken));

	assert_true(bytes >= 0);
	ring_reader_release(&reader);
	return bytes;
}

static struct weft_event_row *row_of(struct weft_event_type *type)
{
	weft_event_type_enrol(type);
	return row_of_type(type);
}

/* ---- what a record says */

static void an_event_says_what_it_was_given(void **state)
{
	struct weft_event event;
	double real;

	(void)state;
	weft_event_begin(&event, &pair);
	assert_int_equal(weft_event_commit(&event, WEFT_LONG(-7), WEFT_DOUBLE(2.5)), 1);
	assert_int_equal(take(), sizeof(taken.r) + 16);
	assert_int_equal(taken.r.record.type, WEFT_RECORD_EVENT);
	assert_int_equal(taken.r.record.rsv, pair.number);
	assert_int_equal(taken.r.record.flags, 0);
	assert_int_equal(taken.r.record.generation, (uint32_t)slot->thread.generation);
	assert_true(taken.r.begin > 0 && taken.r.end >= taken.r.begin);
	assert_true((int64_t)value_at(0) == -7);
	memcpy(&real, taken.rest + 8, sizeof(real));
	assert_true(real == 2.5);
	assert_int_equal(take(), 0);
	assert_int_equal(count(WEFT_COUNTER_EVENTS_ATTEMPTED), 1);
	assert_int_equal(count(WEFT_COUNTER_EVENTS_WRITTEN), 1);
	assert_int_equal(slot->events.commits, 1);
	assert_int_equal(weft_event_commit(&event, WEFT_LONG(1), WEFT_DOUBLE(1)), 0);
	assert_int_equal(take(), 0);
}

static void an_event_at_once_has_no_duration(void **state)
{
	(void)state;
	assert_int_equal(weft_event_emit(&pair, WEFT_LONG(1)), 1);
	assert_int_equal(take(), sizeof(taken.r) + 16);
	assert_true(taken.r.begin == taken.r.end);
	assert_int_equal(value_at(0), 1);
	assert_int_equal(value_at(1), 0); /* not given */
	assert_int_equal(weft_event_emit_at(&pair, 100, 250, WEFT_LONG(2)), 1);
	take();
	assert_int_equal(taken.r.begin, 100);
	assert_int_equal(taken.r.end, 250);
	assert_int_equal(weft_event_emit_at(&pair, 100, 50, WEFT_LONG(2)), 1);
	take();
	assert_int_equal(taken.r.end, 100);                         /* time does not go back */
	assert_int_equal(weft_event_emit(&timed, WEFT_LONG(2)), 1); /* one too many */
	assert_int_equal(take(), sizeof(taken.r));
}

static struct weft_event_type of_all = {
	.name = "test.OfAll",
	WEFT_EVENT_FIELDS({.name = "flag", .kind = WEFT_EVENT_BOOLEAN},
			  {.name = "text", .kind = WEFT_EVENT_STRING},
			  {.name = "real", .kind = WEFT_EVENT_FLOAT},
			  {.name = "pooled", .kind = WEFT_EVENT_STRING_POOLED},
			  {.name = "part", .kind = WEFT_EVENT_STRING},
			  {.name = "thread", .kind = WEFT_EVENT_THREAD}),
};

static const uint8_t *expect_text(const uint8_t *at, const char *text, uint32_t bytes)
{
	uint32_t told;

	memcpy(&told, at, sizeof(told));
	assert_int_equal(told, bytes);
	assert_memory_equal(at + 4, text, bytes);
	return at + ((4 + bytes + 7) & ~7u);
}

static void strings_stand_among_numbers(void **state)
{
	const uint8_t *at = taken.rest;
	uint32_t null;
	float real;

	(void)state;
	assert_int_equal(weft_event_emit(&of_all, WEFT_LONG(1), WEFT_STRING("caf\xC3\xA9"),
					 WEFT_DOUBLE(0.5), WEFT_LONG(3),
					 WEFT_STRING_OF("abcdef", 3), WEFT_LONG(42)),
			 1);
	assert_int_equal(take(), sizeof(taken.r) + 8 + 16 + 8 + 8 + 8 + 8);
	assert_int_equal(value_at(0), 1);
	at = expect_text(at + 8, "caf\xC3\xA9", 5);
	memcpy(&real, at, sizeof(real));
	assert_true(real == 0.5F);
	assert_int_equal(at[4] | at[5] | at[6] | at[7], 0);
	assert_int_equal(at[8], 3);
	at = expect_text(at + 16, "abc", 3);
	assert_int_equal(at[0], 42);
	assert_int_equal(weft_event_emit(&of_all, WEFT_LONG(1), WEFT_STRING(NULL)), 1);
	assert_int_equal(take(), sizeof(taken.r) + 48);
	memcpy(&null, taken.rest + 8, sizeof(null));
	assert_int_equal(null, WEFT_EVENT_NULL);
	memcpy(&null, taken.rest + 32, sizeof(null));
	assert_int_equal(null, WEFT_EVENT_NULL); /* not given */
	assert_int_equal(weft_event_emit(&of_all, WEFT_LONG(1), WEFT_STRING("")), 1);
	take();
	expect_text(taken.rest + 8, "", 0);
}

static void long_strings_are_cut_between_characters(void **state)
{
	static char text[2 * WEFT_EVENT_STRING_MAX];

	(void)state;
	memset(text, 'x', sizeof(text) - 1);
	memcpy(text + WEFT_EVENT_STRING_MAX - 2, "\xE2\x82\xAC", 3); /* one byte of it too many */
	weft_event_emit(&of_all, WEFT_LONG(1), WEFT_STRING(text));
	take();
	expect_text(taken.rest + 8, text, WEFT_EVENT_STRING_MAX - 2);
	assert_int_equal(taken.r.record.flags & WEFT_EVENT_CUT_STRING, WEFT_EVENT_CUT_STRING);
	memcpy(text + WEFT_EVENT_STRING_MAX - 2, "xx", 3);
	weft_event_emit(&of_all, WEFT_LONG(1), WEFT_STRING(text));
	take();
	expect_text(taken.rest + 8, text, WEFT_EVENT_STRING_MAX);
	assert_int_equal(taken.r.record.flags & WEFT_EVENT_CUT_STRING, 0);
	memset(text, '\x80', sizeof(text) - 1); /* no text at all */
	weft_event_emit(&of_all, WEFT_LONG(1), WEFT_STRING_OF(text, sizeof(text)));
	take();
	expect_text(taken.rest + 8, text, WEFT_EVENT_STRING_MAX);
}

/* Sixty-four strings of the greatest length are a quarter of the ring at most. */
static void many_long_strings_find_room(void **state)
{
	static struct weft_event_field fields[WEFT_EVENT_FIELDS_MAX];
	static char names[WEFT_EVENT_FIELDS_MAX][8], text[2 * WEFT_EVENT_STRING_MAX];
	static struct weft_event_type type = {
		.name = "test.Texts", .fields = fields, .field_count = WEFT_EVENT_FIELDS_MAX};
	struct weft_event_value values[WEFT_EVENT_FIELDS_MAX];
	int bytes;

	(void)state;
	memset(text, 'x', sizeof(text) - 1);
	for (int i = 0; i < WEFT_EVENT_FIELDS_MAX; i++) {
		snprintf(names[i], sizeof(names[i]), "f%d", i);
		fields[i] = (struct weft_event_field){.name = names[i], .kind = WEFT_EVENT_STRING};
		values[i] = (struct weft_event_value)WEFT_STRING(text);
	}
	assert_true(weft_event_is_on(&type));
	for (int i = 0; i < 20; i++) {
		assert_int_equal(weft_event_put_now(&type, values, WEFT_EVENT_FIELDS_MAX), 1);
		bytes = take();
		assert_true(bytes > (int)(weft_layout.events_bytes / 5));
		assert_true(bytes <= (int)(weft_layout.events_bytes / 2));
	}
	assert_int_equal(taken.r.record.flags, WEFT_EVENT_CUT_STRING);
}

static const struct weft_event_context *told_context(uint32_t values)
{
	assert_true(taken.r.record.flags & WEFT_EVENT_HAS_CONTEXT);
	return (const void *)(taken.rest + values);
}

static void the_context_is_the_threads(void **state)
{
	struct weft_context c = {
		.span_id = 1, .root_span_id = 2, .trace_id = {3}, .trace_flags = 1};
	const struct weft_event_context *told;

	(void)state;
	weft_context_write(&c);
	weft_tag_set(4, 44);
	weft_event_emit(&pair, WEFT_LONG(7));
	assert_int_equal(take(), sizeof(taken.r) + 16 + sizeof(*told));
	assert_int_equal(value_at(0), 7);
	told = told_context(16);
	assert_int_equal(told->span_id, 1);
	assert_int_equal(told->root_span_id, 2);
	assert_int_equal(told->trace_id[0], 3);
	assert_int_equal(told->trace_flags, 1);
	assert_int_equal(told->tags[4], 44);
	assert_int_equal(told->label_bytes, 0);
	weft_context_set(5, 6);
	weft_event_emit(&timed);
	take();
	assert_int_equal(told_context(0)->span_id, 5);
	assert_int_equal(told_context(0)->trace_id[0], 0); /* of another span */
	weft_context_set(0, 0);
	weft_event_emit(&timed);
	take();
	assert_int_equal(told_context(0)->tags[4], 44); /* tags alone */
	weft_context_clear();
	weft_event_emit(&timed);
	assert_int_equal(take(), sizeof(taken.r));
}

static void labels_stand_behind_the_context(void **state)
{
	const struct weft_event_context *told;
	const struct weft_sample_label *label;

	(void)state;
	weft_label_set("route", "/cart");
	weft_event_emit(&pair, WEFT_LONG(7));
	assert_int_equal(take(), sizeof(taken.r) + 16 + sizeof(*told) + 16);
	told = told_context(16);
	assert_int_equal(told->label_bytes, 4 + 5 + 5);
	label = (const void *)(told + 1);
	assert_int_equal(label->key_bytes, 5);
	assert_memory_equal(label + 1, "route/cart", 10);
	weft_labels_clear();
	weft_event_emit(&pair, WEFT_LONG(7));
	assert_int_equal(take(), sizeof(taken.r) + 16);
}

static void labels_without_room_are_counted(void **state)
{
	char value[250];
	char key[2] = "a";

	(void)state;
	memset(value, 'v', sizeof(value));
	value[sizeof(value) - 1] = 0;
	for (; *key < 'd'; ++*key)
		weft_label_set(key, value);
	weft_event_emit(&timed);
	take();
	assert_int_equal(told_context(0)->label_bytes, 2 * (4 + 1 + 249));
	assert_int_equal(count(WEFT_COUNTER_LABELS_UNRECORDED), 1);
}

static void a_coroutine_is_told(void **state)
{
	struct weft_coro coro = {.id = 77, .flags = WEFT_CORO_DETACHED};

	(void)state;
	weft_coro_carry_v1.create(&coro, 1);
	weft_coro_carry_v1.resume(&coro, 2);
	weft_event_emit(&timed);
	take(); /* the switch */
	take();
	assert_int_equal(told_context(0)->coroutine, 77);
	weft_coro_carry_v1.suspend(&coro, 3);
	weft_coro_carry_v1.destroy(&coro, 4);
	while (take())
		;
	weft_event_emit(&timed);
	take();
	assert_int_equal(taken.r.record.flags, 0);
}

/* ---- what leaves it out */

static void a_threshold_is_exact(void **state)
{
	struct weft_event_row *row = row_of(&timed);

	(void)state;
	row->threshold_ns = 100;
	assert_int_equal(weft_event_emit_at(&timed, 1000, 1099), 0);
	assert_int_equal(weft_event_emit_at(&timed, 1000, 1100), 1);
	assert_int_equal(weft_event_emit_at(&timed, 1000, 1101), 1);
	row->threshold_ns = 0;
	assert_int_equal(weft_event_emit_at(&timed, 1000, 1000), 1);
	row->threshold_ns = UINT64_MAX;
	assert_int_equal(weft_event_emit_at(&timed, 0, UINT64_MAX - 1), 0);
	row->threshold_ns = 0;
	assert_int_equal(count(WEFT_COUNTER_EVENTS_SHORT), 2);
	assert_int_equal(count(WEFT_COUNTER_EVENTS_ATTEMPTED), 3);
	row = row_of(&instant);
	row->threshold_ns = row->threshold_tsc = UINT64_MAX; /* it has no duration */
	assert_int_equal(weft_event_emit(&instant), 1);
	row->threshold_ns = row->threshold_tsc = 0;
}

static void throttle(struct weft_event_row *row, uint64_t most, uint64_t window_ns)
{
	row->used = 0;
	row->throttle_count = most;
	row->throttle_window = window_ns;
	row->flags |= WEFT_EVENT_THROTTLED;
}

static int emitted(struct weft_event_type *type, int tries)
{
	int kept = 0;

	for (int i = 0; i < tries; i++)
		kept += weft_event_emit(type);
	return kept;
}

static void so_many_pass_in_a_window(void **state)
{
	struct weft_event_row *row = row_of(&timed);
	const uint64_t now = clock_monotonic_ns() / 1000;

	(void)state;
	throttle(row, 7, UINT64_C(1) << 62);
	assert_int_equal(emitted(&timed, 20), 7);
	assert_int_equal(count(WEFT_COUNTER_EVENTS_THROTTLED), 13);
	throttle(row, 0, UINT64_C(1) << 62);
	assert_int_equal(emitted(&timed, 20), 0);
	throttle(row, UINT64_MAX, UINT64_C(1) << 62);
	assert_int_equal(emitted(&timed, 20), 20);
	/* A window that is over, and one that has just been: what is late counts in the newest. */
	throttle(row, 3, 1000000);
	row->used = (now / 1000 - 1) << 32 | 3;
	assert_int_equal(emitted(&timed, 1), 1);
	throttle(row, 3, UINT64_C(1) << 62);
	row->used = UINT64_C(5) << 32 | 2;
	assert_int_equal(emitted(&timed, 4), 1);
	assert_int_equal(row->used, UINT64_C(5) << 32 | 3);
	/* The numbers' low halves went round, or it was another window's length: it is a new one.
	 */
	throttle(row, 3, UINT64_C(1) << 62);
	row->used = UINT64_C(0x7FFFFFFF) << 32 | 3;
	assert_int_equal(emitted(&timed, 4), 3);
	row->flags &= ~(uint32_t)WEFT_EVENT_THROTTLED;
	row->throttle_window = 0;
}

/* Not more than there were windows. */
static void a_window_follows_the_clock(void **state)
{
	struct weft_event_row *row = row_of(&timed);
	uint64_t first = clock_monotonic_ns() / 1000000, last;
	int kept = 0, tried = 0;

	(void)state;
	throttle(row, 1, 1000000);
	do {
		kept += weft_event_emit(&timed);
		tried++;
		last = clock_monotonic_ns() / 1000000;
	} while (last < first + 20);
	assert_true(kept >= 1 && (uint64_t)kept <= last - first + 1);
	assert_int_equal(kept + (int)count(WEFT_COUNTER_EVENTS_THROTTLED), tried);
	row->flags &= ~(uint32_t)WEFT_EVENT_THROTTLED;
	row->throttle_window = 0;
}

static void off_and_idle_cost_nothing_and_tell_nothing(void **state)
{
	struct weft_event event;
	struct weft_event_row *row = row_of(&timed);

	(void)state;
	row->flags &= ~(uint32_t)WEFT_EVENT_ON;
	weft_event_begin(&event, &timed);
	assert_null(event.type);
	assert_int_equal(weft_event_should_commit(&event), 0);
	assert_int_equal(weft_event_commit(&event), 0);
	assert_int_equal(weft_event_emit(&timed), 0);
	assert_int_equal(weft_event_emit_at(&timed, 1, 2), 0);
	row->flags |= WEFT_EVENT_ON;
	weft_event_begin(&event, &timed); /* and switched off in between */
	row->flags &= ~(uint32_t)WEFT_EVENT_ON;
	assert_int_equal(weft_event_commit(&event), 0);
	row->flags |= WEFT_EVENT_ON;
	for (int run = WEFT_RUN_IDLE; run <= WEFT_RUN_CLOSED; run++) {
		record((enum weft_run_state)run);
		assert_int_equal(weft_event_emit(&timed), run == WEFT_RUN_RECORDING);
		weft_event_begin(&event, &timed);
		assert_int_equal(weft_event_commit(&event), run == WEFT_RUN_RECORDING);
	}
	assert_int_equal(count(WEFT_COUNTER_EVENTS_ATTEMPTED), 2);
}

static void a_recording_that_ends_leaves_no_context(void **state)
{
	struct weft_event event;

	(void)state;
	weft_event_begin(&event, &context);
	assert_int_equal(slot->events.open_contexts, 1);
	record(WEFT_RUN_STOPPED);
	assert_int_equal(weft_event_commit(&event), 0);
	assert_int_equal(slot->events.open_contexts, 0);
	weft_event_begin(&event, &context);
	assert_int_equal(slot->events.open_contexts, 0);
}

/* ---- clocks */

#if defined(__x86_64__)
static void tell_tsc(uint64_t hz)
{
	weft_rt.header->mono_anchor_ns = 1000000000;
	weft_rt.header->tsc_anchor = 500000;
	weft_rt.header->tsc_hz = hz;
	weft_rt.header->features |= WEFT_FEATURE_CLOCKSOURCE_TSC;
}

static void the_tsc_is_the_clock_where_it_may_be(void **state)
{
	uint64_t before;
	struct weft_event event;

	(void)state;
	tell_tsc(2000000000);
	before = event_tsc();
	weft_event_begin(&event, &timed);
	assert_int_equal(weft_event_commit(&event), 1);
	take();
	assert_int_equal(taken.r.record.flags, WEFT_EVENT_IN_TSC);
	assert_true(taken.r.begin >= before && taken.r.end >= taken.r.begin);
	assert_true(taken.r.end <= event_tsc());
	assert_int_equal(weft_event_emit(&timed), 1);
	take();
	assert_int_equal(taken.r.record.flags, WEFT_EVENT_IN_TSC);
	assert_int_equal(weft_event_emit_at(&timed, 5, 6), 1);
	take();
	assert_int_equal(taken.r.record.flags, 0); /* the caller's are of CLOCK_MONOTONIC */
}

static void times_are_converted_by_the_anchor(void **state)
{
	(void)state;
	tell_tsc(2000000000);
	assert_int_equal(event_convert(500000, 0), 1000000000);
	assert_int_equal(event_convert(500000 + 2000000001, 0), 2000000000);
	assert_int_equal(event_convert(400000, 0), 1000000000 - 50000);
	assert_int_equal(event_convert(1000000000, 1), 500000);
	assert_int_equal(event_convert(1000000003, 1), 500006);
	tell_tsc(3000000000);
	/* three years, to the nanosecond */
	assert_int_equal(event_convert(500000 + UINT64_C(94608000) * 3000000000, 0),
			 UINT64_C(94608001) * 1000000000);
	weft_rt.header->tsc_hz = 0;
	assert_int_equal(event_convert(7, 0), 7);
}

/* A recording that attaches, or one that ends, between begin and end. */
static void the_clock_may_change_in_between(void **state)
{
	struct weft_event event;
	uint64_t before;

	(void)state;
	before = clock_monotonic_ns();
	weft_event_begin(&event, &timed);
	tell_tsc(2000000000);
	assert_int_equal(weft_event_commit(&event), 1);
	take();
	assert_int_equal(taken.r.record.flags, WEFT_EVENT_IN_TSC);
	assert_true(taken.r.begin >= event_convert(before, 1));
	assert_true(taken.r.begin <= event_convert(clock_monotonic_ns(), 1));
	assert_true(taken.r.end >= taken.r.begin);
	weft_event_begin(&event, &timed);
	weft_rt.header->features &= ~(uint64_t)WEFT_FEATURE_CLOCKSOURCE_TSC;
	assert_int_equal(weft_event_commit(&event), 1);
	take();
	assert_int_equal(taken.r.record.flags, 0);
	assert_true(taken.r.end >= taken.r.begin);
}

static void thresholds_hold_in_ticks(void **state)
{
	struct weft_event_row *row = row_of(&timed);
	struct weft_event event;

	(void)state;
	tell_tsc(2000000000);
	row->threshold_ns = 1;
	row->threshold_tsc = UINT64_MAX;
	weft_event_begin(&event, &timed);
	assert_int_equal(weft_event_commit(&event), 0);
	assert_int_equal(count(WEFT_COUNTER_EVENTS_SHORT), 1);
	assert_int_equal(weft_event_emit_at(&timed, 5, 6), 1);
	row->threshold_ns = row->threshold_tsc = 0;
}

/* Of the TSC's time, converted: not one more than it may have. */
static void windows_hold_in_ticks(void **state)
{
	struct weft_event_row *row = row_of(&timed);

	(void)state;
	tell_tsc(2000000000);
	throttle(row, 5, UINT64_C(1) << 62);
	assert_int_equal(emitted(&timed, 20), 5);
	row->flags &= ~(uint32_t)WEFT_EVENT_THROTTLED;
	row->throttle_window = 0;
}
#endif

/* ---- spans */

static void a_span_sets_ids_and_is_an_event(void **state)
{
	struct weft_span outer, inner;

	(void)state;
	weft_context_set(1, 2);
	weft_span_begin(&outer, "GET /", 11, 12);
	assert_int_equal(weft_context_get().span_id, 11);
	weft_span_begin(&inner, NULL, 21, 22);
	assert_int_equal(weft_context_get().root_span_id, 22);
	assert_int_equal(slot->events.open_contexts, 2);
	assert_int_equal(weft_span_end(&inner), 1);
	assert_int_equal(weft_context_get().span_id, 11);
	assert_int_equal(weft_span_end(&outer), 1);
	assert_int_equal(weft_context_get().span_id, 1);
	assert_int_equal(slot->events.open_contexts, 0);
	take(); /* the inner one: its own context is the outer's */
	assert_int_equal(value_at(1), 21);
	assert_int_equal(value_at(2), 22);
	assert_int_equal(told_context(24)->span_id, 11);
	take();
	expect_text(taken.rest, "GET /", 5);
	assert_int_equal(told_context(32)->span_id, 1);
}

static void a_span_of_which_nothing_is_told_sets_ids(void **state)
{
	struct weft_span span;
	const struct weft_event_row *row;

	(void)state;
	weft_span_begin(&span, "first", 1, 1);
	row = span.event.type->row;
	weft_span_end(&span);
	take();
	weft_event_rows[row - weft_event_rows].flags |= WEFT_EVENT_IF_TRIGGERED;
	weft_span_begin(&span, "second", 31, 32);
	assert_int_equal(weft_context_get().span_id, 31);
	assert_int_equal(weft_span_end(&span), 0);
	assert_int_equal(weft_context_get().span_id, 0);
	weft_event_rows[row - weft_event_rows].flags &= ~(uint32_t)WEFT_EVENT_IF_TRIGGERED;
	record(WEFT_RUN_IDLE);
	weft_span_begin(&span, "third", 41, 42);
	assert_int_equal(weft_context_get().span_id, 41);
	assert_int_equal(weft_span_end(&span), 0);
	assert_int_equal(weft_context_get().span_id, 0);
	assert_int_equal(take(), 0);
	assert_int_equal(count(WEFT_COUNTER_EVENTS_UNTRIGGERED), 1);
}

/* ---- where it goes wrong */

static void what_finds_no_room_is_counted_and_triggers_nothing(void **state)
{
	uint64_t kept = 0, tried = weft_layout.events_bytes / (sizeof(taken.r) + 16) + 10;

	(void)state;
	for (uint64_t i = 0; i < tried; i++)
		kept += (uint64_t)weft_event_emit(&pair, WEFT_LONG(i));
	assert_true(kept < tried);
	assert_int_equal(count(WEFT_COUNTER_EVENTS_ATTEMPTED), tried);
	assert_int_equal(count(WEFT_COUNTER_EVENTS_RING_FULL), tried - kept);
	assert_int_equal(count(WEFT_COUNTER_EVENTS_WRITTEN), kept);
	assert_int_equal(slot->events.commits, kept);
	for (uint64_t i = 0; i < kept; i++) {
		assert_true(take() > 0);
		assert_int_equal(value_at(0), i);
	}
	assert_int_equal(take(), 0);
}

static void a_longjmp_leaves_a_context_that_cancel_takes_back(void **state)
{
	static struct weft_event event, after;
	static jmp_buf out;

	(void)state;
	if (!setjmp(out)) {
		weft_event_begin(&event, &context);
		longjmp(out, 1);
	}
	assert_int_equal(slot->events.open_contexts, 1);
	weft_event_cancel(&event);
	assert_int_equal(slot->events.open_contexts, 0);
	weft_event_cancel(&event); /* a second time: nothing */
	assert_int_equal(slot->events.open_contexts, 0);
	weft_event_begin(&after, &context);
	slot->events.open_contexts = 0; /* as a child that nobody prepared finds it */
	weft_event_end(&after);
	assert_int_equal(slot->events.open_contexts, 0);
	weft_event_cancel(&after);
	assert_int_equal(take(), 0);
}

/* A child without session: its events are nobody's, and its contexts its own. */
static int in_child(struct weft_event *event)
{
	struct weft_event own;
	struct weft_slot *mine;

	if (weft_event_is_on(&timed) || weft_event_emit(&timed))
		return 1;
	mine = weft_thread_own_slot();
	if (mine == slot || mine->events.open_contexts != 1)
		return 2;
	weft_event_begin(&own, &context);
	if (own.type || weft_event_commit(event) || mine->events.open_contexts != 0)
		return 3;
	return 0;
}

static void a_forked_child_takes_its_contexts_along(void **state)
{
	uint64_t attempted;
	struct weft_event event;
	int status;
	pid_t child;

	(void)state;
	weft_event_is_on(&timed);
	weft_event_begin(&event, &context);
	attempted = count(WEFT_COUNTER_EVENTS_ATTEMPTED);
	child = fork();
	if (child == 0)
		_exit(in_child(&event));
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_int_equal(count(WEFT_COUNTER_EVENTS_ATTEMPTED), attempted);
	assert_int_equal(slot->events.open_contexts, 1);
	assert_int_equal(weft_event_commit(&event), 1);
}

/* Handlers that commit, in the midst of commits: none is torn, and all are counted. */
static volatile sig_atomic_t ticks;

static void commit_too(int signo)
{
	struct weft_event event;

	(void)signo;
	weft_event_begin(&event, &context);
	weft_event_emit(&pair, WEFT_LONG(1000), WEFT_DOUBLE(1));
	weft_event_commit(&event);
	ticks++;
}

static uint64_t drain(void)
{
	uint64_t seen = 0;

	for (; take(); seen++)
		if (taken.r.record.rsv == pair.number)
			assert_true(value_at(0) == 7 || value_at(0) == 1000);
	return seen;
}

static void handlers_commit_too(void **state)
{
	const struct itimerval often = {{0, 200}, {0, 200}}, never = {{0, 0}, {0, 0}};
	struct sigaction action = {.sa_handler = commit_too};
	uint64_t own = 0, seen = 0;

	(void)state;
	(void)weft_event_is_on(&context);
	ticks = 0;
	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
	while (ticks < 50 || own < 10000) {
		weft_event_emit(&pair, WEFT_LONG(7));
		if (++own % 512 == 0)
			seen += drain();
	}
	setitimer(ITIMER_REAL, &never, NULL);
	signal(SIGALRM, SIG_DFL);
	seen += drain();
	assert_int_equal(count(WEFT_COUNTER_EVENTS_ATTEMPTED), own + 2 * (uint64_t)ticks);
	assert_int_equal(seen, count(WEFT_COUNTER_EVENTS_WRITTEN));
	assert_int_equal(count(WEFT_COUNTER_EVENTS_WRITTEN) + count(WEFT_COUNTER_EVENTS_RING_FULL) +
				 count(WEFT_COUNTER_EVENTS_NESTED),
			 count(WEFT_COUNTER_EVENTS_ATTEMPTED));
	assert_int_equal(slot->events.commits, count(WEFT_COUNTER_EVENTS_WRITTEN));
	assert_int_equal(slot->events.open_contexts, 0);
}

/* On a thread that can get no slot: as one that has ended, or of the 65 537th. */
static void without_a_slot_it_is_counted_in_the_header(void **state)
{
	const struct weft_event_put put = {.type = &timed};
	uint64_t before = weft_rt.header->counters[WEFT_COUNTER_EVENTS_NO_SLOT];

	(void)state;
	(void)weft_event_is_on(&timed);
	assert_int_equal(weft_event_write(NULL, &put), 0);
	assert_int_equal(weft_event_write(weft_slot_private(), &put), 0);
	assert_int_equal(weft_rt.header->counters[WEFT_COUNTER_EVENTS_NO_SLOT], before + 2);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
	const struct CMUnitTest tests[] = {
		TEST(an_event_says_what_it_was_given),
		TEST(an_event_at_once_has_no_duration),
		TEST(strings_stand_among_numbers),
		TEST(long_strings_are_cut_between_characters),
		TEST(many_long_strings_find_room),
		TEST(the_context_is_the_threads),
		TEST(labels_stand_behind_the_context),
		TEST(labels_without_room_are_counted),
		TEST(a_coroutine_is_told),
		TEST(a_threshold_is_exact),
		TEST(so_many_pass_in_a_window),
		TEST(a_window_follows_the_clock),
		TEST(off_and_idle_cost_nothing_and_tell_nothing),
		TEST(a_recording_that_ends_leaves_no_context),
#if defined(__x86_64__)
		TEST(the_tsc_is_the_clock_where_it_may_be),
		TEST(times_are_converted_by_the_anchor),
		TEST(the_clock_may_change_in_between),
		TEST(thresholds_hold_in_ticks),
		TEST(windows_hold_in_ticks),
#endif
		TEST(a_span_sets_ids_and_is_an_event),
		TEST(a_span_of_which_nothing_is_told_sets_ids),
		TEST(what_finds_no_room_is_counted_and_triggers_nothing),
		TEST(a_longjmp_leaves_a_context_that_cancel_takes_back),
		TEST(a_forked_child_takes_its_contexts_along),
		TEST(handlers_commit_too),
		TEST(without_a_slot_it_is_counted_in_the_header),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
