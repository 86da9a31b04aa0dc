/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The walk over the heap of Node.js to the record of what runs there: that it finds it, wherever in
 * the table it is; that it says so when there is none; and that of a heap that is something else,
 * or lies, nothing is taken, and little is read.
 */
#include "reader/context/nodejs.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../../node_heap.h"
#include "canned.h"

#define HASH 0x1234567
#define READS_MOST (8 + WEFT_NODEJS_CHAIN_MAX + 2)

static struct node_heap heap;
static struct weft_nodejs_variable variable;
static struct weft_otel_record record;
static uint64_t wrapper, map, key;
static struct canned memory;
static struct target *target;
static struct otel_copy copy;

static uint64_t address_of(const void *at)
{
	return (uint64_t)(uintptr_t)at;
}

static void make_record(void)
{
	memset(&record, 0, sizeof(record));
	memset(record.trace_id, 0xAB, sizeof(record.trace_id));
	record.span_id[7] = 7;
	record.valid = 1;
}

/* A frame of @buckets in which it runs, with a few other keys before it and behind it. */
static void make_frame(uint64_t buckets, int before, int behind)
{
	map = node_map(&heap, buckets);
	for (int i = 0; i < before; i++)
		node_put(map, node_new(&heap, 2), HASH + i, variable.undefined);
	node_put(map, key, HASH, wrapper);
	for (int i = 0; i < behind; i++)
		node_put(map, node_new(&heap, 2), HASH + i, variable.undefined);
	node_run(&heap, &variable, map);
}

static void make(uint8_t slot)
{
	node_begin(&heap, HASH, &variable);
	make_record();
	key = heap.word[NODE_HANDLE];
	wrapper = node_wrap(&heap, slot, &record);
	make_frame(4, 2, 2);
}

static int begin(void **state)
{
	(void)state;
	memset(&memory, 0, sizeof(memory));
	canned_put(&memory, address_of(&heap), &heap, sizeof(heap.word));
	canned_put(&memory, address_of(&variable), &variable, sizeof(variable));
	canned_put(&memory, address_of(&record), &record, sizeof(record));
	assert_int_equal(target_from_text(&target, "", 0, &canned_source, &memory), 0);
	make(4);
	return 0;
}

static int end(void **state)
{
	(void)state;
	target_close(target);
	return 0;
}

static int walk_by(uint32_t layout)
{
	int rc;

	memory.reads = 0;
	rc = nodejs_copy(target, address_of(&variable), layout, &copy);
	assert_in_range(memory.reads, 1, READS_MOST);
	assert_true(rc == 0 || copy.bytes == 0);
	return rc;
}

static int walk(void)
{
	return walk_by(WEFT_NODEJS_LAYOUT_USUAL);
}

static void expect_record(int rc)
{
	assert_int_equal(rc, 0);
	assert_true(copy.address == address_of(&record));
	assert_int_equal(copy.bytes, WEFT_OTEL_ATTRIBUTES_AT);
	assert_memory_equal(copy.record, &record, copy.bytes);
}

/* ---- where it is */

static void it_is_found_in_any_bucket(void **state)
{
	(void)state;
	for (uint64_t buckets = 1; buckets <= 16; buckets *= 2)
		for (int before = 0; before < 2 * (int)buckets; before++) {
			make(4);
			make_frame(buckets, before, 2 * (int)buckets - 1 - before);
			expect_record(walk());
		}
}

static void what_was_deleted_is_passed_over(void **state)
{
	(void)state;
	for (uint64_t i = 0; i < 5; i++)
		if (i != 2)
			node_delete(map, i, variable.undefined + 64);
	expect_record(walk());
	node_delete(map, 2, variable.undefined + 64);
	assert_int_equal(walk(), -ENODATA);
}

/* Its slot is told by the variable, by the process context, or not at all. */
static void each_writer_has_its_slot(void **state)
{
	(void)state;
	for (uint8_t slot = 3; slot <= 4; slot++) {
		make(slot);
		expect_record(walk());
		expect_record(walk_by(WEFT_NODEJS_LAYOUT(3, 2, slot, 0)));
		assert_int_not_equal(walk_by(WEFT_NODEJS_LAYOUT(3, 2, 7 - slot, 0)), 0);
		variable.slot = (uint8_t)(slot * 8);
		expect_record(walk());
		expect_record(walk_by(WEFT_NODEJS_LAYOUT(3, 2, 7 - slot, 4)));
	}
}

static void older_writers_have_an_object_between(void **state)
{
	uint64_t own;

	(void)state;
	for (uint32_t at = 0; at < 4; at++) {
		make(4);
		own = node_new(&heap, 5) - 1;
		node_at(own + 1)[at] = address_of(&record);
		node_at(wrapper)[4] = own;
		expect_record(walk_by(WEFT_NODEJS_LAYOUT(3, 2, 4, at + 1)));
		assert_int_not_equal(walk(), 0);
		node_at(own + 1)[at] = 0;
		assert_int_equal(walk_by(WEFT_NODEJS_LAYOUT(3, 2, 4, at + 1)), -ENODATA);
	}
}

static void other_layouts_are_followed(void **state)
{
	uint64_t table = node_at(map)[NODE_TABLE], moved = node_new(&heap, 64);

	(void)state;
	node_at(map)[NODE_TABLE] = 0;
	node_at(map)[2] = moved;
	memcpy(node_at(moved) + 1, node_at(table), 40 * sizeof(uint64_t));
	expect_record(walk_by(WEFT_NODEJS_LAYOUT(2, 3, 4, 0)));
	assert_int_equal(walk(), -EBADMSG);
}

/* ---- where there is none */

static void nothing_runs(void **state)
{
	(void)state;
	node_run(&heap, &variable, 0);
	assert_int_equal(walk(), -ENODATA);
	assert_int_equal(memory.reads, 2);
	node_run(&heap, &variable, map);
	node_entry(map, 2)[1] = variable.undefined;
	assert_int_equal(walk(), -ENODATA);
	variable.cped_slot = 0;
	assert_int_equal(walk(), -ENODATA);
	assert_int_equal(memory.reads, 1);
}

static void it_is_not_in_this_frame(void **state)
{
	(void)state;
	node_entry(map, 2)[0] += 64;
	assert_int_equal(walk(), -ENODATA);
	make_frame(4, 0, 0);
	variable.als_hash++; /* whose bucket is empty */
	assert_int_equal(walk(), -ENODATA);
}

static void its_end_has_come(void **state)
{
	(void)state;
	record.valid = 0;
	assert_int_equal(walk(), -ENODATA);
	make(4);
	variable.slot = 32;
	node_at(wrapper)[4] = 0;
	assert_int_equal(walk(), -ENODATA);
}

/* ---- what is something else */

static void tags_are_checked(void **state)
{
	uint64_t *const path[] = {&heap.word[NODE_CPED], &heap.word[NODE_HANDLE],
				  &variable.undefined, &node_at(map)[NODE_TABLE],
				  &node_entry(map, 2)[1]};

	(void)state;
	for (size_t i = 0; i < sizeof(path) / sizeof(path[0]); i++)
		for (uint64_t tag = 0; tag < 8; tag++) {
			uint64_t before = *path[i];

			*path[i] = before - 1 + tag;
			if (tag != 1)
				assert_int_equal(walk(), -EBADMSG);
			*path[i] = node_small(3);
			assert_int_equal(walk(), -EBADMSG);
			*path[i] = before;
			expect_record(walk());
		}
	node_at(wrapper)[4]++;
	variable.slot = 32;
	assert_int_equal(walk(), -EBADMSG);
}

static void places_are_aligned(void **state)
{
	(void)state;
	variable.cped_slot++;
	assert_int_equal(walk(), -EBADMSG);
	variable.cped_slot--;
	variable.als_handle += 4;
	assert_int_equal(walk(), -EBADMSG);
	variable.als_handle = 0;
	assert_int_equal(walk(), -EBADMSG);
	variable.als_handle = address_of(&heap.word[NODE_HANDLE]);
	variable.slot = 33;
	assert_int_equal(walk(), -EBADMSG);
}

static void sizes_are_bounded(void **state)
{
	static const int64_t wrong[][3] = {
		{-1, 0, 4}, {5, -1, 4}, {5, 4, 4}, {9, 0, 4},        {5, 0, 0},
		{5, 0, 3},  {5, 0, -4}, {0, 0, 6}, {5, 0, 2 * 4096}, {INT32_MAX, INT32_MAX, 4096},
	};
	uint64_t *counts = node_counts(map), before[3];

	(void)state;
	memcpy(before, counts, sizeof(before));
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		for (int k = 0; k < 3; k++)
			counts[k] = node_small(wrong[i][k]);
		assert_int_equal(walk(), -EBADMSG);
	}
	for (int k = 0; k < 3; k++) {
		memcpy(counts, before, sizeof(before));
		counts[k] |= 2;
		assert_int_equal(walk(), -EBADMSG);
	}
	/* a table that is just being replaced has the new one there */
	memcpy(counts, before, sizeof(before));
	counts[0] = map;
	assert_int_equal(walk(), -EAGAIN);
}

static void chains_end(void **state)
{
	static const int64_t wrong[] = {-2, 5, INT32_MAX, INT32_MIN};
	uint64_t *head = node_counts(map) + 3 + (HASH & 3);

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		*head = node_small(wrong[i]);
		assert_int_equal(walk(), -EBADMSG);
	}
	*head = node_small(0) | 1;
	assert_int_equal(walk(), -EBADMSG);
	/* one that leads to itself, and two that lead to each other */
	*head = node_small(0);
	node_entry(map, 0)[2] = node_small(0);
	assert_int_equal(walk(), -EBADMSG);
	node_entry(map, 0)[2] = node_small(1);
	node_entry(map, 1)[2] = node_small(0);
	assert_int_equal(walk(), -EBADMSG);
}

static void memory_that_is_not_there_is_no_fault(void **state)
{
	static const uint64_t nowhere = UINT64_C(0x123456789000);
	uint64_t *const path[] = {&variable.cped_slot,    &variable.als_handle,
				  &heap.word[NODE_CPED],  &node_at(map)[NODE_TABLE],
				  &node_entry(map, 2)[1], &node_at(wrapper)[4]};

	(void)state;
	for (size_t i = 0; i < sizeof(path) / sizeof(path[0]); i++) {
		uint64_t before = *path[i];

		*path[i] = nowhere | (before & 1);
		assert_int_equal(walk(), -EFAULT);
		*path[i] = UINT64_MAX - 7 + (before & 1);
		assert_int_equal(walk(), -EFAULT);
		*path[i] = before;
	}
	expect_record(walk());
}

/* Words of all kinds, anywhere on the way: it ends, and soon. */
static void anything_may_stand_there(void **state)
{
	unsigned int seed = 7;

	(void)state;
	for (int i = 0; i < 20000; i++) {
		make(4);
		for (int k = 0; k < 1 + i % 4; k++) {
			uint64_t at = (uint64_t)rand_r(&seed) % heap.used;
			uint64_t other = (uint64_t)rand_r(&seed);
			const uint64_t words[] = {other, node_small((int64_t)(other % 64) - 8),
						  address_of(&heap.word[other % heap.used]) + 1,
						  ~other};

			heap.word[at] = words[(unsigned int)rand_r(&seed) % 4];
		}
		walk();
	}
}

/* ---- with a proof */

static void a_reading_is_proved(void **state)
{
	struct settle s = {.target = target, .never_still = 1};
	int is_torn = 1;

	(void)state;
	expect_record(nodejs_read(&s, 1, address_of(&variable), WEFT_NODEJS_LAYOUT_USUAL, &copy,
				  &is_torn));
	assert_int_equal(is_torn, 0);
	assert_int_equal(s.by_equal, 1);
	variable.cped_slot = 0;
	assert_int_equal(nodejs_read(&s, 1, address_of(&variable), WEFT_NODEJS_LAYOUT_USUAL, &copy,
				     &is_torn),
			 -ENODATA);
	settle_close(&s);
}

static ssize_t readv_while_it_changes(const struct target *t, const struct iovec *to,
				      const struct iovec *from, unsigned int count)
{
	record.span_id[6]++;
	return canned_readv(t, to, from, count);
}

static void what_changes_is_torn(void **state)
{
	static const struct target_source restless = {readv_while_it_changes, canned_open_file,
						      canned_open_program};
	struct settle s = {.never_still = 1};
	int is_torn = 0;

	(void)state;
	target_close(target);
	assert_int_equal(target_from_text(&target, "", 0, &restless, &memory), 0);
	s.target = target;
	assert_int_equal(nodejs_read(&s, 1, address_of(&variable), WEFT_NODEJS_LAYOUT_USUAL, &copy,
				     &is_torn),
			 0);
	assert_int_equal(is_torn, 1);
	settle_close(&s);
}

/* ---- what the process says of its layout */

static int layout_of(const char *const *said, uint32_t *layout)
{
	struct otel_payload p;
	int rc;

	memset(&p, 0, sizeof(p));
	live_begin(&p.attributes, LIVE_OTEL);
	for (; *said; said += 2)
		live_add(&p.attributes, said[0], strlen(said[0]), said[1], strlen(said[1]));
	rc = nodejs_layout(&p, layout);
	otel_payload_free(&p);
	return rc;
}

#define SAYS(...) ((const char *const[]){__VA_ARGS__, NULL, NULL})
#define SLOT "threadlocal.js_object_record_offset"
#define OBJECT "threadlocal.wrapped_object_offset"
#define FIELD "threadlocal.native_wrap_fields_offset"
#define TABLE "threadlocal.js_map_table_offset"
#define HEADER "threadlocal.ordered_hash_map_header_size"
#define TAGGED "threadlocal.tagged_size"

static void layouts_that_are_read(void **state)
{
	uint32_t layout = 0;

	(void)state;
	assert_int_equal(layout_of(SAYS("x", "y"), &layout), 0);
	assert_int_equal(layout, WEFT_NODEJS_LAYOUT_USUAL);
	assert_int_equal(
		layout_of(SAYS(TAGGED, "8", TABLE, "32", HEADER, "24", SLOT, "40"), &layout), 0);
	assert_int_equal(layout, WEFT_NODEJS_LAYOUT(4, 3, 5, 0));
	assert_int_equal(layout_of(SAYS(OBJECT, "24", FIELD, "0"), &layout), 0);
	assert_int_equal(layout, WEFT_NODEJS_LAYOUT(3, 2, 3, 1));
	assert_int_equal(layout_of(SAYS(OBJECT, "24"), &layout), 0);
	assert_int_equal(layout, WEFT_NODEJS_LAYOUT(3, 2, 3, 4));
	assert_int_equal(layout_of(SAYS(OBJECT, "24", SLOT, "32"), &layout), 0);
	assert_int_equal(layout, WEFT_NODEJS_LAYOUT(3, 2, 4, 0));
}

static void layouts_that_are_not(void **state)
{
	static const char *const said[][3] = {
		{TAGGED, "4"},  {TAGGED, "16"}, {TABLE, "20"}, {HEADER, "-8"},
		{SLOT, "2048"}, {OBJECT, "x"},  {SLOT, ""},    {HEADER, "99999999999999999999"},
	};
	uint32_t layout = 5;

	(void)state;
	for (size_t i = 0; i < sizeof(said) / sizeof(said[0]); i++)
		assert_int_equal(layout_of(SAYS(said[i][0], said[i][1]), &layout), -ENOTSUP);
	assert_int_equal(layout_of(SAYS(OBJECT, "24", FIELD, "2040"), &layout), -ENOTSUP);
	assert_int_equal(layout, 5);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(it_is_found_in_any_bucket, begin, end),
		cmocka_unit_test_setup_teardown(what_was_deleted_is_passed_over, begin, end),
		cmocka_unit_test_setup_teardown(each_writer_has_its_slot, begin, end),
		cmocka_unit_test_setup_teardown(older_writers_have_an_object_between, begin, end),
		cmocka_unit_test_setup_teardown(other_layouts_are_followed, begin, end),
		cmocka_unit_test_setup_teardown(nothing_runs, begin, end),
		cmocka_unit_test_setup_teardown(it_is_not_in_this_frame, begin, end),
		cmocka_unit_test_setup_teardown(its_end_has_come, begin, end),
		cmocka_unit_test_setup_teardown(tags_are_checked, begin, end),
		cmocka_unit_test_setup_teardown(places_are_aligned, begin, end),
		cmocka_unit_test_setup_teardown(sizes_are_bounded, begin, end),
		cmocka_unit_test_setup_teardown(chains_end, begin, end),
		cmocka_unit_test_setup_teardown(memory_that_is_not_there_is_no_fault, begin, end),
		cmocka_unit_test_setup_teardown(anything_may_stand_there, begin, end),
		cmocka_unit_test_setup_teardown(a_reading_is_proved, begin, end),
		cmocka_unit_test_setup_teardown(what_changes_is_torn, begin, end),
		cmocka_unit_test(layouts_that_are_read),
		cmocka_unit_test(layouts_that_are_not),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
