/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the metadata says of types: of a recording of ours, and of one with what the JDK's have
 * and ours not (settings, annotations of several members, types that are not declared).
 */
#include "fake.h"

#include <weft/jfr.h>

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static char path[64];
static struct weft_jfr_reader *reader;
static struct weft_jfr_event_view event;

static int set_up(void **state)
{
	(void)state;
	snprintf(path, sizeof(path), "/tmp/weft-introspection-XXXXXX");
	int fd = mkstemp(path);

	return fd < 0 ? -1 : close(fd);
}

static int tear_down(void **state)
{
	(void)state;
	weft_jfr_reader_free(reader);
	reader = NULL;
	return unlink(path);
}

static const struct weft_jfr_class *class_named(const char *name)
{
	const struct weft_jfr_class *const *list;
	size_t count = weft_jfr_classes(reader, &list);

	for (size_t i = 0; i < count; i++)
		if (strcmp(weft_jfr_class_name(list[i]), name) == 0)
			return list[i];
	fail_msg("%s is not declared", name);
	return NULL;
}

static void check_annotation(const struct weft_jfr_annotation_view *a, const char *name,
			     const char *const *values)
{
	size_t count = 0;

	assert_string_equal(a->name, name);
	assert_string_equal(weft_jfr_class_name(a->type), name);
	while (values[count])
		count++;
	assert_int_equal(a->count, count);
	for (size_t i = 0; i < count; i++) {
		assert_string_equal(a->member[i], "value");
		assert_string_equal(a->value[i], values[i]);
	}
}

#define VALUES(...) ((const char *const[]){__VA_ARGS__, NULL})

static void write_ours(void)
{
	static const struct weft_jfr_field fields[] = {
		{"startTime", WEFT_JFR_LONG, WEFT_JFR_TIMESTAMP, "Start", "When"},
		{"eventThread", WEFT_JFR_THREAD, 0, NULL, NULL},
		{"stackTrace", WEFT_JFR_STACK, 0, NULL, NULL},
	};
	static const char *const category[] = {"Weft", "Test", NULL};
	struct weft_jfr_type_def def = {.name = "test.Seen",
					.label = "Seen",
					.category = category,
					.flags = WEFT_JFR_TYPE_CONTEXTUAL,
					.fields = fields,
					.field_count = 3};
	struct weft_jfr_options o = {.size = sizeof(o),
				     .path = path,
				     .start_mono_ns = 5000,
				     .start_real_ns = 1700000000000000000};
	struct weft_jfr_writer *w = weft_jfr_create(&o);
	struct weft_jfr_value v[3] = {{.number = 6000}};

	assert_non_null(w);
	assert_int_equal(weft_jfr_event(w, weft_jfr_type(w, &def), v, 3), 0);
	assert_int_equal(weft_jfr_close(w), 0);
	reader = weft_jfr_open(path);
	assert_non_null(reader);
}

static void types_of_our_recordings(void **state)
{
	const struct weft_jfr_annotation_view *a;
	struct weft_jfr_field_view f;
	const struct weft_jfr_setting_view *s;

	(void)state;
	write_ours();
	assert_int_equal(weft_jfr_next(reader, &event), 1);
	assert_ptr_equal(class_named("test.Seen"), event.type);
	assert_string_equal(weft_jfr_class_super(event.type), "jdk.jfr.Event");
	assert_int_equal(weft_jfr_class_annotations(event.type, SIZE_MAX, &a), 3);
	check_annotation(&a[0], "jdk.jfr.Label", VALUES("Seen"));
	check_annotation(&a[1], "jdk.jfr.Category", VALUES("Weft", "Test"));
	check_annotation(&a[2], "jdk.jfr.Contextual", VALUES(NULL));
	assert_int_equal(weft_jfr_class_annotations(event.type, 0, &a), 3);
	check_annotation(&a[0], "jdk.jfr.Label", VALUES("Start"));
	check_annotation(&a[1], "jdk.jfr.Description", VALUES("When"));
	check_annotation(&a[2], "jdk.jfr.Timestamp", VALUES("TICKS"));
	assert_int_equal(weft_jfr_class_annotations(event.type, 3, &a), 0);
	assert_int_equal(weft_jfr_class_settings(event.type, &s), 0);
	assert_int_equal(weft_jfr_class_field_view(event.type, 1, &f), 0);
	assert_string_equal(f.name, "eventThread");
	assert_ptr_equal(f.type, class_named("java.lang.Thread"));
	assert_true(f.is_pooled && !f.is_array);
	assert_int_equal(weft_jfr_class_field_view(event.type, 3, &f), -ENOENT);
	assert_int_equal(weft_jfr_class_field_view(class_named("jdk.types.StackTrace"), 1, &f), 0);
	assert_true(f.is_array && !f.is_pooled);
	assert_string_equal(weft_jfr_class_super(class_named("jdk.types.Symbol")), "");
	assert_int_equal(weft_jfr_class_is_simple(class_named("jdk.types.Symbol")), 1);
	assert_int_equal(weft_jfr_class_is_simple(event.type), 0);
}

static void the_chunk_of_an_event(void **state)
{
	struct weft_jfr_chunk_view c;

	(void)state;
	write_ours();
	assert_int_equal(weft_jfr_chunk(reader, &c), -ENOENT);
	assert_int_equal(weft_jfr_next(reader, &event), 1);
	assert_int_equal(weft_jfr_chunk(reader, &c), 0);
	assert_int_equal(c.number, 1); /* the first chunk has types alone */
	assert_true(c.offset > 68 && c.bytes > 68);
	assert_int_equal(c.major, 2);
	assert_int_equal(c.minor, 1);
	assert_int_equal(c.flags, 3);
	assert_int_equal(c.ticks_per_second, 1000000000);
	assert_true(c.start_ns - c.start_ticks == 1700000000000000000 - 5000);
	assert_true(c.duration_ns > 0);
	assert_int_equal(weft_jfr_next(reader, &event), 0);
	assert_int_equal(weft_jfr_chunk(reader, &c), -ENOENT);
}

enum { LONG = 10, NOTE, CONTROL, EVENT };

static const struct fake_attribute note_members[] = {
	{"value", "one"}, {"other-0", "two"}, {"other-1", "three"}, {"odd-", "four"}, {0}};
static const struct fake_attribute no_members[] = {{0}};
static const struct fake_setting settings[] = {
	{"enabled", CONTROL, "true"}, {"threshold", 4711, NULL}, {0}};
static const struct fake_note notes[] = {{4711, no_members}, {NOTE, note_members}, {0}};

static const struct fake_class classes[] = {
	{.id = LONG, .name = "long"},
	{.id = NOTE, .name = "test.Note", .super = "java.lang.annotation.Annotation"},
	{.id = CONTROL, .name = "test.Control", .super = "jdk.jfr.SettingControl"},
	{.id = EVENT,
	 .name = "test.Event",
	 .super = "jdk.jfr.Event",
	 .fields = {{"startTime", LONG, 0, 0}},
	 .settings = settings,
	 .notes = notes},
	{0},
};

static void open_fake(void)
{
	struct fake fake = {0};
	struct buf b = {0};

	fake_chunk(&fake, 0);
	fake_metadata(&fake, classes);
	fake_int(&fake, &b, 7042, 8);
	fake_event(&fake, EVENT, &b);
	fake_end(&fake);
	fake_save(&fake, path);
	buf_free(&fake.file);
	buf_free(&b);
	reader = weft_jfr_open(path);
	assert_non_null(reader);
	assert_int_equal(weft_jfr_next(reader, &event), 1);
}

static void settings_of_a_type(void **state)
{
	const struct weft_jfr_setting_view *s;

	(void)state;
	open_fake();
	assert_int_equal(weft_jfr_class_settings(event.type, &s), 2);
	assert_string_equal(s[0].name, "enabled");
	assert_string_equal(s[0].default_value, "true");
	assert_ptr_equal(s[0].type, class_named("test.Control"));
	assert_string_equal(s[1].name, "threshold");
	assert_null(s[1].default_value);
	assert_null(s[1].type);
}

static void annotations_of_several_members(void **state)
{
	static const char *const expected[] = {"value", "one",   "other", "two",
					       "other", "three", "odd-",  "four"};
	const struct weft_jfr_annotation_view *a;

	(void)state;
	open_fake();
	assert_int_equal(weft_jfr_class_annotations(event.type, SIZE_MAX, &a), 2);
	assert_null(a[0].name);
	assert_null(a[0].type);
	assert_int_equal(a[0].count, 0);
	assert_string_equal(a[1].name, "test.Note");
	assert_int_equal(a[1].count, 4);
	for (size_t i = 0; i < 4; i++) {
		assert_string_equal(a[1].member[i], expected[2 * i]);
		assert_string_equal(a[1].value[i], expected[2 * i + 1]);
	}
	assert_string_equal(weft_jfr_class_annotation(event.type, NULL, "test.Note"), "one");
	assert_null(weft_jfr_class_annotation(event.type, NULL, "test.Control"));
}

static void classes_in_the_order_of_the_file(void **state)
{
	const struct weft_jfr_class *const *list;

	(void)state;
	open_fake();
	assert_int_equal(weft_jfr_classes(reader, &list), 4);
	for (size_t i = 0; i < 4; i++)
		assert_int_equal(weft_jfr_class_id(list[i]), classes[i].id);
	assert_string_equal(weft_jfr_class_super(list[2]), "jdk.jfr.SettingControl");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(types_of_our_recordings),
		TEST(the_chunk_of_an_event),
		TEST(settings_of_a_type),
		TEST(annotations_of_several_members),
		TEST(classes_in_the_order_of_the_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
