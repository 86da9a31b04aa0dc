/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Other libraries' contexts in a sample record, as the handler copies them: from memory that is
 * known without a call, all else by one that cannot fault; records at the end of a page, with pages
 * that are gone behind them, and such that lie about their lengths.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include <weft/abi/custom_labels_v1.h>
#include <weft/abi/otel_thread_context.h>

#include "base/thread_pointer.h"
#include "runtime/core/runtime.h"
#include "runtime/sample/sample.h"
#include "runtime/stack/stack.h"
#include "unit.h"

#include "../../node_heap.h"

#define PAGE 4096
#define ROOM 8192
#define MOST 4096

static struct weft_session_header header;
static struct weft_session_header *before;
static struct weft_slot slot;
static __thread struct weft_otel_record *volatile record_pointer;
static __thread struct weft_custom_labels_set *volatile set_pointer;
static __thread struct weft_otel_record own_record;
static __thread struct weft_nodejs_variable nodejs;

static union {
	struct weft_sample_record sample;
	uint8_t bytes[ROOM];
} out;
static uint8_t *pages; /* the second cannot be read */

static uint64_t distance_of(const volatile void *variable)
{
	int64_t distance = (const volatile char *)variable - weft_thread_pointer();

	return (uint64_t)distance & ((UINT64_C(1) << WEFT_PUBLISHED_MODULE_SHIFT) - 1);
}

/* So far as all variables of this program are in it. */
static int64_t edge(void)
{
	const volatile void *const all[] = {&record_pointer, &set_pointer, &own_record,
					    &own_record + 1, &nodejs,      &nodejs + 1};
	int64_t far = 0;

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		int64_t at = (const volatile char *)all[i] - weft_thread_pointer();

		far = llabs(at) > llabs(far) ? at : far;
	}
	return far;
}

/* Not under an emulator that has no such call. */
static int can_read_itself(void)
{
	char from = 1, to = 0;
	struct iovec local = {&to, 1}, remote = {&from, 1};

	return process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == 1 && to == from;
}

static void needs_self_reads(void)
{
	if (!can_read_itself())
		skip();
}

static int begin(void **state)
{
	(void)state;
	before = weft_rt.header;
	memset(&header, 0, sizeof(header));
	memset(&slot, 0, sizeof(slot));
	memset(&own_record, 0, sizeof(own_record));
	weft_rt.header = &header;
	weft_rt.pid = getpid();
	record_pointer = NULL;
	set_pointer = NULL;
	header.published.otel.at = distance_of(&record_pointer);
	header.published.labels.at = distance_of(&set_pointer);
	pages = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(pages, MAP_FAILED);
	assert_int_equal(mprotect(pages + PAGE, PAGE, PROT_NONE), 0);
	return 0;
}

static int end(void **state)
{
	(void)state;
	munmap(pages, 2 * PAGE);
	weft_rt.header = before;
	return 0;
}

/* A sample's part, after a sample of which nothing is known but its stack's bounds. How many calls
 * that took. */
static uint64_t take_within(uint64_t from, uint64_t to, uint32_t most)
{
	struct stack_take take = {.slot = &slot,
				  .view = {.from = from, .to = to, .known = from != 0}};
	uint64_t calls = slot.counters[WEFT_COUNTER_CONTEXT_SELF_READ];
	uint32_t room;

	memset(&out, 0xEE, sizeof(out));
	memset(&out.sample, 0, sizeof(out.sample));
	out.sample.record.bytes = sizeof(out.sample);
	room = weft_sample_published_bytes(most);
	weft_sample_published_put(&take, room, &out.sample);
	assert_true(out.sample.record.bytes <= sizeof(out.sample) + room);
	for (uint32_t i = sizeof(out.sample) + room; i < ROOM; i++)
		assert_int_equal(out.bytes[i], 0xEE);
	return slot.counters[WEFT_COUNTER_CONTEXT_SELF_READ] - calls;
}

static uint64_t take(void)
{
	return take_within(0, 0, MOST);
}

static void expect_no_part(uint16_t flags)
{
	assert_int_equal(out.sample.flags, flags);
	assert_int_equal(out.sample.labels_at, 0);
	assert_int_equal(out.sample.record.bytes, sizeof(out.sample));
}

static void expect_nothing(void)
{
	expect_no_part(0);
}

static void expect_unreadable(void)
{
	expect_no_part(WEFT_SAMPLE_UNREADABLE);
}

/* The first part, if it is of this kind, and its size. */
static const uint8_t *part(uint16_t flags, uint32_t *bytes)
{
	const struct weft_sample_published *head = (const void *)(out.bytes + sizeof(out.sample));

	assert_int_equal(out.sample.flags, flags);
	assert_int_equal(out.sample.labels_at, sizeof(out.sample));
	*bytes = head->bytes;
	return (const uint8_t *)(head + 1);
}

static void expect_record(const struct weft_otel_record *record, uint32_t bytes)
{
	uint32_t found;
	const uint8_t *data = part(WEFT_SAMPLE_PUBLISHED, &found);

	assert_int_equal(found, bytes);
	assert_memory_equal(data, record, bytes);
	assert_int_equal(out.sample.record.bytes, sizeof(out.sample) +
							  sizeof(struct weft_sample_published) +
							  ((bytes + 7) & ~7u));
}

static void fill(struct weft_otel_record *record, uint16_t attributes)
{
	memset(record, 0xA5, WEFT_OTEL_ATTRIBUTES_AT);
	record->valid = 1;
	record->attributes_bytes = attributes;
}

/* ---- OpenTelemetry's record */

static void nobody_publishes(void **state)
{
	(void)state;
	assert_int_equal(take(), 0);
	expect_nothing();
	memset(&header.published, 0, sizeof(header.published));
	record_pointer = (void *)pages;
	assert_int_equal(take(), 0);
	expect_nothing();
}

static void known_memory_costs_no_call(void **state)
{
	_Alignas(1024) struct weft_otel_record here; /* on one page */
	uint64_t at = (uint64_t)(uintptr_t)&here;

	(void)state;
	fill(&here, 21);
	record_pointer = &here;
	assert_int_equal(take_within(at, at + sizeof(here), MOST), 0);
	expect_record(&here, 49);
	header.published.tls_edge = edge();
	fill(&own_record, 3);
	record_pointer = &own_record;
	assert_int_equal(take(), 0);
	expect_record(&own_record, 31);
}

/* The stack's bounds are not known, or end in its middle. */
static void unknown_stacks_cost_one(void **state)
{
	_Alignas(1024) struct weft_otel_record here; /* on one page */
	uint64_t at = (uint64_t)(uintptr_t)&here;

	(void)state;
	needs_self_reads();
	fill(&here, 21);
	record_pointer = &here;
	assert_int_equal(take(), 1);
	expect_record(&here, 49);
	assert_int_equal(take_within(at, at + 40, MOST), 1);
	expect_record(&here, 49);
}

static void a_record_on_the_heap_costs_one(void **state)
{
	struct weft_otel_record *record = aligned_alloc(1024, 1024); /* on one page */

	(void)state;
	needs_self_reads();
	assert_non_null(record);
	memset(record, 0, sizeof(*record));
	record_pointer = record;
	assert_int_equal(take(), 1);
	expect_nothing(); /* it is not valid */
	fill(record, 60);
	assert_int_equal(take(), 1);
	expect_record(record, 88);
	fill(record, 0);
	assert_int_equal(take(), 1);
	expect_record(record, 28);
	record->valid = 2;
	take();
	expect_nothing();
	free(record);
}

/* It is not read beyond the page on which its head ends, unless it says that it goes on there. */
static void a_page_may_end_behind_it(void **state)
{
	struct weft_otel_record *record = (void *)(pages + PAGE - 40);

	(void)state;
	needs_self_reads();
	record_pointer = record;
	fill(record, 12);
	assert_int_equal(take(), 1);
	expect_record(record, 40);
	fill(record, 13);
	take();
	expect_unreadable();
	assert_int_equal(mprotect(pages + PAGE, PAGE, PROT_READ | PROT_WRITE), 0);
	assert_int_equal(take(), 2);
	expect_record(record, 41);
	record_pointer = record = (void *)(pages + PAGE - 10);
	fill(record, 99);
	assert_int_equal(take(), 1);
	expect_record(record, 127);
	assert_int_equal(mprotect(pages + PAGE, PAGE, PROT_NONE), 0);
	take();
	expect_unreadable();
}

static void pointers_to_nowhere_are_no_fault(void **state)
{
	static const uint64_t nowhere[] = {1,
					   8,
					   4095,
					   UINT64_MAX,
					   UINT64_MAX - 27,
					   UINT64_C(1) << 47,
					   UINT64_C(0x8000000000001000)};

	(void)state;
	header.published.tls_edge = edge();
	for (size_t i = 0; i < sizeof(nowhere) / sizeof(nowhere[0]); i++) {
		record_pointer = (void *)(uintptr_t)nowhere[i];
		set_pointer = (void *)(uintptr_t)nowhere[i];
		take();
		expect_unreadable();
	}
	record_pointer = (void *)(pages + PAGE);
	set_pointer = (void *)(pages + PAGE - 8);
	take();
	expect_unreadable();
}

/* A filter may kill for the call: what is not known is not read. */
static void filters_are_not_asked(void **state)
{
	struct weft_custom_labels_set set = {.count = 1};

	(void)state;
	store_relaxed(&weft_rt.careful, 1);
	header.published.tls_edge = edge();
	fill((void *)pages, 3);
	record_pointer = (void *)pages;
	set_pointer = &set;
	assert_int_equal(take(), 0);
	expect_unreadable();
	fill(&own_record, 3);
	record_pointer = &own_record;
	set_pointer = NULL;
	assert_int_equal(take(), 0);
	expect_record(&own_record, 31);
	store_relaxed(&weft_rt.careful, 0);
}

static void lengths_are_bounded(void **state)
{
	struct weft_otel_record *record = (void *)pages;

	(void)state;
	needs_self_reads();
	record_pointer = record;
	fill(record, UINT16_MAX);
	take();
	expect_record(record, WEFT_SAMPLE_PUBLISHED_BYTES);
	/* without room for a whole record there is none, and that is counted */
	take_within(0, 0, 512);
	expect_nothing();
	assert_int_equal(slot.counters[WEFT_COUNTER_LABELS_UNRECORDED], 1);
}

/* What is no place for a variable is not looked at. */
static void strange_places_are_none(void **state)
{
	static const uint64_t places[] = {3, UINT64_C(1) << 30, UINT64_C(1) << 39,
					  UINT64_C(7) << WEFT_PUBLISHED_MODULE_SHIFT};

	(void)state;
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		header.published.otel.at = places[i];
		assert_int_equal(take(), 0);
		expect_nothing();
	}
}

/* ---- the same, of Node.js */

static _Alignas(PAGE) struct node_heap heap; /* on one page */
static uint64_t frame;

/* A frame with the record in the first page, and one key more. */
static void make_heap(void)
{
	header.published.tls_edge = edge();
	header.published.nodejs.at = distance_of(&nodejs);
	header.published.nodejs_layout = WEFT_NODEJS_LAYOUT_USUAL;
	node_begin(&heap, 77, &nodejs);
	frame = node_map(&heap, 2);
	node_put(frame, heap.word[NODE_HANDLE], 77, node_wrap(&heap, 4, pages));
	node_put(frame, node_new(&heap, 2), 78, nodejs.undefined);
	node_run(&heap, &nodejs, frame);
	fill((void *)pages, 12);
}

static void a_record_of_nodejs_costs_a_walk(void **state)
{
	(void)state;
	needs_self_reads();
	make_heap();
	assert_int_equal(take(), 3); /* up to the entry, to the wrapper, and to the record */
	expect_record((void *)pages, 40);
	node_entry(frame, 0)[1] = nodejs.undefined;
	assert_int_equal(take(), 1);
	expect_nothing();
	node_run(&heap, &nodejs, 0);
	assert_int_equal(take(), 1);
	expect_nothing();
	nodejs.cped_slot = 0;
	assert_int_equal(take(), 0);
	expect_nothing();
}

static void a_record_of_the_thread_comes_first(void **state)
{
	(void)state;
	make_heap();
	fill(&own_record, 3);
	record_pointer = &own_record;
	assert_int_equal(take(), 0);
	expect_record(&own_record, 31);
}

static void a_heap_that_lies_is_no_fault(void **state)
{
	(void)state;
	needs_self_reads();
	make_heap();
	node_entry(frame, 0)[1] = (uint64_t)(uintptr_t)pages + PAGE + 1;
	take();
	expect_unreadable();
	node_entry(frame, 0)[1] = node_small(1);
	take();
	expect_unreadable();
	node_run(&heap, &nodejs, 3);
	take();
	expect_unreadable();
	node_run(&heap, &nodejs, UINT64_MAX - 6);
	take();
	expect_unreadable();
	header.published.nodejs_layout = UINT32_MAX;
	take();
	expect_unreadable();
	header.published.nodejs.at = 3;
	assert_int_equal(take(), 0);
	expect_nothing();
}

static void a_heap_is_not_read_where_calls_are_filtered(void **state)
{
	(void)state;
	make_heap();
	store_relaxed(&weft_rt.careful, 1);
	assert_int_equal(take(), 0);
	expect_unreadable();
	store_relaxed(&weft_rt.careful, 0);
}

/* ---- a set of Custom Labels */

static struct weft_custom_labels_string string(const char *text)
{
	return (struct weft_custom_labels_string){strlen(text), (const unsigned char *)text};
}

static void expect_set(const char *text, uint32_t bytes, uint16_t flags)
{
	uint32_t found;
	const uint8_t *data = part(WEFT_SAMPLE_PUBLISHED_SET | flags, &found);

	assert_int_equal(found, bytes);
	assert_memory_equal(data, text, bytes);
}

static void labels_are_copied(void **state)
{
	static struct weft_custom_labels_label label[6];
	static struct weft_custom_labels_set set = {label, 6, 6};
	static const char expected[] = "\1\0\2\0a"
				       "xx"
				       "\3\0\0\0key"
				       "\1\0\1\0b"
				       "y"
				       "\1\0\1\0c"
				       "z";

	(void)state;
	needs_self_reads();
	label[0] = (struct weft_custom_labels_label){string("a"), string("xx")};
	label[2] = (struct weft_custom_labels_label){string("key"), string("")};
	label[3] = (struct weft_custom_labels_label){string("b"), string("y")};
	label[4] = (struct weft_custom_labels_label){{5, NULL}, string("absent")};
	label[5] = (struct weft_custom_labels_label){string("c"), string("z")};
	set_pointer = &set;
	assert_int_equal(take(), 5); /* the set; its labels in two steps, and their texts */
	expect_set(expected, sizeof(expected) - 1, 0);
	set.count = 1;
	assert_int_equal(take(), 3);
	expect_set(expected, 7, 0);
	/* the second step leads to nowhere: what was there before stays */
	set.count = 6;
	label[5].value.buf = pages + PAGE;
	take();
	expect_set(expected, sizeof(expected) - 1 - 6, WEFT_SAMPLE_UNREADABLE);
	label[0].key.buf = pages + PAGE;
	take();
	expect_unreadable();
	assert_int_equal(slot.counters[WEFT_COUNTER_LABELS_UNRECORDED], 0);
}

static void sets_that_lie_are_bounded(void **state)
{
	struct weft_custom_labels_label *label = calloc(64, sizeof(*label));
	struct weft_custom_labels_set set = {label, UINT64_MAX, 64};
	static uint8_t text[4096];
	uint32_t bytes;

	(void)state;
	needs_self_reads();
	assert_non_null(label);
	for (int i = 0; i < 64; i++)
		label[i] = (struct weft_custom_labels_label){{1, text}, {0, text}};
	set_pointer = &set;
	take();
	part(WEFT_SAMPLE_PUBLISHED_SET, &bytes);
	assert_int_equal(bytes, WEFT_SAMPLE_PUBLISHED_LABELS * 5);
	assert_int_equal(slot.counters[WEFT_COUNTER_LABELS_UNRECORDED], 1);
	for (int i = 0; i < 64; i++)
		label[i] = (struct weft_custom_labels_label){{UINT64_MAX, text}, {1000, text}};
	take();
	part(WEFT_SAMPLE_PUBLISHED_SET, &bytes);
	assert_int_equal(bytes, WEFT_SAMPLE_PUBLISHED_SET_BYTES / 388 * 388);
	free(label);
}

/* Both, one after the other. */
static void two_formats(void **state)
{
	struct weft_custom_labels_label label = {string("k"), string("v")};
	struct weft_custom_labels_set set = {&label, 1, 1};
	const uint8_t *at = out.bytes + sizeof(out.sample) + 8 + 32;

	(void)state;
	needs_self_reads();
	fill((void *)pages, 1);
	record_pointer = (void *)pages;
	set_pointer = &set;
	assert_int_equal(take(), 4);
	assert_int_equal(out.sample.flags, WEFT_SAMPLE_PUBLISHED | WEFT_SAMPLE_PUBLISHED_SET);
	assert_int_equal(out.sample.record.bytes, sizeof(out.sample) + 40 + 16);
	assert_memory_equal(at, "\6\0\0\0\0\0\0\0\1\0\1\0kv\0\0", 16);
}

static void a_context_is_told_from_none(void **state)
{
	struct weft_custom_labels_set set = {0};
	struct stack_take from = {.slot = &slot};

	(void)state;
	needs_self_reads();
	record_pointer = (void *)pages;
	set_pointer = &set;
	assert_int_equal(weft_sample_published_is_any(&from), 0);
	set.count = 1;
	assert_int_equal(weft_sample_published_is_any(&from), 1);
	set.count = 0;
	fill((void *)pages, 0);
	assert_int_equal(weft_sample_published_is_any(&from), 1);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(nobody_publishes, begin, end),
		cmocka_unit_test_setup_teardown(known_memory_costs_no_call, begin, end),
		cmocka_unit_test_setup_teardown(unknown_stacks_cost_one, begin, end),
		cmocka_unit_test_setup_teardown(a_record_on_the_heap_costs_one, begin, end),
		cmocka_unit_test_setup_teardown(a_page_may_end_behind_it, begin, end),
		cmocka_unit_test_setup_teardown(pointers_to_nowhere_are_no_fault, begin, end),
		cmocka_unit_test_setup_teardown(filters_are_not_asked, begin, end),
		cmocka_unit_test_setup_teardown(lengths_are_bounded, begin, end),
		cmocka_unit_test_setup_teardown(strange_places_are_none, begin, end),
		cmocka_unit_test_setup_teardown(a_record_of_nodejs_costs_a_walk, begin, end),
		cmocka_unit_test_setup_teardown(a_record_of_the_thread_comes_first, begin, end),
		cmocka_unit_test_setup_teardown(a_heap_that_lies_is_no_fault, begin, end),
		cmocka_unit_test_setup_teardown(a_heap_is_not_read_where_calls_are_filtered, begin,
						end),
		cmocka_unit_test_setup_teardown(labels_are_copied, begin, end),
		cmocka_unit_test_setup_teardown(sets_that_lie_are_bounded, begin, end),
		cmocka_unit_test_setup_teardown(two_formats, begin, end),
		cmocka_unit_test_setup_teardown(a_context_is_told_from_none, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
