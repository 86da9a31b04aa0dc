/* SPDX-License-Identifier: Apache-2.0 */
/* The writer's contract: options, rotation, loss, pools, and values as they come back. */
#include "raw.h"

#include <weft/jfr.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#define START_NS UINT64_C(5000000000)

static char directory[64], path[96];
static struct raw_file file;
static struct raw_metadata metadata;

static int set_up(void **state)
{
	(void)state;
	snprintf(directory, sizeof(directory), "/tmp/weft-writer-XXXXXX");
	if (!mkdtemp(directory))
		return -1;
	snprintf(path, sizeof(path), "%s/out.jfr", directory);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	raw_free(&file);
	unlink(path);
	return rmdir(directory);
}

static struct weft_jfr_writer *create(uint64_t chunk_ns, uint64_t chunk_bytes)
{
	struct weft_jfr_options o = {.size = sizeof(o),
				     .path = path,
				     .chunk_ns = chunk_ns,
				     .chunk_bytes = chunk_bytes,
				     .start_mono_ns = START_NS};
	struct weft_jfr_writer *w = weft_jfr_create(&o);

	assert_non_null(w);
	return w;
}

static const struct weft_jfr_field text_fields[] = {
	{"startTime", WEFT_JFR_LONG, WEFT_JFR_TIMESTAMP, NULL, NULL},
	{"text", WEFT_JFR_STRING, 0, NULL, NULL},
};
static const struct weft_jfr_type_def text_def = {
	.name = "test.Text", .fields = text_fields, .field_count = 2};

static int put_text(struct weft_jfr_writer *w, uint64_t at, const char *text, size_t bytes)
{
	struct weft_jfr_value v[] = {{.number = (int64_t)at}, {.string = {text, bytes}}};

	return weft_jfr_event(w, weft_jfr_type(w, &text_def), v, 2);
}

static size_t chunks_on_disk(void)
{
	size_t count;

	raw_load(&file, path);
	count = file.chunk_count;
	raw_free(&file);
	return count;
}

static void options_are_checked(void **state)
{
	struct weft_jfr_options o = {.size = sizeof(o), .path = "/nowhere/at/all.jfr"};

	(void)state;
	assert_null(weft_jfr_create(NULL));
	assert_int_equal(errno, EINVAL);
	assert_null(weft_jfr_create(&o));
	assert_int_equal(errno, ENOENT);
	o.path = NULL;
	assert_null(weft_jfr_create(&o));
	assert_int_equal(errno, EINVAL);
	o.path = path;
	o.chunk_bytes = 1 << 30;
	assert_null(weft_jfr_create(&o));
	assert_int_equal(errno, EINVAL);
	o.chunk_bytes = 0;
	o.size = 8;
	assert_null(weft_jfr_create(&o));
	assert_int_equal(errno, EINVAL);
	assert_int_equal(weft_jfr_close(NULL), 0);
}

static void the_file_is_private_and_new(void **state)
{
	struct stat old, st;
	int fd = open(path, O_CREAT | O_WRONLY, 0644);

	(void)state;
	assert_int_equal(write(fd, "older", 5), 5);
	assert_int_equal(weft_jfr_close(create(0, 0)), 0);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_int_equal(fstat(fd, &old), 0); /* whoever has it open keeps it */
	assert_int_equal(old.st_size, 5);
	assert_int_equal(old.st_nlink, 0);
	close(fd);
	assert_int_equal(chunks_on_disk(), 1); /* no event at all: one chunk */
}

static void chunks_end_by_time(void **state)
{
	struct weft_jfr_writer *w = create(1000, 0);

	(void)state;
	assert_int_equal(weft_jfr_rotate(w, START_NS + 5000, 0), 0); /* nothing to write */
	assert_int_equal(put_text(w, START_NS + 5100, "a", 1), 0);
	assert_int_equal(weft_jfr_rotate(w, START_NS + 5999, 0), 0);
	assert_int_equal(weft_jfr_rotate(w, START_NS + 6000, 0), 1);
	assert_int_equal(chunks_on_disk(), 2);
	assert_int_equal(weft_jfr_close(w), 0);
	raw_load(&file, path);
	assert_int_equal(file.chunk_count, 3);
	assert_int_equal(file.chunks[1].start_ticks + file.chunks[1].duration_ns,
			 file.chunks[2].start_ticks);
}

static void chunks_end_by_size(void **state)
{
	struct weft_jfr_writer *w = create(0, 100000);
	struct weft_jfr_written written;
	char text[1000];

	(void)state;
	for (int i = 0; i < 1000; i++) { /* long texts lie in the pool and count too */
		memset(text, 'a' + i % 26, sizeof(text));
		snprintf(text, sizeof(text), "%d", i);
		assert_int_equal(put_text(w, START_NS + (uint64_t)i, text, sizeof(text)), 0);
	}
	assert_int_equal(weft_jfr_close(w), 0);
	raw_load(&file, path);
	assert_in_range(file.chunk_count, 10, 13);
	for (size_t i = 0; i < file.chunk_count; i++)
		assert_true(file.chunks[i].bytes < 110000);
	w = create(0, 0);
	weft_jfr_written(w, &written);
	assert_int_equal(written.events + written.chunks + written.bytes, 0);
	assert_int_equal(weft_jfr_close(w), 0);
}

static void types_are_declared_once(void **state)
{
	struct weft_jfr_writer *w = create(0, 0);
	struct weft_jfr_field other[2];
	struct weft_jfr_type_def def = text_def;
	struct weft_jfr_type *type = weft_jfr_type(w, &text_def);

	(void)state;
	memcpy(other, text_fields, sizeof(other));
	assert_ptr_equal(weft_jfr_type(w, &text_def), type);
	assert_true(weft_jfr_type_id(type) > 1);
	def.fields = other;
	other[1].kind = WEFT_JFR_LONG;
	assert_null(weft_jfr_type(w, &def));
	assert_int_equal(errno, EEXIST);
	def.name = "test.Bad";
	other[1].name = "startTime"; /* twice */
	assert_null(weft_jfr_type(w, &def));
	assert_int_equal(errno, EINVAL);
	other[1].name = "text";
	other[1].kind = 99;
	assert_null(weft_jfr_type(w, &def));
	assert_int_equal(errno, EINVAL);
	assert_null(weft_jfr_standard_type(w, 99));
	assert_int_equal(weft_jfr_close(w), 0);
}

static void bad_events_change_nothing(void **state)
{
	struct weft_jfr_writer *w = create(0, 0);
	struct weft_jfr_type *sample = weft_jfr_standard_type(w, WEFT_JFR_EXECUTION_SAMPLE);
	struct weft_jfr_value v[4] = {{.number = START_NS}};
	struct weft_jfr_written written;
	char *huge = calloc(1, (1 << 20) + 1);

	(void)state;
	assert_int_equal(weft_jfr_event(w, sample, v, 3), -EINVAL);
	v[1].number = 1;
	assert_int_equal(weft_jfr_event(w, sample, v, 4), -EINVAL);
	v[1].number = 0;
	v[2].number = -1;
	assert_int_equal(weft_jfr_event(w, sample, v, 4), -EINVAL);
	v[2].number = 0;
	v[3].number = WEFT_JFR_STATE_WAITING_FOR_CPU + 1;
	assert_int_equal(weft_jfr_event(w, sample, v, 4), -EINVAL);
	v[3].number = 0;
	assert_int_equal(weft_jfr_event(w, sample, v, 4), 0);
	assert_int_equal(put_text(w, START_NS, huge, (1 << 20) + 1), -EMSGSIZE);
	assert_int_equal(put_text(w, START_NS, huge, 1 << 20), 0);
	free(huge);
	assert_int_equal(weft_jfr_rotate(w, START_NS + 1, 1), 1);
	weft_jfr_written(w, &written);
	assert_int_equal(written.events, 2);
	assert_int_equal(written.events_lost, 0);
	assert_int_equal(weft_jfr_close(w), 0);
}

static void metadata_ids_change_with_the_metadata_only(void **state)
{
	struct weft_jfr_writer *w = create(0, 0);
	struct weft_jfr_type_def later = text_def;
	static struct raw_metadata before;

	(void)state;
	for (int i = 0; i < 6; i++) {
		later.name = i < 3 ? "test.Text" : "test.Later";
		weft_jfr_type(w, &later);
		assert_int_equal(put_text(w, START_NS + (uint64_t)i, "x", 1), 0);
		assert_int_equal(weft_jfr_rotate(w, START_NS + (uint64_t)i, 1), 1);
	}
	assert_int_equal(weft_jfr_close(w), 0);
	raw_load(&file, path);
	assert_int_equal(file.chunk_count, 8);
	raw_metadata(&file.chunks[0], &before);
	for (size_t i = 1; i < file.chunk_count; i++) {
		raw_metadata(&file.chunks[i], &metadata);
		assert_int_equal(metadata.id == before.id,
				 metadata.body_bytes == before.body_bytes &&
					 memcmp(metadata.body, before.body, before.body_bytes) ==
						 0);
		assert_int_equal(metadata.id != before.id, i == 4);
		assert_int_equal(raw_class(&metadata, "test.Text")->id,
				 raw_class(&before, "test.Text")->id);
		before = metadata;
	}
}

static void every_type_referred_to_is_declared(void **state)
{
	struct weft_jfr_writer *w = create(0, 0);
	struct weft_jfr_field fields[20] = {{0}};
	struct weft_jfr_type_def def = {.name = "test.All",
					.label = "l",
					.description = "d",
					.category = (const char *const[]){"a", "b", NULL},
					.flags = WEFT_JFR_TYPE_CONTEXTUAL |
						 WEFT_JFR_TYPE_EXPERIMENTAL,
					.fields = fields,
					.field_count = 20};
	static char names[20][8];
	int annotations = 0;

	(void)state;
	for (unsigned int i = 0; i < 20; i++) {
		snprintf(names[i], sizeof(names[i]), "f%u", i);
		fields[i] = (struct weft_jfr_field){names[i], WEFT_JFR_BOOLEAN + i % 12,
						    1u << i % 8, "l", "d"};
	}
	assert_non_null(weft_jfr_type(w, &def));
	assert_int_equal(weft_jfr_close(w), 0);
	raw_load(&file, path);
	raw_metadata(&file.chunks[0], &metadata);
	for (int i = 0; i < metadata.class_count; i++) {
		const struct raw_class *c = &metadata.classes[i];

		for (int j = 0; j < i; j++)
			assert_int_not_equal(metadata.classes[j].id, c->id);
		for (int j = 0; j < c->annotation_count; j++, annotations++)
			assert_non_null(raw_class_by_id(&metadata, c->annotations[j]));
		for (int f = 0; f < c->field_count; f++) {
			assert_non_null(raw_class_by_id(&metadata, c->fields[f].class));
			for (int j = 0; j < c->fields[f].annotation_count; j++, annotations++)
				assert_non_null(
					raw_class_by_id(&metadata, c->fields[f].annotations[j]));
		}
	}
	assert_true(annotations >= 5 + 60);
}

static void count_entry(void *arg, const struct raw_class *type, uint64_t key, const uint8_t *value,
			size_t bytes)
{
	(void)type, (void)key, (void)value, (void)bytes;
	++*(int *)arg;
}

static void chunks_carry_only_what_they_use(void **state)
{
	struct weft_jfr_writer *w = create(0, 0);
	struct weft_jfr_type *sample = weft_jfr_standard_type(w, WEFT_JFR_EXECUTION_SAMPLE);
	int entries = 0;

	(void)state;
	for (int i = 0; i < 100; i++) { /* interned, used by nothing but the last */
		char name[16];
		struct weft_jfr_frame frame = {.type = WEFT_JFR_FRAME_NATIVE};
		struct weft_jfr_value v[4] = {{.number = START_NS}};

		snprintf(name, sizeof(name), "f%d", i);
		frame.method = weft_jfr_method(w, "m", name);
		v[2].number = (int64_t)weft_jfr_stack(w, &frame, 1, 0);
		weft_jfr_thread(w, &(struct weft_jfr_thread){.os_id = i, .group = name}, 0);
		if (i == 99)
			assert_int_equal(weft_jfr_event(w, sample, v, 4), 0);
	}
	assert_int_equal(weft_jfr_close(w), 0);
	raw_load(&file, path);
	raw_metadata(&file.chunks[1], &metadata);
	raw_pools(&file.chunks[1], &metadata, count_entry, &entries);
	/* 6 frame types, 5 states, stack, method, class, symbols "m" "f99" "()V" */
	assert_int_equal(entries, 6 + 5 + 1 + 1 + 1 + 3);
}

static void long_texts_are_pooled_once_per_chunk(void **state)
{
	struct weft_jfr_writer *w = create(0, 0);
	char text[100];
	int entries = 0;

	(void)state;
	memset(text, 't', sizeof(text));
	for (int i = 0; i < 50; i++)
		assert_int_equal(put_text(w, START_NS, text, sizeof(text)), 0);
	assert_int_equal(weft_jfr_close(w), 0);
	raw_load(&file, path);
	raw_metadata(&file.chunks[1], &metadata);
	raw_pools(&file.chunks[1], &metadata, count_entry, &entries);
	assert_int_equal(entries, 6 + 5 + 1);
}

/* A device that cannot be cut back either. */
static void a_full_device_is_an_error(void **state)
{
	struct weft_jfr_options o = {.size = sizeof(o), .path = "/dev/full"};
	struct weft_jfr_writer *w = weft_jfr_create(&o);
	struct weft_jfr_written written;

	(void)state;
	assert_non_null(w);
	assert_int_equal(put_text(w, START_NS, "a", 1), -ENOSPC); /* the opening chunk */
	assert_int_equal(put_text(w, START_NS, "b", 1), 0);
	assert_int_equal(weft_jfr_rotate(w, START_NS + 1, 1), -ENOSPC);
	weft_jfr_written(w, &written);
	assert_int_equal(written.events, 0);
	assert_int_equal(written.events_lost, 2);
	assert_int_equal(weft_jfr_close(w), -ENOSPC);
	assert_int_equal(access("/dev/full", F_OK), 0);
}

static void ignore(int signal)
{
	(void)signal;
}

/* Writes to a pipe are short and interrupted; what comes out of it must still be whole. */
static void short_and_interrupted_writes_go_on(void **state)
{
	struct itimerspec every = {{0, 300000}, {0, 300000}};
	struct sigaction action = {.sa_handler = ignore};
	struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1};
	char fifo[112], command[256], text[1000] = "x";
	struct weft_jfr_options o = {.size = sizeof(o), .path = fifo};
	struct weft_jfr_writer *w;
	timer_t timer;
	pid_t child;

	(void)state;
	snprintf(fifo, sizeof(fifo), "%s/fifo", directory);
	assert_int_equal(mkfifo(fifo, 0600), 0);
	child = fork();
	if (child == 0) {
		snprintf(command, sizeof(command), "exec cat %s > %s", fifo, path);
		execl("/bin/sh", "sh", "-c", command, NULL);
		_exit(127);
	}
	w = weft_jfr_create(&o);
	assert_non_null(w);
	sigaction(SIGUSR1, &action, NULL); /* no SA_RESTART */
	assert_int_equal(timer_create(CLOCK_MONOTONIC, &event, &timer), 0);
	timer_settime(timer, 0, &every, NULL);
	for (int i = 0; i < 3000; i++) {
		snprintf(text, sizeof(text), "%d", i);
		assert_int_equal(put_text(w, START_NS, text, sizeof(text)), 0);
	}
	assert_int_equal(weft_jfr_close(w), 0);
	timer_delete(timer);
	assert_int_equal(waitpid(child, NULL, 0), child);
	assert_int_equal(chunks_on_disk(), 2);
	unlink(fifo);
}

/* ---------------------------------------------------------------- round trip */

static const struct weft_jfr_field all_fields[] = {
	{"b", WEFT_JFR_BOOLEAN, 0, NULL, NULL}, {"y", WEFT_JFR_BYTE, 0, NULL, NULL},
	{"c", WEFT_JFR_CHAR, 0, NULL, NULL},    {"s", WEFT_JFR_SHORT, 0, NULL, NULL},
	{"i", WEFT_JFR_INT, 0, NULL, NULL},     {"l", WEFT_JFR_LONG, 0, NULL, NULL},
	{"f", WEFT_JFR_FLOAT, 0, NULL, NULL},   {"d", WEFT_JFR_DOUBLE, 0, NULL, NULL},
	{"t", WEFT_JFR_STRING, 0, NULL, NULL},
};

static void check_values(const struct weft_jfr_event_view *e, int64_t n, double real)
{
	assert_int_equal(e->field_count, 9);
	assert_int_equal(e->fields[0].number, n != 0);
	assert_int_equal(e->fields[1].number, (int8_t)n);
	assert_int_equal(e->fields[2].number, (uint16_t)n);
	assert_int_equal(e->fields[3].number, (int16_t)n);
	assert_int_equal(e->fields[4].number, (int32_t)n);
	assert_true(e->fields[5].number == n);
	assert_true(e->fields[6].real == (double)(float)real);
	assert_true(e->fields[7].real == real);
}

static void values_come_back_as_they_were(void **state)
{
	static const int64_t numbers[] = {0,
					  1,
					  -1,
					  127,
					  128,
					  -128,
					  255,
					  16383,
					  16384,
					  65535,
					  INT32_MIN,
					  INT32_MAX,
					  (int64_t)1 << 55,
					  (int64_t)1 << 56,
					  INT64_MIN,
					  INT64_MAX};
	struct weft_jfr_type_def def = {.name = "test.All", .fields = all_fields, .field_count = 9};
	struct weft_jfr_writer *w = create(0, 0);
	struct weft_jfr_event_view e;
	struct weft_jfr_reader *r;
	char text[300];

	(void)state;
	memset(text, 'q', sizeof(text));
	for (size_t i = 0; i < 16; i++) {
		struct weft_jfr_value v[9];

		for (int k = 0; k < 9; k++)
			v[k] = (struct weft_jfr_value){
				numbers[i], 1.0 / (double)(i + 1), {text, i * 18}};
		assert_int_equal(weft_jfr_event(w, weft_jfr_type(w, &def), v, 9), 0);
	}
	assert_int_equal(weft_jfr_close(w), 0);
	r = weft_jfr_open(path);
	assert_non_null(r);
	for (size_t i = 0; i < 16; i++) {
		assert_int_equal(weft_jfr_next(r, &e), 1);
		check_values(&e, numbers[i], 1.0 / (double)(i + 1));
		assert_int_equal(e.fields[8].string.bytes, i * 18);
		assert_memory_equal(e.fields[8].string.data, text, i * 18);
	}
	assert_int_equal(weft_jfr_next(r, &e), 0);
	weft_jfr_reader_free(r);
}

static void bad_utf8_is_replaced(void **state)
{
	static const char *const texts[][2] = {
		{"plain", "plain"},
		{"\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80", "\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80"},
		{"\x80", "\xEF\xBF\xBD"},
		{"a\xC3", "a\xEF\xBF\xBD"},
		{"\xC0\xAF", "\xEF\xBF\xBD\xEF\xBF\xBD"},
		{"\xED\xA0\x80", "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD"},
		{"\xF4\x90\x80\x80z", "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBDz"},
	};
	struct weft_jfr_writer *w = create(0, 0);
	struct weft_jfr_event_view e;
	struct weft_jfr_reader *r;

	(void)state;
	for (int i = 0; i < 7; i++)
		assert_int_equal(put_text(w, START_NS, texts[i][0], strlen(texts[i][0])), 0);
	assert_int_equal(weft_jfr_close(w), 0);
	r = weft_jfr_open(path);
	assert_non_null(r);
	for (int i = 0; i < 7; i++) {
		assert_int_equal(weft_jfr_next(r, &e), 1);
		assert_int_equal(e.fields[1].string.bytes, strlen(texts[i][1]));
		assert_memory_equal(e.fields[1].string.data, texts[i][1], strlen(texts[i][1]));
	}
	weft_jfr_reader_free(r);
}

static void annotations_are_found_by_name(void **state)
{
	static const struct weft_jfr_field fields[] = {
		{"startTime", WEFT_JFR_LONG, WEFT_JFR_TIMESTAMP, NULL, NULL},
		{"duration", WEFT_JFR_LONG, WEFT_JFR_TIMESPAN, NULL, NULL},
		{"id", WEFT_JFR_STRING, WEFT_JFR_CONTEXTUAL, "Id", NULL},
	};
	struct weft_jfr_type_def def = {.name = "test.Span",
					.flags = WEFT_JFR_TYPE_CONTEXTUAL,
					.fields = fields,
					.field_count = 3};
	struct weft_jfr_value v[3] = {{.number = START_NS + 7}, {.number = 5}};
	struct weft_jfr_writer *w = create(0, 0);
	struct weft_jfr_event_view e;
	struct weft_jfr_reader *r;

	(void)state;
	assert_int_equal(weft_jfr_event(w, weft_jfr_type(w, &def), v, 3), 0);
	assert_int_equal(weft_jfr_close(w), 0);
	r = weft_jfr_open(path);
	assert_non_null(r);
	assert_int_equal(weft_jfr_next(r, &e), 1);
	assert_int_equal(e.duration_ns, 5);
	assert_int_equal(e.fields[2].shape, WEFT_JFR_V_NULL);
	assert_int_equal(weft_jfr_class_annotated(e.type, NULL, "jdk.jfr.Contextual"), 1);
	assert_int_equal(weft_jfr_class_annotated(e.type, "id", "jdk.jfr.Contextual"), 1);
	assert_int_equal(weft_jfr_class_annotated(e.type, "duration", "jdk.jfr.Contextual"), 0);
	assert_int_equal(weft_jfr_class_annotated(e.type, "nothing", "jdk.jfr.Contextual"), 0);
	assert_int_equal(weft_jfr_class_annotated(e.type, "duration", "jdk.jfr.Timespan"), 1);
	weft_jfr_reader_free(r);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(options_are_checked),
		TEST(the_file_is_private_and_new),
		TEST(chunks_end_by_time),
		TEST(chunks_end_by_size),
		TEST(types_are_declared_once),
		TEST(bad_events_change_nothing),
		TEST(metadata_ids_change_with_the_metadata_only),
		TEST(every_type_referred_to_is_declared),
		TEST(chunks_carry_only_what_they_use),
		TEST(long_texts_are_pooled_once_per_chunk),
		TEST(a_full_device_is_an_error),
		TEST(short_and_interrupted_writes_go_on),
		TEST(values_come_back_as_they_were),
		TEST(bad_utf8_is_replaced),
		TEST(annotations_are_found_by_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
