/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A recording that is read while it is written: ours, which grows by chunks, in pieces of every
 * size; and one as the JVM writes it, whose open chunk grows by flushes.
 */
#include "fake.h"

#include <weft/jfr.h>

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static char path[64];
static int fd;
static struct weft_jfr_reader *reader;
static struct weft_jfr_event_view event;
static struct fake fake;

static int set_up(void **state)
{
	(void)state;
	snprintf(path, sizeof(path), "/tmp/weft-follow-XXXXXX");
	fd = mkstemp(path);
	return fd < 0 ? -1 : 0;
}

static int tear_down(void **state)
{
	(void)state;
	weft_jfr_reader_free(reader);
	reader = NULL;
	buf_free(&fake.file);
	memset(&fake, 0, sizeof(fake));
	close(fd);
	return unlink(path);
}

static void open_it(void)
{
	reader = weft_jfr_open_follow(path);
	assert_non_null(reader);
}

static void add(const void *data, size_t bytes)
{
	assert_int_equal(write(fd, data, bytes), bytes);
}

/* Events up to what is there: their number; *rc is what ends them. */
static int read_on(int *rc)
{
	int events = 0;

	while ((*rc = weft_jfr_next(reader, &event)) == 1) {
		assert_int_equal(event.field_count, weft_jfr_class_fields(event.type));
		events++;
	}
	return events;
}

static void expect(int events, int rc)
{
	int found, count = read_on(&found);

	if (count != events || found != rc)
		fail_msg("%d events and %d (%s), expected %d and %d", count, found,
			 weft_jfr_error(reader), events, rc);
}

/* ---------------------------------------------------------------- ours */

static struct weft_jfr_type *declare(struct weft_jfr_writer *w, const char *name)
{
	static const struct weft_jfr_field fields[] = {
		{"startTime", WEFT_JFR_LONG, WEFT_JFR_TIMESTAMP, NULL, NULL},
		{"text", WEFT_JFR_STRING, 0, NULL, NULL},
	};
	struct weft_jfr_type_def def = {.name = name, .fields = fields, .field_count = 2};

	return weft_jfr_type(w, &def);
}

static void put(struct weft_jfr_writer *w, struct weft_jfr_type *type, int count)
{
	static const char text[] =
		"a text that is too long to be written into the event itself, so";

	for (int i = 0; i < count; i++) {
		struct weft_jfr_value v[2] = {{.number = 2000 + i},
					      {.string = {text, sizeof(text)}}};

		assert_int_equal(weft_jfr_event(w, type, v, 2), 0);
	}
}

static void chunks_are_read_as_they_come(void **state)
{
	struct weft_jfr_options o = {.size = sizeof(o), .path = path, .start_mono_ns = 1000};
	struct weft_jfr_writer *w;

	(void)state;
	o.path = path;
	w = weft_jfr_create(&o);
	assert_non_null(w);
	open_it(); /* the writer made a new file */
	expect(0, -EAGAIN);
	put(w, declare(w, "test.One"), 3);
	expect(0, -EAGAIN);
	assert_int_equal(weft_jfr_rotate(w, 3000, 1), 1);
	expect(3, -EAGAIN);
	expect(0, -EAGAIN);
	put(w, declare(w, "test.Two"), 5); /* other metadata */
	assert_int_equal(weft_jfr_rotate(w, 4000, 1), 1);
	expect(5, -EAGAIN);
	put(w, declare(w, "test.One"), 1);
	assert_int_equal(weft_jfr_close(w), 0);
	expect(1, 0); /* the last chunk says that it is */
	expect(0, 0);
}

/* The writer drops old chunks by moving the others to a new file of the same name. */
static void a_file_that_takes_its_place_is_followed(void **state)
{
	struct weft_jfr_options o = {.size = sizeof(o), .start_mono_ns = 1000, .max_bytes = 40000};
	int64_t last = 0, fresh;
	struct weft_jfr_writer *w;
	struct weft_jfr_type *type;
	struct weft_jfr_written written;
	int rc = -EAGAIN;

	(void)state;
	o.path = path;
	w = weft_jfr_create(&o);
	assert_non_null(w);
	type = declare(w, "test.One");
	open_it();
	for (int64_t i = 1; i <= 200; i++) {
		struct weft_jfr_value v[2] = {{.number = 1000 + i}};

		assert_int_equal(weft_jfr_event(w, type, v, 2), 0);
		assert_int_equal(weft_jfr_rotate(w, (uint64_t)(1001 + i), 1), 1);
		if (i % 5) /* a follower that looks now and then */
			continue;
		for (fresh = 0; (rc = weft_jfr_next(reader, &event)) == 1; fresh++) {
			assert_int_equal(event.start_ticks, 1000 + last + 1);
			last++;
		}
		assert_int_equal(rc, -EAGAIN);
		assert_int_equal(fresh, 5);
	}
	weft_jfr_written(w, &written);
	assert_true(written.dropped_chunks > 50);
	assert_int_equal(weft_jfr_close(w), 0);
	expect(0, 0);
}

static uint8_t *ours(size_t *bytes)
{
	struct weft_jfr_options o = {.size = sizeof(o), .start_mono_ns = 1000};
	char name[] = "/tmp/weft-follow-ours-XXXXXX";
	struct weft_jfr_writer *w;
	uint8_t *data = malloc(65536);
	int file = mkstemp(name);
	ssize_t n;

	assert_non_null(data);
	assert_true(file >= 0);
	close(file);
	o.path = name;
	w = weft_jfr_create(&o);
	assert_non_null(w);
	for (int i = 0; i < 3; i++) {
		put(w, declare(w, "test.One"), 2);
		weft_jfr_rotate(w, 3000 + (uint64_t)i, 1);
	}
	put(w, declare(w, "test.One"), 2);
	assert_int_equal(weft_jfr_close(w), 0);
	file = open(name, O_RDONLY);
	n = read(file, data, 65536);
	assert_true(n > 0 && n < 65536);
	close(file);
	unlink(name);
	*bytes = (size_t)n;
	return data;
}

static void pieces_of_every_size_give_the_same(void **state)
{
	static const size_t pieces[] = {1, 7, 68, 600, 4096};
	size_t bytes;
	uint8_t *data = ours(&bytes);

	(void)state;
	for (size_t i = 0; i < sizeof(pieces) / sizeof(*pieces); i++) {
		int events = 0, rc = -EAGAIN;

		assert_int_equal(ftruncate(fd, 0), 0);
		assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
		open_it();
		for (size_t at = 0; at < bytes; at += pieces[i]) {
			assert_int_equal(rc, -EAGAIN);
			add(data + at, bytes - at < pieces[i] ? bytes - at : pieces[i]);
			events += read_on(&rc);
		}
		assert_int_equal(rc, 0);
		assert_int_equal(events, 8);
		weft_jfr_reader_free(reader);
		reader = NULL;
	}
	free(data);
}

static void what_is_left_over_is_damage(void **state)
{
	size_t bytes;
	uint8_t *data = ours(&bytes);

	(void)state;
	add(data, bytes - 1);
	open_it();
	expect(6, -EAGAIN);
	weft_jfr_follow_ends(reader);
	expect(0, -EBADMSG);
	assert_non_null(strstr(weft_jfr_error(reader), "chunk is cut short"));
	free(data);
}

static void the_end_is_told_by_hand(void **state)
{
	struct weft_jfr_options o = {.size = sizeof(o), .path = path, .start_mono_ns = 1000};
	struct weft_jfr_writer *w = weft_jfr_create(&o);

	(void)state;
	assert_non_null(w);
	put(w, declare(w, "test.One"), 3);
	weft_jfr_rotate(w, 3000, 1);
	open_it();
	expect(3, -EAGAIN);
	weft_jfr_follow_ends(reader);
	expect(0, 0);
	assert_int_equal(weft_jfr_close(w), 0);
}

static void a_file_that_becomes_shorter_is_damaged(void **state)
{
	size_t bytes;
	uint8_t *data = ours(&bytes);

	(void)state;
	add(data, bytes - 1);
	open_it();
	expect(6, -EAGAIN);
	assert_int_equal(ftruncate(fd, 100), 0);
	expect(0, -EBADMSG);
	assert_non_null(strstr(weft_jfr_error(reader), "file became shorter"));
	free(data);
}

static void strangers_are_refused(void **state)
{
	(void)state;
	add("not a recording", 15);
	assert_null(weft_jfr_open_follow(path));
	assert_int_equal(errno, EBADMSG);
	assert_null(weft_jfr_open_follow("/nowhere/at.jfr"));
	assert_int_equal(errno, ENOENT);
	assert_null(weft_jfr_open_follow("/tmp"));
	assert_int_equal(errno, EISDIR);
}

/* ---------------------------------------------------------------- the JVM's */

enum { LONG = 10, STRING = 20, EVENT = 30, LATE };

static const struct fake_class classes[] = {
	{.id = LONG, .name = "long"},
	{.id = STRING, .name = "java.lang.String"},
	{.id = EVENT,
	 .name = "test.Event",
	 .super = "jdk.jfr.Event",
	 .fields = {{"startTime", LONG, 0, 0}, {"text", STRING, 1, 0}}},
	{0},
};

static const struct fake_class more_classes[] = {
	{.id = LONG, .name = "long"},
	{.id = STRING, .name = "java.lang.String"},
	{.id = EVENT,
	 .name = "test.Event",
	 .super = "jdk.jfr.Event",
	 .fields = {{"startTime", LONG, 0, 0}, {"text", STRING, 1, 0}}},
	{.id = LATE,
	 .name = "test.Late",
	 .super = "jdk.jfr.Event",
	 .fields = {{"startTime", LONG, 0, 0}, {"text", STRING, 1, 0}}},
	{0},
};

static void add_event(int type, uint64_t key)
{
	struct buf b = {0};

	fake_int(&fake, &b, 7042, 8);
	fake_int(&fake, &b, key, 8);
	fake_event(&fake, type, &b);
	buf_free(&b);
}

static void add_text(uint64_t key, const char *text)
{
	struct buf b = {0};

	fake_int(&fake, &b, STRING, 8);
	fake_int(&fake, &b, 1, 4);
	fake_int(&fake, &b, key, 8);
	fake_text(&fake, &b, 3, text);
	fake_checkpoint(&fake, 1, &b);
	buf_free(&b);
}

/* The events first, then the header that tells of them, as the JVM does. */
static void flush(int state)
{
	uint8_t header[68];

	fake_end(&fake);
	memcpy(header, fake.file.data, sizeof(header));
	header[64] = (uint8_t)state;
	assert_int_equal(pwrite(fd, fake.file.data + 68, fake.file.size - 68, 68),
			 fake.file.size - 68);
	assert_int_equal(pwrite(fd, header, 68, 0), 68);
}

static void assert_text(const char *text)
{
	const struct weft_jfr_node *n;

	assert_int_equal(weft_jfr_next(reader, &event), 1);
	n = weft_jfr_event_get(&event, "text");
	assert_int_equal(n->shape, WEFT_JFR_V_STRING);
	assert_int_equal(n->string.bytes, strlen(text));
	assert_memory_equal(n->string.data, text, n->string.bytes);
}

static void start_live(void)
{
	fake_chunk(&fake, 0);
	/* as it is before the first flush */
	assert_int_equal(pwrite(fd, fake.file.data, 68, 0), 68);
	open_it();
	expect(0, -EAGAIN);
	fake_metadata(&fake, classes);
	add_event(EVENT, 1);
	add_text(1, "one");
	flush(1);
	assert_text("one");
	expect(0, -EAGAIN);
}

static void an_open_chunk_grows(void **state)
{
	struct weft_jfr_chunk_view c;

	(void)state;
	start_live();
	assert_int_equal(weft_jfr_chunk(reader, &c), 0);
	assert_int_equal(c.number, 0);
	add_event(EVENT, 2);
	add_event(EVENT, 1);
	add_text(2, "two");
	expect(0, -EAGAIN);
	flush(2);
	assert_text("two");
	assert_text("one");
	expect(0, -EAGAIN);
	add_event(EVENT, 2);
	flush(0);
	assert_text("two");
	expect(0, -EAGAIN); /* another chunk may follow */
	weft_jfr_follow_ends(reader);
	expect(0, 0);
}

static void values_stay_while_their_chunk_grows(void **state)
{
	const struct weft_jfr_node *old;
	char first[4] = {0};

	(void)state;
	fake_chunk(&fake, 0);
	fake_metadata(&fake, classes);
	add_event(EVENT, 1);
	add_text(1, "one");
	flush(1);
	open_it();
	assert_text("one");
	old = weft_jfr_event_get(&event, "text");
	const char *data = old->string.data;
	for (int i = 2; i < 60; i++) {
		char text[300];

		memset(text, 'x', sizeof(text) - 1);
		text[sizeof(text) - 1] = 0;
		add_event(EVENT, (uint64_t)i);
		add_text((uint64_t)i, text);
		flush(i);
		expect(1, -EAGAIN);
	}
	memcpy(first, data, 3);
	assert_string_equal(first, "one");
}

static void metadata_grows_with_the_chunk(void **state)
{
	(void)state;
	start_live();
	fake_metadata(&fake, more_classes);
	add_event(LATE, 1);
	flush(2);
	assert_text("one");
	assert_string_equal(weft_jfr_class_name(event.type), "test.Late");
	expect(0, -EAGAIN);
}

static void a_header_that_is_being_changed_is_not_believed(void **state)
{
	(void)state;
	start_live();
	add_event(EVENT, 1);
	flush(255);
	expect(0, -EAGAIN);
	flush(2);
	assert_text("one");
	expect(0, -EAGAIN);
}

static void a_chunk_that_shrinks_is_damaged(void **state)
{
	uint8_t size[8] = {0, 0, 0, 0, 0, 0, 0, 70};

	(void)state;
	start_live();
	assert_int_equal(pwrite(fd, size, 8, 8), 8);
	expect(0, -EBADMSG);
}

static void what_is_behind_the_last_flush_is_no_chunk(void **state)
{
	(void)state;
	start_live();
	assert_int_equal(pwrite(fd, "rest", 4, (off_t)fake.file.size), 4);
	expect(0, -EAGAIN);
	weft_jfr_follow_ends(reader);
	expect(0, -EBADMSG);
	assert_non_null(strstr(weft_jfr_error(reader), "chunk"));
	weft_jfr_reader_free(reader);
	reader = weft_jfr_open(path);
	assert_text("one");
	expect(0, -EBADMSG);
	assert_non_null(strstr(weft_jfr_error(reader), "last flush"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(chunks_are_read_as_they_come),
		TEST(a_file_that_takes_its_place_is_followed),
		TEST(pieces_of_every_size_give_the_same),
		TEST(what_is_left_over_is_damage),
		TEST(the_end_is_told_by_hand),
		TEST(a_file_that_becomes_shorter_is_damaged),
		TEST(strangers_are_refused),
		TEST(an_open_chunk_grows),
		TEST(values_stay_while_their_chunk_grows),
		TEST(metadata_grows_with_the_chunk),
		TEST(a_header_that_is_being_changed_is_not_believed),
		TEST(a_chunk_that_shrinks_is_damaged),
		TEST(what_is_behind_the_last_flush_is_no_chunk),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
