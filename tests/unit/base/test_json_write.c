/* SPDX-License-Identifier: Apache-2.0 */
/* JSON as it is written: separators, lines, escapes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/text/json_write.h"

static const struct json_shape open_lines = {
	.comma = ", ", .colon = ": ", .has_lines = 1, .opens_empty = 1};

static void check(struct sink *s, const char *expected)
{
	sink_char(s, '\0');
	assert_int_equal(s->rc, 0);
	assert_string_equal(s->data, expected);
	sink_clear(s);
}

static void write_all(struct json_writer *w)
{
	json_write_root(w);
	json_write_object(w, NULL);
	json_write_uint(w, "most", UINT64_MAX);
	json_write_int(w, "least", INT64_MIN);
	json_write_array(w, "list");
	json_write_bool(w, NULL, 1);
	json_write_null(w, NULL);
	json_write_array(w, NULL);
	json_write_array_end(w);
	json_write_hex(w, NULL, "0x", (const uint8_t *)"\x0f\xa0", 2);
	json_write_array_end(w);
	json_write_made_key(w, "\"made\":", 7);
	json_write_object(w, NULL);
	json_write_object_end(w);
	json_write_plain(w, "text", "%d", 7);
	json_write_object_end(w);
}

static void test_shapes(void **state)
{
	struct sink s;
	struct json_writer w = {
		.s = &s, .object = &json_shape_flat, .array = &json_shape_flat, .step = 2};

	(void)state;
	assert_int_equal(sink_open(&s, NULL), 0);
	write_all(&w);
	check(&s, "{\"most\":18446744073709551615,\"least\":-9223372036854775808,"
		  "\"list\":[true,null,[],\"0x0fa0\"],\"made\":{},\"text\":\"7\"}");
	w.object = &json_shape_lines;
	w.array = &json_shape_spaced;
	write_all(&w);
	check(&s,
	      "{\n  \"most\": 18446744073709551615,\n  \"least\": -9223372036854775808,\n"
	      "  \"list\": [true, null, [], \"0x0fa0\"],\n  \"made\":{},\n  \"text\": \"7\"\n}");
	w.object = w.array = &open_lines;
	json_write_root(&w);
	json_write_object(&w, NULL);
	json_write_array(&w, "a");
	json_write_array_end(&w);
	json_write_object_end(&w);
	check(&s, "{\n  \"a\": [\n    \n  ]\n}");
	sink_close(&s);
}

static void test_escapes(void **state)
{
	struct sink s;

	(void)state;
	assert_int_equal(sink_open(&s, NULL), 0);
	json_write_quoted(&s, "a\"\\/\b\t\n\v\f\r\x7f\0", 12);
	check(&s, "\"a\\\"\\\\\\/\\b\\t\\n\\u000b\\f\\r\x7f\\u0000\"");
	json_write_quoted(&s, "\xc3\xa9 \xf0\x9f\x98\x80 \xff", 9);
	check(&s, "\"\\u00e9 \\ud83d\\ude00 \\ufffd\"");
	sink_close(&s);
}

/* As jansson has them. */
static void test_texts(void **state)
{
	struct sink s;
	struct json_writer w = {.s = &s, .object = &json_shape_flat, .array = &json_shape_flat};

	(void)state;
	assert_int_equal(sink_open(&s, NULL), 0);
	json_write_root(&w);
	json_write_array(&w, NULL);
	json_write_text(&w, NULL, NULL);
	json_write_text(&w, NULL, "");
	json_write_text(&w, NULL, "a\"\\/\b\t\n\v\f\r\x01\x1f\x7f\xc2\x9b\xe2\x80\xae");
	json_write_text(&w, NULL, "\xc3\xa9\xef\xbf\xbd\xf0\x9f\x98\x80");
	json_write_text(&w, NULL, "\xc3\xa9\xff\xef\xbf");
	json_write_array_end(&w);
	check(&s,
	      "[null,\"\",\"a\\\"\\\\/\\b\\t\\n\\u000B\\f\\r\\u0001\\u001F\\u007f\\u009b\\u202e\","
	      "\"\xc3\xa9\xef\xbf\xbd\xf0\x9f\x98\x80\","
	      "\"\xc3\x83\xc2\xa9\xc3\xbf\xc3\xaf\xc2\xbf\"]");
	sink_close(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_shapes),
		cmocka_unit_test(test_escapes),
		cmocka_unit_test(test_texts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
