/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The fifteen ways in which a well-meant recording is misread by one tool or another, each
 * as a test on the bytes that the writer produces, over several chunks.
 */
#include "raw.h"

#include "base/map.h"

#include <weft/jfr.h>

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define START_NS UINT64_C(5000000000)
#define REAL_NS UINT64_C(1700000000000000000)

static char path[64];
static struct raw_file file;
static struct raw_metadata metadata;

static int set_up(void **state)
{
	(void)state;
	snprintf(path, sizeof(path), "/tmp/weft-pitfall-XXXXXX");
	int fd = mkstemp(path);

	return fd < 0 ? -1 : close(fd);
}

static int tear_down(void **state)
{
	(void)state;
	raw_free(&file);
	return unlink(path);
}

struct recording {
	struct weft_jfr_writer *w;
	struct weft_jfr_type *sample, *note;
	uint64_t now;
};

static const struct weft_jfr_field note_fields[] = {
	{"startTime", WEFT_JFR_LONG, WEFT_JFR_TIMESTAMP, "Start Time", NULL},
	{"eventThread", WEFT_JFR_THREAD, 0, "Thread", NULL},
	{"text", WEFT_JFR_STRING, WEFT_JFR_CONTEXTUAL, "Text", "Anything"},
};
static const struct weft_jfr_type_def note_def = {
	.name = "test.Note",
	.label = "Note",
	.category = (const char *const[]){"Test", "Deep", NULL},
	.flags = WEFT_JFR_TYPE_CONTEXTUAL | WEFT_JFR_TYPE_EXPERIMENTAL,
	.fields = note_fields,
	.field_count = 3,
};

static struct recording begin(void)
{
	struct weft_jfr_options o = {.size = sizeof(o),
				     .path = path,
				     .start_mono_ns = START_NS,
				     .start_real_ns = REAL_NS};
	struct recording r = {.w = weft_jfr_create(&o), .now = START_NS};

	assert_non_null(r.w);
	r.sample = weft_jfr_standard_type(r.w, WEFT_JFR_EXECUTION_SAMPLE);
	r.note = weft_jfr_type(r.w, &note_def);
	assert_non_null(r.sample);
	assert_non_null(r.note);
	return r;
}

static uint64_t thread_id(struct recording *r, int tid)
{
	char name[32], group[32];

	snprintf(name, sizeof(name), "worker-%d", tid);
	snprintf(group, sizeof(group), "server [%d]", tid / 10);
	return weft_jfr_thread(
		r->w, &(struct weft_jfr_thread){.os_id = tid, .name = name, .group = group}, 0);
}

static uint64_t stack_id(struct recording *r, const char *leaf)
{
	struct weft_jfr_frame frames[] = {
		{weft_jfr_method(r->w, "libc.so.6", leaf), 20, 0, WEFT_JFR_FRAME_NATIVE},
		{weft_jfr_method(r->w, "", "?"), 0, 0, WEFT_JFR_FRAME_CPP},
		{weft_jfr_method(r->w, "server", "main"), -1, -1, WEFT_JFR_FRAME_KERNEL},
	};

	return weft_jfr_stack(r->w, frames, 3, 0);
}

static void sample(struct recording *r, uint64_t thread, uint64_t stack)
{
	struct weft_jfr_value v[] = {{.number = (int64_t)(r->now += 1000)},
				     {.number = (int64_t)thread},
				     {.number = (int64_t)stack},
				     {.number = WEFT_JFR_STATE_RUNNABLE}};

	assert_int_equal(weft_jfr_event(r->w, r->sample, v, 4), 0);
}

static void note(struct recording *r, uint64_t thread, const char *text)
{
	struct weft_jfr_value v[] = {{.number = (int64_t)(r->now += 1000)},
				     {.number = (int64_t)thread},
				     {.string = {text, strlen(text)}}};

	assert_int_equal(weft_jfr_event(r->w, r->note, v, 3), 0);
}

static void rotate(struct recording *r)
{
	assert_int_equal(weft_jfr_rotate(r->w, r->now, 1), 1);
}

/* Five chunks: the opening one, one with samples, one with texts, one empty, one of all. */
static void record_five_chunks(void)
{
	struct recording r = begin();
	char longer[200];

	sample(&r, thread_id(&r, 11), stack_id(&r, "memcpy"));
	sample(&r, thread_id(&r, 12), stack_id(&r, "memset"));
	rotate(&r);
	for (int i = 0; i < 9; i++) {
		snprintf(longer, sizeof(longer), "%0100d", i % 3);
		note(&r, thread_id(&r, 21), longer);
	}
	rotate(&r);
	rotate(&r);
	snprintf(longer, sizeof(longer), "%0100d", 7);
	note(&r, thread_id(&r, 11), longer);
	sample(&r, thread_id(&r, 31), stack_id(&r, "memcpy"));
	sample(&r, 0, 0);
	sample(&r, thread_id(&r, 31), stack_id(&r, "qsort"));
	assert_int_equal(weft_jfr_close(r.w), 0);
	raw_load(&file, path);
	assert_int_equal(file.chunk_count, 5);
}

struct seen {
	struct map *values; /* type and key -> hash of the value */
	int entries;
};

static void check_value(void *arg, const struct raw_class *type, uint64_t key, const uint8_t *value,
			size_t bytes)
{
	struct seen *s = arg;
	uint64_t name[2] = {(uint64_t)type->id, key}, hash = 14695981039346656037u, *old;
	int fresh;

	for (size_t i = 0; i < bytes; i++)
		hash = (hash ^ value[i]) * 1099511628211u;
	old = map_put(s->values, name, sizeof(name), &fresh);
	assert_non_null(old);
	if (fresh)
		*old = hash;
	assert_int_equal(*old, hash);
	s->entries++;
}

static void p01_an_id_never_gets_a_second_value(void **state)
{
	struct seen s = {.values = map_new()};

	(void)state;
	record_five_chunks();
	for (size_t i = 0; i < file.chunk_count; i++) {
		raw_metadata(&file.chunks[i], &metadata);
		raw_pools(&file.chunks[i], &metadata, check_value, &s);
	}
	assert_true(s.entries > 60);
	map_free(s.values);
}

static void p02_one_tick_base_for_all_chunks(void **state)
{
	(void)state;
	record_five_chunks();
	for (size_t i = 0; i < file.chunk_count; i++) {
		const struct raw_chunk *c = &file.chunks[i];

		assert_int_equal(c->ticks_per_second, 1000000000);
		assert_int_equal(c->start_ns - c->start_ticks, (int64_t)(REAL_NS - START_NS));
	}
}

static void p03_chunk_starts_increase(void **state)
{
	(void)state;
	record_five_chunks(); /* two of the rotations are at one moment */
	for (size_t i = 1; i < file.chunk_count; i++) {
		assert_true(file.chunks[i].start_ns > file.chunks[i - 1].start_ns);
		assert_true(file.chunks[i].duration_ns > 0);
	}
}

static void count_entry(void *arg, const struct raw_class *type, uint64_t key, const uint8_t *value,
			size_t bytes)
{
	(void)type, (void)key, (void)value, (void)bytes;
	++*(int *)arg;
}

static void p04_no_pool_is_empty(void **state)
{
	(void)state;
	record_five_chunks(); /* raw_pools() fails on an empty pool */
	for (size_t i = 0; i < file.chunk_count; i++) {
		int entries = 0;

		raw_metadata(&file.chunks[i], &metadata);
		raw_pools(&file.chunks[i], &metadata, count_entry, &entries);
		assert_true(entries >= 9); /* frame types and states are always there */
	}
}

/* Calls @check for each method of each chunk. */
struct in_chunk {
	const struct raw_chunk *chunk;
	int count;
	void (*check)(const struct raw_chunk *c, const uint8_t *value, const uint8_t *end);
	const char *type;
};

static void visit(void *arg, const struct raw_class *type, uint64_t key, const uint8_t *value,
		  size_t bytes)
{
	struct in_chunk *in = arg;

	(void)key;
	if (strcmp(type->name, in->type) != 0)
		return;
	in->check(in->chunk, value, value + bytes);
	in->count++;
}

static void check_each(const char *type, void (*check)(const struct raw_chunk *c,
						       const uint8_t *value, const uint8_t *end))
{
	int count = 0;

	record_five_chunks();
	for (size_t i = 0; i < file.chunk_count; i++) {
		struct in_chunk in = {.chunk = &file.chunks[i], .check = check, .type = type};

		raw_metadata(in.chunk, &metadata);
		raw_pools(in.chunk, &metadata, visit, &in);
		count += in.count;
	}
	assert_true(count > 0);
}

static const uint8_t *symbol(const struct raw_chunk *c, uint64_t key)
{
	const uint8_t *s;

	assert_int_not_equal(key, 0);
	s = raw_entry(c, &metadata, "jdk.types.Symbol", key, NULL);
	assert_non_null(s);
	assert_int_equal(s[0], 3); /* converters accept no other encoding */
	return s;
}

static void check_descriptor(const struct raw_chunk *c, const uint8_t *at, const uint8_t *end)
{
	const uint8_t *text;

	raw_int(&at, end);
	symbol(c, raw_int(&at, end));
	text = symbol(c, raw_int(&at, end));
	assert_memory_equal(text, "\3\3()V", 5);
	assert_int_equal(raw_int(&at, end), 0x100); /* ACC_NATIVE */
}

static void p05_methods_have_a_descriptor(void **state)
{
	(void)state;
	check_each("jdk.types.Method", check_descriptor);
}

static void check_type(const struct raw_chunk *c, const uint8_t *at, const uint8_t *end)
{
	uint64_t key = raw_int(&at, end);
	size_t bytes;
	const uint8_t *class = raw_entry(c, &metadata, "java.lang.Class", key, &bytes);

	assert_int_not_equal(key, 0);
	assert_non_null(class);
	end = class + bytes;
	raw_int(&class, end);
	symbol(c, raw_int(&class, end));
}

static void p06_methods_have_a_type_with_a_name(void **state)
{
	(void)state;
	check_each("jdk.types.Method", check_type);
}

static void check_frames(const struct raw_chunk *c, const uint8_t *at, const uint8_t *end)
{
	uint64_t count;

	at++;
	for (count = raw_int(&at, end); count; count--) {
		uint64_t method = raw_int(&at, end);

		assert_non_null(raw_entry(c, &metadata, "jdk.types.Method", method, NULL));
		raw_int(&at, end);
		raw_int(&at, end);
		assert_non_null(
			raw_entry(c, &metadata, "jdk.types.FrameType", raw_int(&at, end), NULL));
	}
}

static void p07_frames_refer_to_methods_of_their_chunk(void **state)
{
	struct recording r;
	struct weft_jfr_frame bad = {.method = 4711, .type = WEFT_JFR_FRAME_NATIVE};

	(void)state;
	check_each("jdk.types.StackTrace", check_frames);
	r = begin();
	assert_int_equal(weft_jfr_stack(r.w, &bad, 1, 0), 0);
	assert_int_equal(errno, EINVAL);
	bad.method = weft_jfr_method(r.w, "m", "f");
	bad.type = 6;
	assert_int_equal(weft_jfr_stack(r.w, &bad, 1, 0), 0);
	assert_int_equal(errno, EINVAL);
	assert_int_equal(weft_jfr_close(r.w), 0);
}

static void p08_events_have_no_array_fields(void **state)
{
	int events = 0;

	(void)state;
	record_five_chunks();
	raw_metadata(&file.chunks[4], &metadata);
	for (int i = 0; i < metadata.class_count; i++) {
		const struct raw_class *c = &metadata.classes[i];

		if (strcmp(c->super, "jdk.jfr.Event") != 0)
			continue;
		events++;
		for (int f = 0; f < c->field_count; f++)
			assert_int_equal(c->fields[f].array, 0);
	}
	assert_int_equal(events, 2);
}

/* Looks at the file as a reader would that comes at this moment. */
static void check_whole(const char *at)
{
	struct stat st;

	assert_int_equal(stat(at, &st), 0);
	if (!st.st_size)
		return;
	raw_load(&file, at);
	for (size_t i = 0; i < file.chunk_count; i++) {
		int entries = 0;

		assert_int_equal(file.chunks[i].state, 0);
		assert_int_equal(file.chunks[i].flags & 1, 1);
		raw_metadata(&file.chunks[i], &metadata);
		raw_pools(&file.chunks[i], &metadata, count_entry, &entries);
	}
	raw_free(&file);
}

static void p09_the_state_byte_is_zero_at_every_moment(void **state)
{
	struct recording r = begin();

	(void)state;
	for (int i = 0; i < 20; i++) {
		sample(&r, thread_id(&r, i), stack_id(&r, "f"));
		check_whole(path);
		if (i % 3 == 0)
			rotate(&r);
		check_whole(path);
	}
	assert_int_equal(weft_jfr_close(r.w), 0);
	raw_load(&file, path);
	assert_int_equal(file.chunk_count, 9);
	for (size_t i = 0; i < file.chunk_count; i++) {
		assert_int_equal(file.chunks[i].state, 0);
		assert_int_equal(file.chunks[i].flags, i == 8 ? 3 : 1); /* 2: the last one */
	}
}

static void check_fields(const char *class, const char *const *names)
{
	const struct raw_class *c = raw_class(&metadata, class);

	assert_non_null(c);
	for (int i = 0; i < c->field_count; i++) {
		assert_non_null(names[i]);
		assert_string_equal(c->fields[i].name, names[i]);
	}
	assert_null(names[c->field_count]);
}

static void p10_stack_frames_have_four_fields(void **state)
{
	(void)state;
	record_five_chunks();
	raw_metadata(&file.chunks[4], &metadata);
	check_fields("jdk.types.StackFrame",
		     (const char *const[]){"method", "lineNumber", "bytecodeIndex", "type", NULL});
	check_fields("jdk.types.StackTrace", (const char *const[]){"truncated", "frames", NULL});
	check_fields("jdk.types.Method", (const char *const[]){"type", "name", "descriptor",
							       "modifiers", "hidden", NULL});
	check_fields("java.lang.Thread",
		     (const char *const[]){"osName", "osThreadId", "javaName", "javaThreadId",
					   "group", "virtual", NULL});
}

static void p11_a_killed_writer_leaves_whole_chunks(void **state)
{
	int status;
	pid_t child;

	(void)state;
	child = fork();
	if (child == 0) {
		struct recording r = begin();

		for (int i = 0;; i++) {
			sample(&r, thread_id(&r, i), stack_id(&r, "f"));
			if (i == 50)
				weft_jfr_rotate(r.w, r.now, 1);
			if (i == 70)
				raise(SIGKILL);
		}
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	check_whole(path);
	raw_load(&file, path);
	assert_int_equal(file.chunk_count, 2);
}

static uint64_t size_of(const char *at)
{
	struct stat st;

	assert_int_equal(stat(at, &st), 0);
	return (uint64_t)st.st_size;
}

static void limit_file_size(rlim_t bytes)
{
	struct rlimit limit = {bytes, RLIM_INFINITY};

	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

static void p12_a_chunk_that_does_not_fit_is_cut_off(void **state)
{
	struct recording r = begin();
	struct weft_jfr_written written;
	uint64_t before;

	(void)state;
	signal(SIGXFSZ, SIG_IGN);
	sample(&r, thread_id(&r, 1), stack_id(&r, "f"));
	rotate(&r);
	before = size_of(path);
	limit_file_size(before + 1000); /* room for a part of the next one: a short write */
	sample(&r, thread_id(&r, 1), stack_id(&r, "f"));
	sample(&r, thread_id(&r, 2), stack_id(&r, "g"));
	assert_int_equal(weft_jfr_rotate(r.w, r.now, 1), -EFBIG);
	assert_int_equal(size_of(path), before);
	check_whole(path);
	limit_file_size(RLIM_INFINITY);
	sample(&r, thread_id(&r, 2), stack_id(&r, "g")); /* with all it refers to, again */
	rotate(&r);
	weft_jfr_written(r.w, &written);
	assert_int_equal(written.events, 2);
	assert_int_equal(written.events_lost, 2);
	assert_int_equal(written.bytes, size_of(path));
	assert_int_equal(weft_jfr_close(r.w), 0);
	raw_load(&file, path);
	raw_metadata(&file.chunks[2], &metadata);
	assert_non_null(raw_entry(&file.chunks[2], &metadata, "jdk.types.StackTrace", 2, NULL));
}

static void p13_no_chunk_is_ever_left_open(void **state)
{
	struct recording r = begin();

	(void)state;
	assert_int_equal(size_of(path), 0);
	sample(&r, thread_id(&r, 1), stack_id(&r, "f"));
	raw_load(&file, path); /* from the first event on it opens */
	assert_int_equal(file.chunk_count, 1);
	raw_metadata(&file.chunks[0], &metadata);
	assert_non_null(raw_class(&metadata, "test.Note"));
	raw_free(&file);
	for (int i = 0; i < 200; i++)
		sample(&r, thread_id(&r, i), stack_id(&r, "f"));
	raw_load(&file, path);
	assert_int_equal(file.chunk_count, 1);
	raw_free(&file);
	assert_int_equal(weft_jfr_close(r.w), 0);
	raw_load(&file, path);
	assert_int_equal(file.chunk_count, 2);
}

static void take_sample(void *arg, const struct raw_class *type, const uint8_t *fields,
			size_t bytes)
{
	(void)fields, (void)bytes;
	*(int *)arg += strcmp(type->name, "jdk.ExecutionSample") == 0;
}

static void p14_standard_samples_have_their_fields_only(void **state)
{
	struct recording r;
	struct weft_jfr_field more[5];
	struct weft_jfr_type_def def = {.name = "jdk.ExecutionSample", .fields = more};
	int samples = 0;

	(void)state;
	record_five_chunks();
	raw_metadata(&file.chunks[4], &metadata);
	check_fields("jdk.ExecutionSample", (const char *const[]){"startTime", "eventThread",
								  "stackTrace", "state", NULL});
	raw_events(&file.chunks[4], &metadata, take_sample, &samples);
	assert_int_equal(samples, 3);
	r = begin();
	memset(more, 0, sizeof(more));
	memcpy(more, note_fields, sizeof(note_fields));
	def.field_count = 3;
	assert_null(weft_jfr_type(r.w, &def));
	assert_int_equal(errno, EINVAL);
	assert_int_equal(weft_jfr_close(r.w), 0);
}

struct thread_keys {
	uint64_t key[64]; /* by osThreadId */
	int seen;
};

static void take_thread(void *arg, const struct raw_class *type, uint64_t key, const uint8_t *value,
			size_t bytes)
{
	struct thread_keys *t = arg;
	const uint8_t *at = value, *end = value + bytes;
	uint64_t tid;

	if (strcmp(type->name, "java.lang.Thread") != 0)
		return;
	assert_int_equal(*at++, 3);
	at += raw_int(&at, end);
	tid = raw_int(&at, end);
	assert_true(tid < 64);
	if (!t->key[tid])
		t->key[tid] = key;
	assert_int_equal(t->key[tid], key);
	t->seen++;
}

static void p15_a_thread_keeps_its_key(void **state)
{
	struct thread_keys keys = {0};
	struct recording r;
	struct weft_jfr_thread same = {.os_id = 11, .name = "worker"};
	uint64_t first, fresh;

	(void)state;
	record_five_chunks();
	for (size_t i = 0; i < file.chunk_count; i++) {
		raw_metadata(&file.chunks[i], &metadata);
		raw_pools(&file.chunks[i], &metadata, take_thread, &keys);
	}
	assert_int_equal(keys.seen, 5); /* 11 and 12; 21; 11 and 31 */
	r = begin();
	first = weft_jfr_thread(r.w, &same, 0);
	assert_int_equal(weft_jfr_thread(r.w, &same, 0), first);
	fresh = weft_jfr_thread(r.w, &same, 1);
	assert_int_not_equal(fresh, first);
	assert_int_equal(weft_jfr_thread(r.w, &same, 0), fresh);
	assert_int_equal(weft_jfr_close(r.w), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(p01_an_id_never_gets_a_second_value),
		TEST(p02_one_tick_base_for_all_chunks),
		TEST(p03_chunk_starts_increase),
		TEST(p04_no_pool_is_empty),
		TEST(p05_methods_have_a_descriptor),
		TEST(p06_methods_have_a_type_with_a_name),
		TEST(p07_frames_refer_to_methods_of_their_chunk),
		TEST(p08_events_have_no_array_fields),
		TEST(p09_the_state_byte_is_zero_at_every_moment),
		TEST(p10_stack_frames_have_four_fields),
		TEST(p11_a_killed_writer_leaves_whole_chunks),
		TEST(p12_a_chunk_that_does_not_fit_is_cut_off),
		TEST(p13_no_chunk_is_ever_left_open),
		TEST(p14_standard_samples_have_their_fields_only),
		TEST(p15_a_thread_keeps_its_key),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
