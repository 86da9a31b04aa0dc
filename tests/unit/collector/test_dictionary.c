/* SPDX-License-Identifier: Apache-2.0 */
/* Logs of a session, read without trust. */
#include "base/dictionary.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define ROOM 4096

static _Alignas(8) uint8_t log_bytes[ROOM];

static uint64_t put(uint64_t at, enum weft_log_type type, uint32_t id, const char *text)
{
	uint32_t data = (uint32_t)strlen(text);
	struct weft_log_record r = {.bytes = (uint32_t)(sizeof(r) + data + 7) & ~7u,
				    .type = (uint16_t)type,
				    .id = id,
				    .data_bytes = data};

	memcpy(log_bytes + at, &r, sizeof(r));
	memcpy(log_bytes + at + sizeof(r), text, data);
	return at + r.bytes;
}

static void reads_on_from_where_it_was(void **state)
{
	struct dictionary *d = dictionary_new();
	uint64_t position = 0, head;

	(void)state;
	head = put(0, WEFT_LOG_TAG_NAME, 0, "route");
	head = put(head, WEFT_LOG_STRING, 7, "/cart");
	assert_int_equal(log_read(log_bytes, ROOM, head, &position, dictionary_take, d), 0);
	assert_string_equal(dictionary_tag_name(d, 0), "route");
	assert_null(dictionary_tag_name(d, 1));
	assert_null(dictionary_tag_name(d, 10));
	assert_string_equal(dictionary_string(d, 7), "/cart");
	assert_null(dictionary_string(d, 8));
	head = put(head, WEFT_LOG_STRING, 8, "");
	assert_int_equal(log_read(log_bytes, ROOM, head, &position, dictionary_take, d), 0);
	assert_string_equal(dictionary_string(d, 8), "");
	dictionary_free(d);
}

/* An id never changes its value, whatever the other side writes. */
static void the_first_value_stands(void **state)
{
	struct dictionary *d = dictionary_new();
	uint64_t position = 0, head = put(0, WEFT_LOG_STRING, 1, "first");

	(void)state;
	head = put(head, WEFT_LOG_STRING, 1, "second");
	head = put(head, WEFT_LOG_TAG_NAME, 3, "name");
	head = put(head, WEFT_LOG_TAG_NAME, 3, "other");
	head = put(head, WEFT_LOG_TAG_NAME, 4000000000u, "far");
	assert_int_equal(log_read(log_bytes, ROOM, head, &position, dictionary_take, d), 0);
	assert_string_equal(dictionary_string(d, 1), "first");
	assert_string_equal(dictionary_tag_name(d, 3), "name");
	dictionary_free(d);
}

static void count(void *arg, const struct weft_log_record *record, const uint8_t *data)
{
	(void)record;
	(void)data;
	++*(int *)arg;
}

static void a_malformed_record_ends_the_log_once(void **state)
{
	static const struct weft_log_record bad[] = {
		{.bytes = 0},
		{.bytes = 8},
		{.bytes = 17},
		{.bytes = 16, .data_bytes = 1},
		{.bytes = 24, .data_bytes = 0xFFFFFFFF},
		{.bytes = 0xFFFFFFF8},
		{.bytes = ROOM + 8},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		uint64_t position = 0, head = put(0, WEFT_LOG_STRING, 1, "good");
		int seen = 0;

		memcpy(log_bytes + head, &bad[i], sizeof(bad[i]));
		assert_int_equal(log_read(log_bytes, ROOM, ROOM / 2, &position, count, &seen),
				 -EBADMSG);
		assert_int_equal(seen, 1);
		assert_int_equal(log_read(log_bytes, ROOM, ROOM, &position, count, &seen), 0);
		assert_int_equal(seen, 1);
	}
}

static void a_head_that_cannot_be_is_refused(void **state)
{
	uint64_t position = 0, head = put(0, WEFT_LOG_STRING, 1, "good");
	int seen = 0;

	(void)state;
	assert_int_equal(log_read(log_bytes, ROOM, ROOM + 8, &position, count, &seen), -EBADMSG);
	position = 0;
	assert_int_equal(log_read(log_bytes, ROOM, head, &position, count, &seen), 0);
	assert_int_equal(log_read(log_bytes, ROOM, head - 8, &position, count, &seen), -EBADMSG);
	assert_int_equal(seen, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_on_from_where_it_was),
		cmocka_unit_test(the_first_value_stands),
		cmocka_unit_test(a_malformed_record_ends_the_log_once),
		cmocka_unit_test(a_head_that_cannot_be_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
