/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Limits of a recording (max_bytes, max_age_ns): what the file holds after every chunk, read by
 * the second opinion and by the reader. Events are numbered, so that a gap is seen; each refers to
 * a thread, a stack and a long text that earlier chunks had, too.
 */
#include "raw.h"

#include "jfr/write/writer.h"

#include <weft/jfr.h>

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define START_NS UINT64_C(5000000000)
#define SECOND_NS UINT64_C(1000000000)
#define TEXT_BYTES 200
#define KILLS 30

static char directory[64], path[96];

static int set_up(void **state)
{
	(void)state;
	snprintf(directory, sizeof(directory), "/tmp/weft-limits-XXXXXX");
	if (!mkdtemp(directory))
		return -1;
	snprintf(path, sizeof(path), "%s/a.jfr", directory);
	return 0;
}

static int tear_down(void **state)
{
	char command[128];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf %s", directory);
	return system(command);
}

/* ---- a recording of numbered events */

static const struct weft_jfr_field fields[] = {
	{"startTime", WEFT_JFR_LONG, WEFT_JFR_TIMESTAMP, "Start Time", NULL},
	{"eventThread", WEFT_JFR_THREAD, 0, "Thread", NULL},
	{"stackTrace", WEFT_JFR_STACK, 0, "Stack Trace", NULL},
	{"text", WEFT_JFR_STRING, 0, "Text", NULL},
	{"number", WEFT_JFR_LONG, 0, "Number", NULL},
};
static const struct weft_jfr_type_def def = {
	.name = "test.Numbered",
	.category = (const char *const[]){"Test", NULL},
	.fields = fields,
	.field_count = 5,
};

struct recording {
	struct weft_jfr_writer *w;
	struct weft_jfr_type *type;
	uint64_t thread[4], stack[4];
	uint64_t now_ns, number;
};

static struct recording begin(uint64_t max_bytes, uint64_t max_age_ns)
{
	struct weft_jfr_options o = {.size = sizeof(o),
				     .path = path,
				     .start_mono_ns = START_NS,
				     .max_bytes = max_bytes,
				     .max_age_ns = max_age_ns};
	struct recording r = {.w = weft_jfr_create(&o), .now_ns = START_NS};

	assert_non_null(r.w);
	r.type = weft_jfr_type(r.w, &def);
	for (int i = 0; i < 4; i++) {
		char name[16];
		struct weft_jfr_frame frame = {.type = WEFT_JFR_FRAME_NATIVE};

		snprintf(name, sizeof(name), "f%d", i);
		frame.method = weft_jfr_method(r.w, "libx.so", name);
		r.stack[i] = weft_jfr_stack(r.w, &frame, 1, 0);
		r.thread[i] = weft_jfr_thread(
			r.w, &(struct weft_jfr_thread){.os_id = i, .name = name, .group = "g [1]"},
			0);
	}
	return r;
}

static void put(struct recording *r, size_t count)
{
	char text[TEXT_BYTES];

	for (size_t i = 0; i < count; i++) {
		struct weft_jfr_value v[5] = {{.number = (int64_t)++r->now_ns}};

		memset(text, 'a' + (int)(r->number % 4), sizeof(text));
		v[1].number = (int64_t)r->thread[r->number % 4];
		v[2].number = (int64_t)r->stack[r->number % 4];
		v[3].string = (struct weft_jfr_string){text, sizeof(text)};
		v[4].number = (int64_t)r->number++;
		assert_int_equal(weft_jfr_event(r->w, r->type, v, 5), 0);
	}
}

static void end_chunk(struct recording *r, uint64_t after_ns)
{
	r->now_ns += after_ns;
	assert_int_equal(weft_jfr_rotate(r->w, r->now_ns, 1), 1);
}

/* ---- what the file holds */

struct held {
	uint64_t bytes, first, next, events;
	int64_t start_ns; /* of the first event */
	int end;          /* of the reader */
};

static void check_event(const struct weft_jfr_event_view *e, uint64_t number)
{
	const struct weft_jfr_node *thread = weft_jfr_event_get(e, "eventThread");
	const struct weft_jfr_node *stack = weft_jfr_event_get(e, "stackTrace");
	const struct weft_jfr_node *text = weft_jfr_event_get(e, "text"), *frame;
	char name[16];

	snprintf(name, sizeof(name), "f%d", (int)(number % 4));
	assert_int_equal(thread->shape, WEFT_JFR_V_STRUCT);
	assert_memory_equal(weft_jfr_get(thread, "osName")->string.data, name, 2);
	assert_int_equal(weft_jfr_get(thread, "group")->shape, WEFT_JFR_V_STRUCT);
	assert_int_equal(stack->shape, WEFT_JFR_V_STRUCT);
	frame = &weft_jfr_get(stack, "frames")->many.item[0];
	assert_memory_equal(weft_jfr_get(weft_jfr_get(frame, "method"), "name")->string.data, name,
			    2);
	assert_int_equal(text->shape, WEFT_JFR_V_STRING);
	assert_int_equal(text->string.bytes, TEXT_BYTES);
	assert_int_equal(text->string.data[7], 'a' + (int)(number % 4));
}

/* Numbers without a gap, each with all that it refers to. */
static struct held look(void)
{
	struct weft_jfr_reader *r = weft_jfr_open(path);
	struct weft_jfr_event_view e;
	struct held h = {0};
	struct stat st;

	assert_non_null(r);
	while ((h.end = weft_jfr_next(r, &e)) == 1) {
		uint64_t number = (uint64_t)weft_jfr_event_get(&e, "number")->number;

		if (h.events++ == 0) {
			h.first = h.next = number;
			h.start_ns = e.start_ns;
		}
		assert_int_equal(number, h.next);
		h.next++;
		check_event(&e, number);
	}
	weft_jfr_reader_free(r);
	assert_int_equal(stat(path, &st), 0);
	h.bytes = (uint64_t)st.st_size;
	return h;
}

static void check_whole(const struct recording *r, const struct held *h)
{
	struct weft_jfr_written written;
	static struct raw_file raw;

	weft_jfr_written(r->w, &written);
	assert_int_equal(h->end, 0);
	assert_int_equal(h->next, r->number);
	assert_int_equal(h->events, written.events - written.dropped_events);
	assert_int_equal(h->bytes, written.bytes - written.dropped_bytes);
	assert_int_equal(written.limit_error, 0);
	raw_load(&raw, path);
	assert_int_equal(raw.chunk_count, written.chunks - written.dropped_chunks);
	raw_free(&raw);
}

/* ---- tests */

static void test_size(void **state)
{
	const uint64_t max = 200000;
	struct recording r = begin(max, 0);
	uint64_t largest = 0, before = 0;
	int reached = 0;

	(void)state;
	srand(1);
	for (int i = 0; i < 300; i++) {
		struct held h;

		put(&r, 100 + (size_t)rand() % 600);
		end_chunk(&r, SECOND_NS);
		h = look();
		check_whole(&r, &h);
		assert_true(h.bytes <= max);
		if (h.bytes > before && h.bytes - before > largest)
			largest = h.bytes - before;
		reached |= h.first != 0;
		if (reached)
			assert_true(h.bytes + 2 * largest >= max - max / 4);
		before = h.bytes;
	}
	assert_true(reached);
	put(&r, 10);
	assert_int_equal(weft_jfr_end(r.w), 0);
	struct held h = look();
	check_whole(&r, &h);
	assert_true(h.bytes <= max);
	assert_int_equal(weft_jfr_close(r.w), 0);
}

static void test_age(void **state)
{
	struct recording r = begin(0, 20 * SECOND_NS);
	uint64_t most = 0;
	struct held h;

	(void)state;
	for (int i = 0; i < 100; i++) {
		put(&r, 100);
		end_chunk(&r, SECOND_NS);
		h = look();
		check_whole(&r, &h);
		/* what is younger than that is there, and a third of it at most that is not */
		if (i >= 21)
			assert_true(h.events >= 2000);
		most = h.events > most ? h.events : most;
	}
	assert_true(most <= 100 * (20 + 20 / 3 + 2));
	put(&r, 1);
	assert_int_equal(weft_jfr_end(r.w), 0);
	h = look();
	check_whole(&r, &h);
	/* nothing of chunks that ended longer ago */
	assert_true(h.events >= 2000 && h.events <= 2101);
	assert_int_equal(weft_jfr_close(r.w), 0);
}

static void test_one_chunk_larger_than_the_limit(void **state)
{
	struct recording r = begin(20000, 0);
	struct held h;

	(void)state;
	put(&r, 10);
	end_chunk(&r, 1);
	put(&r, 5000);
	end_chunk(&r, 1);
	h = look();
	assert_int_equal(h.end, 0);
	assert_int_equal(h.first, 10);
	assert_int_equal(h.events, 5000);
	put(&r, 10);
	end_chunk(&r, 1);
	h = look();
	assert_int_equal(h.first, 5010);
	assert_int_equal(h.events, 10);
	assert_int_equal(weft_jfr_close(r.w), 0);
}

/* Nothing is left beside it. */
static void test_alone(void **state)
{
	struct recording r = begin(50000, 0);
	char command[256];
	struct stat st;

	(void)state;
	for (int i = 0; i < 50; i++) {
		put(&r, 200);
		end_chunk(&r, 1);
	}
	assert_int_equal(weft_jfr_close(r.w), 0);
	assert_int_equal(lstat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	assert_true(st.st_size <= 50000);
	struct held h = look();

	assert_int_equal(h.next, 50 * 200);
	snprintf(command, sizeof(command), "[ $(ls -A %s | wc -l) = 1 ]", directory);
	assert_int_equal(system(command), 0);
}

/* A file that took the name of the first one is being written, too. */
static void test_second_writer(void **state)
{
	struct weft_jfr_options again = {.size = sizeof(again), .path = path};
	struct recording r = begin(50000, 0);

	(void)state;
	errno = 0;
	assert_null(weft_jfr_create(&again));
	assert_int_equal(errno, EBUSY);
	for (int i = 0; i < 50; i++) {
		put(&r, 200);
		end_chunk(&r, 1);
	}
	assert_null(weft_jfr_create(&again));
	assert_int_equal(errno, EBUSY);
	assert_int_equal(weft_jfr_close(r.w), 0);
	struct held h = look();

	assert_int_equal(h.next, 50 * 200);
}

/* A link is not followed, and the file behind it stays. */
static void test_link(void **state)
{
	struct weft_jfr_options o = {.size = sizeof(o), .path = path};
	char target[128];
	struct stat st;

	(void)state;
	snprintf(target, sizeof(target), "%s/target.jfr", directory);
	close(creat(target, 0640));
	assert_int_equal(symlink(target, path), 0);
	errno = 0;
	assert_null(weft_jfr_create(&o));
	assert_int_equal(errno, ELOOP);
	assert_int_equal(lstat(path, &st), 0);
	assert_true(S_ISLNK(st.st_mode));
	assert_int_equal(stat(target, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0640);
}

/* Somebody else's file under the name is let be; the recording loses nothing. */
static void test_name_taken(void **state)
{
	struct recording r = begin(50000, 0);
	struct weft_jfr_written written;
	char away[128];
	struct stat st;

	(void)state;
	put(&r, 200);
	end_chunk(&r, 1);
	snprintf(away, sizeof(away), "%s/away.jfr", directory);
	assert_int_equal(rename(path, away), 0);
	close(creat(path, 0600));
	for (int i = 0; i < 50; i++) {
		put(&r, 200);
		end_chunk(&r, 1);
	}
	weft_jfr_written(r.w, &written);
	assert_int_equal(written.limit_error, -ESTALE);
	assert_int_equal(written.dropped_chunks, 0);
	assert_int_equal(weft_jfr_close(r.w), -ESTALE);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_size, 0);
	assert_int_equal(rename(away, path), 0);
	struct held h = look();

	assert_int_equal(h.first, 0);
	assert_int_equal(h.next, 51 * 200);
}

static void test_no_regular_file(void **state)
{
	struct weft_jfr_options o = {.size = sizeof(o), .path = "/dev/null", .max_bytes = 100000};

	(void)state;
	errno = 0;
	assert_null(weft_jfr_create(&o));
	assert_int_equal(errno, ESPIPE);
}

/* The file is somebody's who wrote to it before us: it is not replaced. */
static void test_descriptor(void **state)
{
	struct weft_jfr_options o = {.size = sizeof(o), .max_bytes = 100000};
	struct stat before, after;
	char name[32];
	int fd = creat(path, 0600);

	(void)state;
	assert_int_equal(write(fd, "before", 6), 6);
	assert_int_equal(fstat(fd, &before), 0);
	snprintf(name, sizeof(name), "/dev/fd/%d", fd);
	o.path = name;
	errno = 0;
	assert_null(weft_jfr_create(&o));
	assert_int_equal(errno, ESPIPE);
	assert_int_equal(stat(path, &after), 0);
	assert_int_equal(after.st_ino, before.st_ino);
	assert_int_equal(after.st_size, 6);
	close(fd);
}

/* Who was built before there were limits passes less. */
static void test_older_options(void **state)
{
	struct weft_jfr_options o = {
		.size = offsetof(struct weft_jfr_options, max_bytes), .path = path, .max_bytes = 1};
	struct weft_jfr_writer *w = weft_jfr_create(&o);

	(void)state;
	assert_non_null(w);
	assert_int_equal(weft_jfr_close(w), 0);
	o.size--;
	assert_null(weft_jfr_create(&o));
	assert_int_equal(errno, EINVAL);
}

static void write_for_ever(void)
{
	struct recording r = begin(60000, 0);

	for (;;) {
		put(&r, 200);
		end_chunk(&r, 1);
	}
}

/* While it is written, and after a kill at any moment: what is whole is read, without a gap, and
 * there is something. But for a part of a chunk behind it that was just being appended. */
static void check_now(int *cut)
{
	struct held h = look();

	assert_true(h.end == 0 || h.end == -EBADMSG);
	assert_true(h.events >= 200);
	assert_true(h.bytes <= 60000);
	*cut += h.end != 0;
}

static void test_kills(void **state)
{
	int cut = 0;

	(void)state;
	for (int i = 0; i < KILLS; i++) {
		pid_t child = fork();
		struct stat st;
		int status;

		if (child == 0)
			write_for_ever();
		/* a file that has had time to be replaced */
		while (stat(path, &st) != 0 || st.st_size < 45000)
			usleep(100);
		usleep((useconds_t)(rand() % 3000));
		for (int k = 0; k < 5; k++)
			check_now(&cut);
		kill(child, SIGKILL);
		assert_int_equal(waitpid(child, &status, 0), child);
		check_now(&cut);
		assert_int_equal(unlink(path), 0);
	}
	print_message("%d of %d looks saw a part of a chunk\n", cut, KILLS * 6);
}

/* ---- the plan alone */

static void test_plan(void **state)
{
	struct retention r = {.max_bytes = 100, .max_age_ns = 10};
	struct retained_chunk one = {10, 1, 0};

	(void)state;
	for (uint64_t i = 1; i <= 9; i++) {
		one.end_ns = i;
		assert_int_equal(retention_plan(&r, &one, 0), 0);
		assert_int_equal(retention_reserve(&r), 0);
		retention_add(&r, &one);
	}
	assert_int_equal(retention_plan(&r, &(struct retained_chunk){10, 1, 10}, 0), 0);
	/* 101 bytes: down to 75 */
	assert_int_equal(retention_plan(&r, &(struct retained_chunk){11, 1, 10}, 0), 3);
	assert_int_equal(retention_plan(&r, &(struct retained_chunk){200, 1, 10}, 0), 9);
	/* those that ended before 3 are 2 of 10: not worth a copy, but at the end */
	assert_int_equal(retention_plan(&r, &(struct retained_chunk){10, 1, 13}, 0), 0);
	assert_int_equal(retention_plan(&r, &(struct retained_chunk){10, 1, 13}, 1), 2);
	assert_int_equal(retention_plan(&r, &(struct retained_chunk){10, 1, 15}, 0), 4);
	assert_int_equal(retention_sum(&r, 4).bytes, 40);
	assert_int_equal(retention_sum(&r, 4).events, 4);
	retention_drop(&r, 4);
	assert_int_equal(retention_sum(&r, 1).end_ns, 5);
	assert_int_equal(r.count - r.first, 5);
	retention_drop(&r, 5);
	assert_int_equal(r.count - r.first, 0);
	retention_free(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_plan),
		cmocka_unit_test_setup_teardown(test_size, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_age, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_one_chunk_larger_than_the_limit, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_alone, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_second_writer, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_link, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_name_taken, set_up, tear_down),
		cmocka_unit_test(test_no_regular_file),
		cmocka_unit_test_setup_teardown(test_descriptor, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_older_options, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_kills, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
