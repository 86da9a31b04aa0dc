/* SPDX-License-Identifier: Apache-2.0 */
/* What a process tells of its modules: what lay at an address at a time. */
#include "collector/process/loads.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct loads loads;

static void take(uint16_t type, uint32_t id, uint64_t since, uint64_t at, const char *path)
{
	struct {
		struct weft_log_loaded loaded;
		char path[32];
	} data = {.loaded = {since, at, 0x5000, 0x5000, 0x9000, 7, id}};
	struct weft_log_record record = {.type = type, .id = id, .data_bytes = 16};

	if (path) {
		memcpy(data.path, path, strlen(path));
		record.data_bytes = (uint32_t)(sizeof(data.loaded) + strlen(path));
	}
	loads_take(&loads, &record, (const uint8_t *)&data);
}

/* "a" stays in (100..110, 190..200), "b" in (200..210, 290..300), then "a" again from 310 on. */
static int begin(void **state)
{
	(void)state;
	take(WEFT_LOG_LOADED, 1, 100, 110, "/a");
	take(WEFT_LOG_GONE, 1, 190, 200, NULL);
	take(WEFT_LOG_LOADED, 2, 200, 210, "/b");
	take(WEFT_LOG_GONE, 2, 290, 300, NULL);
	take(WEFT_LOG_LOADED, 1, 300, 310, NULL);
	return 0;
}

static int end(void **state)
{
	(void)state;
	loads_free(&loads);
	return 0;
}

static const char *at(uint64_t pc, uint64_t time_ns)
{
	struct mapping *one = NULL;
	uint64_t gone_ns;

	switch (loads_find(&loads, pc, time_ns, &one, &gone_ns)) {
	case LOADS_FOUND:
		return one->path;
	case LOADS_UNSURE:
		return "unsure";
	default:
		return "nothing";
	}
}

static void each_time_has_its_own(void **state)
{
	static const struct {
		uint64_t time_ns;
		const char *path;
	} expected[] = {{99, "nothing"}, {105, "/a"}, {150, "/a"},
			{195, "/a"},     {205, "/b"}, {250, "/b"},
			{299, "/b"},     {305, "/a"}, {UINT64_C(1) << 60, "/a"}};

	(void)state;
	for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++)
		assert_string_equal(at(0x6000, expected[i].time_ns), expected[i].path);
	assert_string_equal(at(0x4fff, 150), "nothing");
	assert_string_equal(at(0x9000, 150), "nothing");
}

/* "c" came and went while nobody looked but once, and so did "d": either may have been it. */
static void between_two_it_is_unsure(void **state)
{
	(void)state;
	take(WEFT_LOG_GONE, 1, 400, 410, NULL);
	take(WEFT_LOG_LOADED, 3, 405, 420, "/c");
	assert_string_equal(at(0x6000, 404), "/a");
	assert_string_equal(at(0x6000, 408), "unsure");
	assert_string_equal(at(0x6000, 415), "/c");
}

static void it_tells_when_the_last_had_gone(void **state)
{
	struct mapping *one;
	uint64_t gone_ns;

	(void)state;
	take(WEFT_LOG_GONE, 1, 400, 410, NULL);
	assert_int_equal(loads_find(&loads, 0x6000, 500, &one, &gone_ns), LOADS_NOTHING);
	assert_int_equal(gone_ns, 410);
	assert_int_equal(loads_find(&loads, 0x4000, 500, &one, &gone_ns), LOADS_NOTHING);
	assert_int_equal(gone_ns, 0);
}

/* One that is here again is the same mapping: what is known of its code is known still. */
static void here_again_is_the_same(void **state)
{
	struct mapping *first = NULL, *again = NULL;
	uint64_t gone_ns;

	(void)state;
	loads_find(&loads, 0x6000, 150, &first, &gone_ns);
	loads_find(&loads, 0x6000, 350, &again, &gone_ns);
	assert_ptr_equal(first, again);
	assert_int_equal(first->inode, 1);
	assert_int_equal(loads.module_count, 2);
}

static void lies_are_let_pass(void **state)
{
	struct weft_log_record record = {.type = WEFT_LOG_LOADED, .id = 9, .data_bytes = 15};
	struct weft_log_loaded empty = {.start = 0x9000, .end = 0x5000};
	size_t stays = loads.stay_count;

	(void)state;
	loads_take(&loads, &record, (const uint8_t *)&empty); /* too short */
	record.data_bytes = sizeof(empty);
	loads_take(&loads, &record, (const uint8_t *)&empty); /* ends before it starts */
	take(WEFT_LOG_LOADED, 77, 1, 2, NULL);                /* again, but never before */
	take(WEFT_LOG_GONE, 78, 1, 2, NULL);
	assert_int_equal(loads.stay_count, stays);
	for (int i = 0; i < 100000; i++)
		take(WEFT_LOG_LOADED, 1, 1000, 2000, NULL);
	assert_true(loads.stay_count <= 8192);
	for (uint32_t i = 100; i < 10000; i++)
		take(WEFT_LOG_LOADED, i, 1, 2, "/x");
	assert_true(loads.module_count <= 4096);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(each_time_has_its_own),
		CASE(between_two_it_is_unsure),
		CASE(it_tells_when_the_last_had_gone),
		CASE(here_again_is_the_same),
		CASE(lies_are_let_pass),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
