/* SPDX-License-Identifier: Apache-2.0 */
/* The reader on recordings of every legal shape, and on damaged ones. */
#include "fake.h"

#include <weft/jfr.h>

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

enum { BOOL = 231, BYTE, CHAR, SHORT, INT, LONG, FLOAT, DOUBLE, STRING, NODE, KIND, EVENT, POINT };

static const struct fake_class classes[] = {
	{.id = BOOL, .name = "boolean"},
	{.id = BYTE, .name = "byte"},
	{.id = CHAR, .name = "char"},
	{.id = SHORT, .name = "short"},
	{.id = INT, .name = "int"},
	{.id = LONG, .name = "long"},
	{.id = FLOAT, .name = "float"},
	{.id = DOUBLE, .name = "double"},
	{.id = STRING, .name = "java.lang.String"},
	{.id = KIND, .name = "test.Kind", .simple = 1, .fields = {{"name", STRING, 0, 0}}},
	{.id = NODE, .name = "test.Node", .fields = {{"next", NODE, 1, 0}, {"value", INT, 0, 0}}},
	{.id = POINT, .name = "test.Point", .fields = {{"x", BYTE, 0, 0}, {"y", SHORT, 0, 0}}},
	{.id = EVENT,
	 .name = "test.Event",
	 .super = "jdk.jfr.Event",
	 .fields = {{"startTime", LONG, 0, 0},
		    {"duration", LONG, 0, 0},
		    {"node", NODE, 1, 0},
		    {"kind", KIND, 1, 0},
		    {"text", STRING, 0, 0},
		    {"key", STRING, 1, 0},
		    {"points", POINT, 0, 1},
		    {"numbers", INT, 0, 1}}},
	{0},
};

static char path[64];
static struct fake fake;
static struct weft_jfr_reader *reader;
static struct weft_jfr_event_view event;

static int set_up(void **state)
{
	(void)state;
	snprintf(path, sizeof(path), "/tmp/weft-reader-XXXXXX");
	int fd = mkstemp(path);

	return fd < 0 ? -1 : close(fd);
}

static int tear_down(void **state)
{
	(void)state;
	weft_jfr_reader_free(reader);
	reader = NULL;
	buf_free(&fake.file);
	memset(&fake, 0, sizeof(fake));
	return unlink(path);
}

static void put_pool_start(struct buf *b, int64_t type, unsigned int count)
{
	fake_int(&fake, b, (uint64_t)type, 8);
	fake_int(&fake, b, count, 4);
}

static void put_node(struct buf *b, uint64_t key, uint64_t next, int value)
{
	fake_int(&fake, b, key, 8);
	fake_int(&fake, b, next, 8);
	fake_int(&fake, b, (uint32_t)value, 4);
}

static void put_key_text(struct buf *b, uint64_t key, int encoding, const char *text)
{
	fake_int(&fake, b, key, 8);
	fake_text(&fake, b, encoding, text);
}

static void put_event(uint64_t node, uint64_t kind, const struct buf *text, uint64_t key)
{
	struct buf b = {0};

	fake_int(&fake, &b, 7042, 8);
	fake_int(&fake, &b, 9, 8);
	fake_int(&fake, &b, node, 8);
	fake_int(&fake, &b, kind, 8);
	buf_put(&b, text->data, text->size);
	fake_int(&fake, &b, key, 8);
	fake_int(&fake, &b, 2, 4);
	buf_put_u8(&b, 0xFE);
	fake_int(&fake, &b, (uint16_t)-300, 2);
	buf_put_u8(&b, 0x7F);
	fake_int(&fake, &b, 300, 2);
	fake_int(&fake, &b, 1, 4);
	fake_int(&fake, &b, (uint32_t)-1, 4);
	fake_event(&fake, EVENT, &b);
	buf_free(&b);
}

#define FAR_KEY UINT64_C(0xFEDCBA9876543210)

static void put_pools(void)
{
	struct buf b = {0};

	put_pool_start(&b, NODE, 3);
	put_node(&b, 1, FAR_KEY, 11);
	put_node(&b, FAR_KEY, 0, 22);
	put_node(&b, 5, 5, 55); /* refers to itself */
	put_pool_start(&b, KIND, 1);
	put_key_text(&b, 0, 5, "zero"); /* key 0 is a key like any other */
	fake_checkpoint(&fake, 2, &b);
	buf_clear(&b);
	put_pool_start(&b, STRING, 2);
	put_key_text(&b, 9, 3, "pooled");
	put_key_text(&b, 10, 1, "");
	put_pool_start(&b, NODE, 1);
	put_node(&b, 1, FAR_KEY, 11); /* again */
	fake_checkpoint(&fake, 2, &b);
	buf_free(&b);
}

static void open_fake(void)
{
	fake_save(&fake, path);
	reader = weft_jfr_open(path);
	assert_non_null(reader);
}

static void build(int fixed)
{
	struct buf text = {0};

	fake_chunk(&fake, fixed);
	fake_text(&fake, &text, 5, "caf\xE9");
	put_event(1, 0, &text, 9); /* before the metadata that explains it */
	fake_metadata(&fake, classes);
	put_pools();
	buf_clear(&text);
	buf_put_u8(&text, 2);
	fake_int(&fake, &text, 9, 8);
	put_event(5, 77, &text, 0);
	fake_end(&fake);
	buf_free(&text);
}

static void assert_text(const struct weft_jfr_node *n, const char *text)
{
	assert_non_null(n);
	assert_int_equal(n->shape, WEFT_JFR_V_STRING);
	assert_int_equal(n->string.bytes, strlen(text));
	assert_memory_equal(n->string.data, text, n->string.bytes);
}

static int64_t number(const struct weft_jfr_node *n)
{
	assert_non_null(n);
	assert_int_equal(n->shape, WEFT_JFR_V_NUMBER);
	return n->number;
}

static void check_first_event(void)
{
	const struct weft_jfr_node *n;

	assert_int_equal(weft_jfr_next(reader, &event), 1);
	assert_string_equal(weft_jfr_class_name(event.type), "test.Event");
	assert_int_equal(event.start_ns, 1000000000 + 42 * 1000); /* a tick is 1 us */
	assert_int_equal(event.duration_ns, 9000);
	n = weft_jfr_event_get(&event, "node");
	assert_int_equal(n->pool_key, 1);
	assert_int_equal(number(weft_jfr_get(n, "value")), 11);
	n = weft_jfr_get(n, "next");
	assert_true(n->pool_key == FAR_KEY);
	assert_int_equal(number(weft_jfr_get(n, "value")), 22);
	assert_int_equal(weft_jfr_get(n, "next")->shape, WEFT_JFR_V_NULL);
	assert_text(weft_jfr_event_get(&event, "kind"), "zero");
	assert_text(weft_jfr_event_get(&event, "text"), "caf\xC3\xA9");
	assert_text(weft_jfr_event_get(&event, "key"), "pooled");
	n = weft_jfr_event_get(&event, "points");
	assert_int_equal(n->shape, WEFT_JFR_V_ARRAY);
	assert_int_equal(n->many.count, 2);
	assert_int_equal(number(weft_jfr_get(&n->many.item[0], "x")), -2);
	assert_int_equal(number(weft_jfr_get(&n->many.item[0], "y")), -300);
	assert_int_equal(number(weft_jfr_get(&n->many.item[1], "y")), 300);
	n = weft_jfr_event_get(&event, "numbers");
	assert_int_equal(n->many.count, 1);
	assert_int_equal(number(&n->many.item[0]), -1);
	assert_null(weft_jfr_event_get(&event, "nothing"));
}

static void check_second_event(void)
{
	const struct weft_jfr_node *n;

	assert_int_equal(weft_jfr_next(reader, &event), 1);
	n = weft_jfr_event_get(&event, "node");
	assert_int_equal(number(weft_jfr_get(n, "value")), 55);
	assert_int_equal(weft_jfr_get(n, "next")->shape, WEFT_JFR_V_NULL);
	assert_int_equal(weft_jfr_get(n, "next")->pool_key, 5);
	n = weft_jfr_event_get(&event, "kind");
	assert_int_equal(n->shape, WEFT_JFR_V_NULL); /* no such entry */
	assert_int_equal(n->pool_key, 77);
	assert_text(weft_jfr_event_get(&event, "text"), "pooled");
	assert_int_equal(weft_jfr_event_get(&event, "key")->shape, WEFT_JFR_V_NULL);
}

static void reads_compressed_integers(void **state)
{
	(void)state;
	build(0);
	open_fake();
	check_first_event();
	check_second_event();
	assert_int_equal(weft_jfr_next(reader, &event), 0);
	assert_string_equal(weft_jfr_error(reader), "");
}

static void reads_integers_of_full_width(void **state)
{
	(void)state;
	build(1);
	open_fake();
	check_first_event();
	check_second_event();
	assert_int_equal(weft_jfr_next(reader, &event), 0);
}

static void reads_chunks_of_both_kinds_in_one_file(void **state)
{
	int64_t start, end;

	(void)state;
	build(0);
	build(1);
	build(0);
	open_fake();
	for (int i = 0; i < 3; i++) {
		check_first_event();
		assert_int_equal(event.chunk, i);
		check_second_event();
	}
	assert_int_equal(weft_jfr_next(reader, &event), 0);
	weft_jfr_span(reader, &start, &end);
	assert_int_equal(start, 1000000000);
	assert_int_equal(end, 1000000500);
}

static const struct fake_class text_classes[] = {
	{.id = STRING, .name = "java.lang.String"},
	{.id = EVENT,
	 .name = "test.Text",
	 .super = "jdk.jfr.Event",
	 .fields = {{"text", STRING, 0, 0}}},
	{0},
};

static void put_units(const uint16_t *units, size_t count)
{
	struct buf b = {0};

	buf_put_u8(&b, 4);
	fake_int(&fake, &b, count, 4);
	for (size_t i = 0; i < count; i++)
		fake_int(&fake, &b, units[i], 2);
	fake_event(&fake, EVENT, &b);
	buf_free(&b);
}

static void put_text_event(int encoding, const char *text)
{
	struct buf b = {0};

	fake_text(&fake, &b, encoding, text);
	fake_event(&fake, EVENT, &b);
	buf_free(&b);
}

static void reads_all_string_encodings(void **state)
{
	static const uint16_t mixed[] = {'a', 0xE9, 0x20AC, 0xD83D, 0xDE00, 'z'};
	static const uint16_t broken[] = {0xDE00, 'b', 0xD83D};

	(void)state;
	fake_chunk(&fake, 0);
	fake_metadata(&fake, text_classes);
	put_text_event(0, "");
	put_text_event(1, "");
	put_text_event(3, "utf \xE2\x82\xAC");
	put_units(mixed, 6);
	put_units(broken, 3);
	put_text_event(5, "ascii");
	put_text_event(5, "\xFF");
	fake_end(&fake);
	open_fake();
	assert_int_equal(weft_jfr_next(reader, &event), 1);
	assert_int_equal(event.fields[0].shape, WEFT_JFR_V_NULL);
	assert_true(event.start_ns == INT64_MIN);
	static const char *const expected[] = {"",
					       "utf \xE2\x82\xAC",
					       "a\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80z",
					       ("\xEF\xBF\xBD"
						"b\xEF\xBF\xBD"),
					       "ascii",
					       "\xC3\xBF"};
	for (size_t i = 0; i < 6; i++) {
		assert_int_equal(weft_jfr_next(reader, &event), 1);
		assert_text(&event.fields[0], expected[i]);
	}
	assert_int_equal(weft_jfr_next(reader, &event), 0);
}

static void passes_over_events_of_unknown_types(void **state)
{
	struct buf b = {0};

	(void)state;
	fake_chunk(&fake, 0);
	fake_metadata(&fake, text_classes);
	buf_put(&b, "anything", 8);
	fake_event(&fake, 4711, &b);
	put_text_event(3, "known");
	fake_end(&fake);
	buf_free(&b);
	open_fake();
	assert_int_equal(weft_jfr_next(reader, &event), 1);
	assert_text(&event.fields[0], "known");
	assert_int_equal(weft_jfr_next(reader, &event), 0);
}

static int only_second(const struct weft_jfr_class *type, void *arg)
{
	(void)type;
	return ++*(int *)arg == 2;
}

static void a_filter_leaves_times_and_sizes(void **state)
{
	int calls = 0;

	(void)state;
	build(0);
	open_fake();
	weft_jfr_filter(reader, only_second, &calls);
	assert_int_equal(weft_jfr_next(reader, &event), 1);
	assert_null(event.fields);
	assert_int_equal(event.field_count, 0);
	assert_int_equal(event.start_ns, 1000042000);
	assert_true(event.bytes > 20);
	assert_null(weft_jfr_event_get(&event, "node"));
	check_second_event();
}

static void tells_declared_types(void **state)
{
	const struct weft_jfr_class *const *types;

	(void)state;
	build(0);
	build(0);
	open_fake();
	assert_int_equal(weft_jfr_event_types(reader, &types), 0);
	while (weft_jfr_next(reader, &event) == 1)
		;
	assert_int_equal(weft_jfr_event_types(reader, &types), 1);
	assert_ptr_equal(types[0], event.type); /* equal metadata: one class */
	assert_int_equal(weft_jfr_class_id(types[0]), EVENT);
	assert_int_equal(weft_jfr_class_fields(types[0]), 8);
	assert_string_equal(weft_jfr_class_field(types[0], 7), "numbers");
	assert_null(weft_jfr_class_field(types[0], 8));
	assert_int_equal(weft_jfr_class_find(types[0], "text"), 4);
	assert_int_equal(weft_jfr_class_find(types[0], "txet"), -ENOENT);
}

static void put_key_event(uint64_t key)
{
	struct buf none = {0};

	buf_put_u8(&none, 0);
	put_event(0, 0, &none, key);
	buf_free(&none);
}

/* Keys a power of two apart, one of them in another pool, and again in the next chunk. */
static void entries_are_not_mistaken_for_one_another(void **state)
{
	static const uint64_t keys[] = {1, 1 + 1024, 1 + 65536, UINT64_C(1) << 40 | 1};
	char text[2][4][8];

	(void)state;
	for (int chunk = 0; chunk < 2; chunk++) {
		struct buf b = {0};

		fake_chunk(&fake, 0);
		fake_metadata(&fake, classes);
		put_pool_start(&b, STRING, 4);
		for (int i = 0; i < 4; i++) {
			snprintf(text[chunk][i], sizeof(text[chunk][i]), "%d %d", chunk, i);
			put_key_text(&b, keys[i], 3, text[chunk][i]);
		}
		fake_checkpoint(&fake, 1, &b);
		for (int i = 0; i < 9; i++) /* the last one as the next chunk's first */
			put_key_event(keys[i % 4]);
		fake_end(&fake);
		buf_free(&b);
	}
	open_fake();
	for (int i = 0; i < 18; i++) {
		assert_int_equal(weft_jfr_next(reader, &event), 1);
		assert_text(weft_jfr_event_get(&event, "key"), text[i / 9][i % 9 % 4]);
	}
}

/* ---------------------------------------------------------------- damage */

static int read_all(int *events)
{
	int rc;

	*events = 0;
	while ((rc = weft_jfr_next(reader, &event)) == 1)
		++*events;
	assert_int_equal(weft_jfr_next(reader, &event), rc); /* and it stays so */
	return rc;
}

static void a_truncated_tail_follows_whole_chunks(void **state)
{
	size_t whole;
	int events;
	char expected[80];

	(void)state;
	build(0);
	whole = fake.file.size;
	build(0);
	fake_save(&fake, path);
	for (size_t left = whole; left < fake.file.size; left++) {
		assert_int_equal(truncate(path, (off_t)left), 0);
		reader = weft_jfr_open(path);
		assert_non_null(reader);
		assert_int_equal(read_all(&events), left == whole ? 0 : -EBADMSG);
		assert_int_equal(events, 2);
		snprintf(expected, sizeof(expected), "at byte %zu: chunk%s is cut short", whole,
			 left < whole + 68 ? " header" : "");
		if (left != whole)
			assert_string_equal(weft_jfr_error(reader), expected);
		weft_jfr_reader_free(reader);
		fake_save(&fake, path);
	}
	reader = NULL;
}

static void an_open_chunk_is_named(void **state)
{
	int events;

	(void)state;
	build(0);
	fake_chunk(&fake, 0); /* as writers leave it that write in place */
	fake.file.data[fake.chunk + 12] = 0x40;
	open_fake();
	assert_int_equal(read_all(&events), -EBADMSG);
	assert_int_equal(events, 2);
	assert_non_null(strstr(weft_jfr_error(reader), "chunk was never finished"));
}

static void what_is_no_recording_is_refused(void **state)
{
	(void)state;
	assert_null(weft_jfr_open("/nowhere/at/all"));
	assert_int_equal(errno, ENOENT);
	assert_null(weft_jfr_open("/tmp"));
	assert_int_equal(errno, EISDIR);
	assert_null(weft_jfr_open("/dev/null"));
	assert_int_equal(errno, ESPIPE);
	assert_null(weft_jfr_open(path)); /* empty */
	assert_int_equal(errno, EBADMSG);
	build(0);
	fake.file.data[5] = 0;
	fake_save(&fake, path);
	assert_null(weft_jfr_open(path));
	assert_int_equal(errno, EPROTONOSUPPORT);
	fake.file.data[0] = 'f';
	fake_save(&fake, path);
	assert_null(weft_jfr_open(path));
	assert_int_equal(errno, EBADMSG);
}

/* An event of no bytes that asks for a number of values without end. */
static void values_without_bytes_are_bounded(void **state)
{
	static const struct fake_class bombs[] = {
		{.id = 20, .name = "Empty"},
		{.id = 21,
		 .name = "Two",
		 .fields = {{"a", 22, 0, 0}, {"b", 22, 0, 0}, {"c", 22, 0, 0}}},
		{.id = 22,
		 .name = "Four",
		 .fields = {{"a", 23, 0, 0}, {"b", 23, 0, 0}, {"c", 23, 0, 0}}},
		{.id = 23,
		 .name = "Eight",
		 .fields = {{"a", 24, 0, 0}, {"b", 24, 0, 0}, {"c", 24, 0, 0}}},
		{.id = 24,
		 .name = "Many",
		 .fields = {{"a", 25, 0, 0}, {"b", 25, 0, 0}, {"c", 25, 0, 0}}},
		{.id = 25,
		 .name = "More",
		 .fields = {{"a", 26, 0, 0}, {"b", 26, 0, 0}, {"c", 26, 0, 0}}},
		{.id = 26, .name = "Most", .fields = {{"a", 20, 0, 0}, {"b", 20, 0, 0}}},
		{.id = 40,
		 .name = "Self",
		 .super = "jdk.jfr.Event",
		 .fields = {{"self", 40, 0, 0}}},
		{.id = 41,
		 .name = "Bomb",
		 .super = "jdk.jfr.Event",
		 .fields = {{"a", 21, 0, 0}, {"b", 21, 0, 0}}},
		{0},
	};
	struct buf none = {0};
	int events;

	(void)state;
	fake_chunk(&fake, 0);
	fake_metadata(&fake, bombs);
	fake_event(&fake, 40, &none); /* cannot be decoded: passed over */
	fake_event(&fake, 41, &none);
	fake_end(&fake);
	open_fake();
	assert_int_equal(read_all(&events), -EBADMSG);
	assert_int_equal(events, 0);
	assert_non_null(strstr(weft_jfr_error(reader), "event does not fit its type"));
}

static void a_long_chain_of_references_ends(void **state)
{
	struct buf b = {0}, text = {0};
	const struct weft_jfr_node *n;
	int depth = 0;

	(void)state;
	fake_chunk(&fake, 0);
	fake_metadata(&fake, classes);
	put_pool_start(&b, NODE, 100000);
	for (unsigned int i = 1; i <= 100000; i++)
		put_node(&b, i, i + 1, (int)i);
	fake_checkpoint(&fake, 1, &b);
	buf_put_u8(&text, 0);
	put_event(1, 0, &text, 0);
	fake_end(&fake);
	buf_free(&b);
	buf_free(&text);
	open_fake();
	assert_int_equal(weft_jfr_next(reader, &event), 1);
	for (n = weft_jfr_event_get(&event, "node"); n && n->shape == WEFT_JFR_V_STRUCT;
	     n = weft_jfr_get(n, "next"))
		depth++;
	assert_true(depth >= 200 && depth <= 1000);
	assert_int_equal(weft_jfr_next(reader, &event), 0);
}

static void a_pool_that_lies_is_damage(void **state)
{
	struct buf b = {0}, text = {0};
	int events;

	(void)state;
	fake_chunk(&fake, 0);
	fake_metadata(&fake, classes);
	put_pool_start(&b, NODE, 3); /* but has one */
	put_node(&b, 1, 0, 1);
	fake_checkpoint(&fake, 1, &b);
	buf_put_u8(&text, 0);
	put_event(1, 0, &text, 0);
	fake_end(&fake);
	buf_free(&b);
	buf_free(&text);
	open_fake();
	assert_int_equal(read_all(&events), -EBADMSG);
	assert_non_null(strstr(weft_jfr_error(reader), "constant pool"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(reads_compressed_integers),
		TEST(reads_integers_of_full_width),
		TEST(reads_chunks_of_both_kinds_in_one_file),
		TEST(reads_all_string_encodings),
		TEST(passes_over_events_of_unknown_types),
		TEST(a_filter_leaves_times_and_sizes),
		TEST(tells_declared_types),
		TEST(entries_are_not_mistaken_for_one_another),
		TEST(a_truncated_tail_follows_whole_chunks),
		TEST(an_open_chunk_is_named),
		TEST(what_is_no_recording_is_refused),
		TEST(values_without_bytes_are_bounded),
		TEST(a_long_chain_of_references_ends),
		TEST(a_pool_that_lies_is_damage),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
