/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Typed events of a session: types out of the log, their rows, what the worker is told and when,
 * settings that change, and events out of the ring with books that balance, whoever lies.
 */
#include "base/clock.h"
#include "base/session_layout.h"
#include "collector/session/session.h"
#include "collector/write/process_work.h"
#include "typed.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

static struct process *process;
static struct session *session;
static struct queue queue;
static struct weft_slot *slot;
static struct tsc_clock tsc;

static const struct weft_event_type order = {
	.name = "shop.Order",
	.flags = WEFT_EVENT_STACK,
	.threshold = "20 ms",
	WEFT_EVENT_FIELDS({.name = "number", .kind = WEFT_EVENT_LONG}),
};
#define NUMBER WEFT_EVENT_ROW_FIRST

static struct weft_session_header *header(void)
{
	return session->process->base;
}

static const struct weft_event_row *row(uint32_t number)
{
	return (const void *)((const uint8_t *)session->process->base +
			      session->process->layout.event_area_offset +
			      (size_t)number * WEFT_EVENT_ROW_BYTES);
}

static void begin_with(const char *lines)
{
	struct settings_text text = {(char *)(uintptr_t)lines, lines ? strlen(lines) : 0};
	struct session_settings settings = {
		.period_ns = 1000000,
		.stack_mode = WEFT_STACK_AUTO,
		.events = {.text = &text, .clock = &tsc, .engines = WEFT_ENGINE_CPU},
	};

	assert_int_equal(process_new(&process, getpid()), 0);
	assert_int_equal(queue_init(&queue, 1 << 20), 0);
	process->opened_ns = clock_mono_ns();
	assert_int_equal(session_new(&session, process, &settings), 0);
	slot = weft_session_slot(session->process->base, &session->process->layout, 0);
	slot->thread.generation = 1;
	slot->thread.tid = getpid();
	header()->slots_high = 1;
	*weft_session_states(session->process->base, &session->process->layout) =
		WEFT_STATE_WORD(1, WEFT_SLOT_LIVE);
}

static int begin(void **state)
{
	(void)state;
	tsc = (struct tsc_clock){.is_usable = 1};
	/* 2 ticks a ns */
	tsc_clock_add(&tsc, &(struct tsc_anchor){1000, clock_mono_ns()});
	tsc_clock_add(&tsc, &(struct tsc_anchor){2000001000, tsc.anchor[0].mono_ns + 1000000000});
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

/* As a program does, outside of handlers. */
static void log_type(uint32_t number, const struct definition *d)
{
	uint8_t *at = (uint8_t *)session->process->base + session->process->layout.dict_offset +
		      header()->dict_head;
	uint32_t bytes = (uint32_t)sizeof(struct weft_log_record) + ((d->bytes + 7u) & ~7u);
	struct weft_log_record record = {
		.bytes = bytes, .type = WEFT_LOG_EVENT_TYPE, .id = number, .data_bytes = d->bytes};

	memcpy(at, &record, sizeof(record));
	memcpy(at + sizeof(record), d->data, d->bytes);
	header()->dict_head += bytes;
}

static void enrol(uint32_t number, const struct weft_event_type *type)
{
	struct definition d;

	define(&d, type);
	log_type(number, &d);
}

static void put(const struct written *w)
{
	uint8_t *ring = (uint8_t *)slot + session->process->layout.events_offset;
	uint64_t head = slot->events_p.head;

	memcpy(ring + (head & (session->process->layout.events_bytes - 1)), w, w->r.record.bytes);
	slot->counters[WEFT_COUNTER_EVENTS_ATTEMPTED]++;
	slot->events_p.written++;
	slot->events_p.head = head + w->r.record.bytes;
	header()->fresh[0] = 1;
}

static struct written sound(int64_t value)
{
	uint64_t now_ns = clock_mono_ns();
	struct written w = event_of(NUMBER, now_ns - 1000, now_ns);

	put_number(&w, value);
	return w;
}

static uint64_t drain(void)
{
	return session_drain(session, &queue, DRAIN_RUNNING).events;
}

static struct batch *pop(enum batch_kind kind)
{
	struct batch *b = queue_pop(&queue);

	assert_int_equal(b->kind, kind);
	return b;
}

static struct type_word pop_word(size_t *definition_bytes)
{
	struct batch *b = pop(BATCH_TYPE);
	struct type_word word;

	memcpy(&word, b->data, sizeof(word));
	*definition_bytes = b->bytes - sizeof(word);
	free(b);
	return word;
}

static struct session_counts balanced(void)
{
	struct session_counts n;

	session_count(session, &n);
	assert_int_equal(n.counter[WEFT_COUNTER_EVENTS_ATTEMPTED],
			 n.events_delivered + n.counter[WEFT_COUNTER_EVENTS_INVALID] +
				 n.counter[WEFT_COUNTER_EVENTS_MISTIMED] + n.events_pending);
	return n;
}

static void a_type_is_told_before_its_events(void **state)
{
	struct written w = sound(-7);
	const struct checked_event *e;
	struct batch *b;
	size_t bytes;

	(void)state;
	begin_with(NULL);
	enrol(NUMBER, &order);
	put(&w);
	assert_int_equal(drain(), 1);
	assert_int_equal(pop_word(&bytes).number, NUMBER);
	assert_true(bytes > sizeof(struct weft_event_type_head));
	b = pop(BATCH_EVENTS);
	e = (const void *)b->data;
	assert_int_equal(e->values_bytes, 8);
	assert_memory_equal(e->record, &w, sizeof(w.r) + 8);
	free(b);
	assert_int_equal(balanced().events_delivered, 1);
}

static void rows_are_on_as_settings_say(void **state)
{
	(void)state;
	begin_with("shop.*#threshold=3 ms\nshop.*#select=if-context\nshop.*#throttle=5/s\n");
	enrol(NUMBER, &order);
	drain();
	assert_int_equal(row(NUMBER)->flags, WEFT_EVENT_ON | WEFT_EVENT_WITH_STACK |
						     WEFT_EVENT_IF_CONTEXT | WEFT_EVENT_THROTTLED);
	assert_int_equal(row(NUMBER)->threshold_ns, 3000000);
	assert_int_equal(row(NUMBER)->threshold_tsc, 6000000);
	assert_int_equal(row(NUMBER)->throttle_count, 5);
	assert_int_equal(row(NUMBER)->throttle_window, 1000000000);
	assert_int_equal(row(WEFT_EVENT_ROW_CPU)->flags, WEFT_EVENT_SET | WEFT_EVENT_ON);
	session_stop(session);
	assert_int_equal(row(NUMBER)->flags & WEFT_EVENT_ON, 0);
	assert_int_equal(row(WEFT_EVENT_ROW_CPU)->flags, WEFT_EVENT_SET);
	/* Who comes late finds it off, too. */
	enrol(NUMBER + 1, &(struct weft_event_type){.name = "shop.Late"});
	drain();
	assert_int_equal(row(NUMBER + 1)->flags & WEFT_EVENT_ON, 0);
}

static void samples_have_rows_too(void **state)
{
	(void)state;
	begin_with("jdk.ExecutionSample#select=if-context\nprofiler.*#enabled=false\n");
	assert_int_equal(row(WEFT_EVENT_ROW_CPU)->flags,
			 WEFT_EVENT_SET | WEFT_EVENT_ON | WEFT_EVENT_IF_CONTEXT);
	assert_int_equal(row(WEFT_EVENT_ROW_WALL)->flags & WEFT_EVENT_ON, 0);
	assert_int_equal(process->wall_asked, SAMPLES_NONE);
}

static void the_text_stands_in_the_session(void **state)
{
	static const char lines[] = "shop.*#threshold=3 ms\n";
	const struct weft_event_text *text;

	(void)state;
	begin_with(lines);
	text = (const void *)(row(0) + WEFT_EVENT_TYPES_MAX);
	assert_int_equal(text->seq % 2, 0);
	assert_int_equal(text->bytes, strlen(lines));
	assert_memory_equal(text + 1, lines, text->bytes);
}

static char changed[256];

static void note_changed(void *arg, const char *name)
{
	(void)arg;
	strcat(strcat(changed, name), ";");
}

static void what_is_set_later_holds_at_once(void **state)
{
	static const char lines[] = "*#enabled=false\n";
	struct type_word word;
	size_t bytes;

	(void)state;
	changed[0] = 0;
	begin_with(NULL);
	enrol(NUMBER, &order);
	drain();
	pop_word(&bytes);
	assert_int_equal(
		session_events_set(session, &queue, lines, strlen(lines), note_changed, NULL), 0);
	assert_string_equal(changed, "jdk.ExecutionSample;profiler.WallClockSample;shop.Order;");
	assert_int_equal(row(NUMBER)->flags & WEFT_EVENT_ON, 0);
	assert_int_equal(pop_word(&bytes).number, WEFT_EVENT_ROW_CPU);
	assert_int_equal(pop_word(&bytes).number, WEFT_EVENT_ROW_WALL);
	word = pop_word(&bytes);
	assert_int_equal(word.number, NUMBER);
	assert_int_equal(word.settings.enabled, 0);
	assert_int_equal(bytes, 0);
	/* A type that comes afterwards. */
	enrol(NUMBER + 1, &(struct weft_event_type){.name = "shop.Late"});
	drain();
	assert_int_equal(row(NUMBER + 1)->flags & WEFT_EVENT_ON, 0);
	/* Nothing changes: nobody is told. */
	changed[0] = 0;
	session_events_set(session, &queue, lines, strlen(lines), note_changed, NULL);
	assert_string_equal(changed, "");
}

static void ticks_become_the_clocks_time(void **state)
{
	uint64_t now_ns;
	struct written w;
	const struct checked_event *e;
	struct batch *b;
	size_t bytes;

	(void)state;
	begin_with(NULL);
	assert_true(header()->features & WEFT_FEATURE_CLOCKSOURCE_TSC);
	assert_int_equal(header()->tsc_hz, 2000000000);
	enrol(NUMBER, &order);
	now_ns = tsc.anchor[0].mono_ns;
	w = event_of(NUMBER, 1000 + 20000, 1000 + 40000);
	w.r.record.flags |= WEFT_EVENT_IN_TSC;
	put_number(&w, 1);
	put(&w);
	assert_int_equal(drain(), 1);
	pop_word(&bytes);
	b = pop(BATCH_EVENTS);
	e = (const void *)b->data;
	assert_int_equal(e->begin_ns, now_ns + 10000);
	assert_int_equal(e->end_ns, now_ns + 20000);
	assert_memory_equal(e->record, &w, w.r.record.bytes); /* as it came */
	free(b);
	tsc.is_usable = 0;
	session_events_clock(session);
	assert_int_equal(header()->features & WEFT_FEATURE_CLOCKSOURCE_TSC, 0);
}

/* As with types that are there when somebody attaches. */
static void thresholds_wait_for_the_clocks_rate(void **state)
{
	struct tsc_anchor second = tsc.anchor[1];

	(void)state;
	tsc.count = 1;
	begin_with(NULL);
	enrol(NUMBER, &order);
	drain();
	assert_int_equal(header()->features & WEFT_FEATURE_CLOCKSOURCE_TSC, 0);
	assert_int_equal(row(NUMBER)->threshold_ns, 20000000);
	tsc_clock_add(&tsc, &second);
	session_events_clock(session);
	assert_true(header()->features & WEFT_FEATURE_CLOCKSOURCE_TSC);
	assert_int_equal(row(NUMBER)->threshold_tsc, 40000000);
	assert_true(row(NUMBER)->flags & WEFT_EVENT_ON);
}

static void of_an_unknown_type(struct written *w)
{
	w->r.record.rsv = NUMBER + 1;
}

static void of_no_type(struct written *w)
{
	w->r.record.rsv = UINT32_MAX;
}

static void of_samples(struct written *w)
{
	w->r.record.rsv = WEFT_EVENT_ROW_CPU;
}

static void of_another_generation(struct written *w)
{
	w->r.record.generation = 2;
}

static void ends_before_it_begins(struct written *w)
{
	w->r.begin = w->r.end + 1;
}

static void ends_in_the_future(struct written *w)
{
	w->r.end += UINT64_C(60000000000);
}

static void ended_long_ago(struct written *w)
{
	w->r.begin = w->r.end = 5;
}

static void ticks_of_the_future(struct written *w)
{
	w->r.record.flags |= WEFT_EVENT_IN_TSC;
	w->r.begin = w->r.end = UINT64_MAX;
}

static void has_more(struct written *w)
{
	w->r.record.bytes += 8;
}

static void has_less(struct written *w)
{
	w->r.record.bytes -= 8;
}

static void of_another_kind(struct written *w)
{
	w->r.record.type = WEFT_RECORD_SAMPLE;
}

static void a_type_that_is_refused_is_off(void **state)
{
	const struct weft_event_type reserved = {.name = "jdk.Mine"};
	struct session_counts n;

	(void)state;
	begin_with(NULL);
	((struct weft_event_row *)(uintptr_t)row(NUMBER))->flags = WEFT_EVENT_ON;
	enrol(NUMBER, &reserved);
	drain();
	session_count(session, &n);
	assert_int_equal(n.counter[WEFT_COUNTER_EVENT_TYPES_REFUSED], 1);
	assert_int_equal(row(NUMBER)->flags, 0);
	/* One that is there keeps its row, whatever is said of its number. */
	enrol(NUMBER + 1, &order);
	drain();
	enrol(NUMBER + 1, &reserved);
	drain();
	assert_true(row(NUMBER + 1)->flags & WEFT_EVENT_ON);
}

static void what_lies_is_refused_and_counted(void **state)
{
	static void (*const lies[])(struct written *) = {
		of_an_unknown_type,
		of_no_type,
		of_samples,
		of_another_generation,
		ends_before_it_begins,
		ends_in_the_future,
		ended_long_ago,
		ticks_of_the_future,
		has_more,
		has_less,
		of_another_kind,
	};
	size_t bytes;

	(void)state;
	begin_with(NULL);
	enrol(NUMBER, &order);
	drain();
	pop_word(&bytes);
	for (uint64_t i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
		struct written good = sound(1), bad = sound(2);
		struct session_counts n;

		lies[i](&bad);
		put(&good);
		put(&bad);
		put(&good);
		assert_int_equal(drain(), 2);
		free(pop(BATCH_EVENTS));
		n = balanced();
		assert_int_equal(n.counter[WEFT_COUNTER_EVENTS_INVALID] +
					 n.counter[WEFT_COUNTER_EVENTS_MISTIMED],
				 i + 1);
	}
}

static void types_that_lie_are_refused_and_counted(void **state)
{
	struct session_counts n;
	struct definition d;
	size_t bytes;

	(void)state;
	begin_with(NULL);
	define(&d, &order);
	d.data[d.texts] = 'x';
	log_type(NUMBER, &d);
	define(&d, &order);
	log_type(WEFT_EVENT_TYPES_MAX, &d);
	log_type(NUMBER + 1, &d);
	log_type(NUMBER + 1, &d); /* a number is given once */
	drain();
	assert_int_equal(pop_word(&bytes).number, NUMBER + 1);
	n = balanced();
	assert_int_equal(n.counter[WEFT_COUNTER_EVENT_TYPES_REFUSED], 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_type_is_told_before_its_events, begin, end),
		cmocka_unit_test_setup_teardown(rows_are_on_as_settings_say, begin, end),
		cmocka_unit_test_setup_teardown(samples_have_rows_too, begin, end),
		cmocka_unit_test_setup_teardown(the_text_stands_in_the_session, begin, end),
		cmocka_unit_test_setup_teardown(what_is_set_later_holds_at_once, begin, end),
		cmocka_unit_test_setup_teardown(ticks_become_the_clocks_time, begin, end),
		cmocka_unit_test_setup_teardown(thresholds_wait_for_the_clocks_rate, begin, end),
		cmocka_unit_test_setup_teardown(what_lies_is_refused_and_counted, begin, end),
		cmocka_unit_test_setup_teardown(a_type_that_is_refused_is_off, begin, end),
		cmocka_unit_test_setup_teardown(types_that_lie_are_refused_and_counted, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
