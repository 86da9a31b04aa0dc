/* SPDX-License-Identifier: Apache-2.0 */
/* Methods with source files; stacks and threads that are forgotten between chunks. */
#include <weft/jfr.h>

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define START_NS UINT64_C(5000000000)

static char path[] = "/tmp/weft-test-methods-XXXXXX";

static struct weft_jfr_writer *create(void)
{
	struct weft_jfr_options o = {
		.size = sizeof(o), .path = path, .start_mono_ns = START_NS, .start_real_ns = 1};
	struct weft_jfr_writer *w = weft_jfr_create(&o);

	assert_non_null(w);
	return w;
}

static uint64_t one_frame(struct weft_jfr_writer *w, const char *source)
{
	struct weft_jfr_frame frame = {.method = weft_jfr_method_in(w, "m", "f", source),
				       .line = 3,
				       .bytecode_index = INT32_MAX,
				       .type = WEFT_JFR_FRAME_INLINED};

	return weft_jfr_stack(w, &frame, 1, 0);
}

static int put(struct weft_jfr_writer *w, uint64_t stack)
{
	struct weft_jfr_type *sample = weft_jfr_standard_type(w, WEFT_JFR_EXECUTION_SAMPLE);
	struct weft_jfr_value v[4] = {{.number = START_NS}};

	v[2].number = (int64_t)stack;
	return weft_jfr_event(w, sample, v, 4);
}

static const struct weft_jfr_node *frame_of(const struct weft_jfr_event_view *e)
{
	const struct weft_jfr_node *stack = weft_jfr_event_get(e, "stackTrace");

	assert_int_equal(stack->shape, WEFT_JFR_V_STRUCT);
	return &weft_jfr_get(stack, "frames")->many.item[0];
}

static void check_descriptor(const struct weft_jfr_node *frame, const char *expected)
{
	const struct weft_jfr_node *n = weft_jfr_get(weft_jfr_get(frame, "method"), "descriptor");
	char text[80];

	while (n->shape == WEFT_JFR_V_STRUCT)
		n = n->many.item;
	assert_int_equal(n->shape, WEFT_JFR_V_STRING);
	snprintf(text, sizeof(text), "%.*s", (int)n->string.bytes, n->string.data);
	assert_string_equal(text, expected);
}

static void the_file_stands_in_the_descriptor(void **state)
{
	static const struct {
		const char *source, *descriptor;
	} cases[] = {
		{NULL, "()V"},
		{"", "()V"},
		{"/src/a.c", "()L/src/a.c;"},
		{"rel/a.c", "()L./rel/a.c;"},
		{"./a.c", "()L./a.c;"},
		{"/odd (1);100%[\n.c", "()L/odd %281%29%3B100%25%5B%0A.c;"},
	};
	struct weft_jfr_writer *w = create();
	struct weft_jfr_event_view e;
	struct weft_jfr_reader *r;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_int_equal(put(w, one_frame(w, cases[i].source)), 0);
	assert_int_equal(weft_jfr_close(w), 0);
	r = weft_jfr_open(path);
	assert_non_null(r);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(weft_jfr_next(r, &e), 1);
		check_descriptor(frame_of(&e), cases[i].descriptor);
		assert_int_equal(weft_jfr_get(frame_of(&e), "lineNumber")->number, 3);
		assert_int_equal(weft_jfr_get(frame_of(&e), "bytecodeIndex")->number, INT32_MAX);
	}
	assert_int_equal(weft_jfr_next(r, &e), 0);
	weft_jfr_reader_free(r);
}

static void functions_of_one_name_in_two_files_are_two(void **state)
{
	struct weft_jfr_writer *w = create();
	uint64_t a = weft_jfr_method_in(w, "m", "f", "/a.c");

	(void)state;
	assert_int_not_equal(a, 0);
	assert_int_equal(weft_jfr_method_in(w, "m", "f", "/a.c"), a);
	assert_int_not_equal(weft_jfr_method_in(w, "m", "f", "/b.c"), a);
	assert_int_not_equal(weft_jfr_method(w, "m", "f"), a);
	assert_int_equal(weft_jfr_method_in(w, "m", "f", NULL), weft_jfr_method(w, "m", "f"));
	assert_int_equal(weft_jfr_close(w), 0);
}

static void forgotten_stacks_get_other_ids(void **state)
{
	struct weft_jfr_writer *w = create();
	uint64_t first = one_frame(w, "/a.c");

	(void)state;
	assert_int_equal(one_frame(w, "/a.c"), first);
	assert_int_equal(put(w, first), 0);
	assert_int_equal(weft_jfr_forget_stacks(w), -EBUSY);
	assert_int_equal(put(w, first), 0);
	assert_int_equal(weft_jfr_rotate(w, START_NS + 1, 1), 1);
	assert_int_equal(weft_jfr_forget_stacks(w), 0);
	assert_int_equal(put(w, first), -EINVAL);
	assert_int_not_equal(one_frame(w, "/a.c"), first);
	assert_int_equal(put(w, one_frame(w, "/a.c")), 0);
	assert_int_equal(weft_jfr_close(w), 0);
}

static uint64_t thread_of_group(struct weft_jfr_writer *w, int number, const char *group)
{
	struct weft_jfr_thread thread = {.os_id = number, .name = "worker", .group = group};

	return weft_jfr_thread(w, &thread, 1);
}

static int put_thread(struct weft_jfr_writer *w, uint64_t thread)
{
	struct weft_jfr_type *sample = weft_jfr_standard_type(w, WEFT_JFR_EXECUTION_SAMPLE);
	struct weft_jfr_value v[4] = {{.number = START_NS}, {.number = (int64_t)thread}};

	return weft_jfr_event(w, sample, v, 4);
}

static void check_thread(struct weft_jfr_reader *r, int64_t number, const char *group)
{
	struct weft_jfr_event_view e;
	const struct weft_jfr_node *thread, *name;

	assert_int_equal(weft_jfr_next(r, &e), 1);
	thread = weft_jfr_event_get(&e, "eventThread");
	assert_int_equal(weft_jfr_get(thread, "osThreadId")->number, number);
	name = weft_jfr_get(weft_jfr_get(thread, "group"), "name");
	assert_int_equal(name->string.bytes, strlen(group));
	assert_memory_equal(name->string.data, group, strlen(group));
}

static void threads_that_are_kept_have_their_ids(void **state)
{
	struct weft_jfr_writer *w = create();
	uint64_t a = thread_of_group(w, 1, "one"), b = thread_of_group(w, 2, "two");
	uint64_t c = thread_of_group(w, 3, "two"), d, keep[] = {99, c, a, c};
	struct weft_jfr_reader *r;

	(void)state;
	assert_int_equal(put_thread(w, b), 0);
	assert_int_equal(weft_jfr_keep_threads(w, keep, 4), -EBUSY);
	assert_int_equal(weft_jfr_rotate(w, START_NS + 1, 1), 1);
	assert_int_equal(weft_jfr_keep_threads(w, keep, 4), 0);
	assert_int_equal(put_thread(w, b), -EINVAL);
	d = thread_of_group(w, 4, "three");
	assert_true(d > c);
	assert_int_equal(put_thread(w, d), 0);
	assert_int_equal(put_thread(w, c), 0);
	assert_int_equal(weft_jfr_rotate(w, START_NS + 2, 1), 1);
	keep[0] = d;
	assert_int_equal(weft_jfr_keep_threads(w, keep, 3), 0);
	assert_int_equal(put_thread(w, a), 0);
	assert_int_equal(put_thread(w, d), 0);
	assert_int_equal(put_thread(w, d + 1), -EINVAL);
	assert_int_equal(put_thread(w, UINT64_MAX), -EINVAL);
	assert_int_equal(weft_jfr_rotate(w, START_NS + 3, 1), 1);
	assert_int_equal(weft_jfr_keep_threads(w, NULL, 0), 0);
	assert_int_equal(put_thread(w, d), -EINVAL);
	assert_int_equal(weft_jfr_close(w), 0);
	r = weft_jfr_open(path);
	assert_non_null(r);
	check_thread(r, 2, "two");
	check_thread(r, 4, "three");
	check_thread(r, 3, "two");
	check_thread(r, 1, "one");
	check_thread(r, 4, "three");
	weft_jfr_reader_free(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_file_stands_in_the_descriptor),
		cmocka_unit_test(functions_of_one_name_in_two_files_are_two),
		cmocka_unit_test(forgotten_stacks_get_other_ids),
		cmocka_unit_test(threads_that_are_kept_have_their_ids),
	};
	int rc;

	close(mkstemp(path));
	rc = cmocka_run_group_tests(tests, NULL, NULL);
	unlink(path);
	return rc;
}
