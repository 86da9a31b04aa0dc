/* SPDX-License-Identifier: Apache-2.0 */
/* Traces of JSON lines: what is written is read again; what is none is told by its line. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "export/export.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static char path[] = "/tmp/weft-jsonl-XXXXXX/trace.jsonl";

static int make_place(void **state)
{
	(void)state;
	path[strlen(path) - strlen("/trace.jsonl")] = 0;
	memcpy(strrchr(path, '-') + 1, "XXXXXX", 6);
	if (!mkdtemp(path))
		return -1;
	path[strlen(path)] = '/';
	return 0;
}

static int remove_place(void **state)
{
	char link[sizeof(path) + 8];

	(void)state;
	snprintf(link, sizeof(link), "%s.link", path);
	unlink(link);
	unlink(path);
	*strrchr(path, '/') = 0;
	rmdir(path);
	path[strlen(path)] = '/';
	return 0;
}

static struct export_job trace;

static int try_open(struct coro_sink o)
{
	trace = (struct export_job){.sink = o};
	export_trace(&trace, exporter_find("jsonl"));
	return trace.sink.ops->open(&trace.sink);
}

static struct coro_sink *open_sink(struct coro_sink o)
{
	o.path = path;
	assert_int_equal(try_open(o), 0);
	return &trace.sink;
}

static void put(struct coro_sink *sink, const struct coro_event *e)
{
	assert_int_equal(sink->ops->put(sink, e), 0);
}

static void finish(struct coro_sink *sink)
{
	struct coro_books books = {0};

	assert_int_equal(sink->ops->finish(sink, &books), 0);
	sink->ops->close(sink);
}

static void expect_refused(struct coro_sink o, int rc)
{
	assert_int_equal(try_open(o), rc);
	trace.sink.ops->close(&trace.sink);
}

static void expect_text(const char *expected)
{
	char text[2048] = "";
	FILE *f = fopen(path, "r");

	assert_non_null(f);
	text[fread(text, 1, sizeof(text) - 1, f)] = 0;
	fclose(f);
	assert_string_equal(text, expected);
}

static void write_text(const char *text, size_t bytes)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	assert_int_equal(fwrite(text, 1, bytes, f), bytes);
	assert_int_equal(fclose(f), 0);
}

static const struct coro_event plain = {
	.probe_id = UINT64_MAX, .tid = 7, .addr = 0xABC, .seq = 2, .is_active = 1, .ts = 99};

static void exactly_six_keys_in_order(void **state)
{
	struct coro_sink *sink = open_sink((struct coro_sink){0});
	struct coro_event e = plain;

	(void)state;
	e.known = CORO_KNOWS_IDENTITY | CORO_KNOWS_BIRTH | CORO_KNOWS_DEATH;
	put(sink, &e);
	e.is_active = 0;
	put(sink, &e);
	finish(sink);
	expect_text("{\"probe_id\":18446744073709551615,\"tid\":7,\"addr\":\"0x0000000000000abc\","
		    "\"seq\":2,\"is_active\":true,\"ts\":99}\n"
		    "{\"probe_id\":18446744073709551615,\"tid\":7,\"addr\":\"0x0000000000000abc\","
		    "\"seq\":2,\"is_active\":false,\"ts\":99}\n");
}

static void extended_comes_back(void **state)
{
	struct coro_sink *sink = open_sink((struct coro_sink){.extended = 1});
	struct coro_event e = plain, back;
	struct coro_input *in;

	(void)state;
	e.known = CORO_KNOWS_IDENTITY | CORO_KNOWS_BIRTH | CORO_KNOWS_DEATH | CORO_KNOWS_CONTEXT |
		  CORO_KNOWS_PAYLOAD;
	e.pid = 4, e.station = 5, e.generation = UINT32_MAX, e.birth_ts = 6;
	memset(e.context.trace_id, 0x1F, 16);
	memset(e.context.span_id, 0xA0, 8);
	e.context.valid = 1;
	e.context.trace_flags = 1;
	e.payload_bytes = WEFT_CTP_PAYLOAD_MAX;
	memset(e.payload, 0xC3, WEFT_CTP_PAYLOAD_MAX);
	put(sink, &e);
	finish(sink);
	assert_int_equal(coro_input_open(&in, path), 0);
	assert_int_equal(coro_input_next(in, &back), 1);
	assert_memory_equal(&back, &e, sizeof(e));
	assert_int_equal(coro_input_next(in, &back), 0);
	coro_input_close(in);
}

#define SIX "\"probe_id\":1,\"tid\":2,\"addr\":\"0x3\",\"seq\":4,\"is_active\":false,\"ts\":5"

static void unknown_keys_and_blank_lines_are_passed_over(void **state)
{
	static const char text[] = "\n  \n{\"x\":[{\"a\":[1,-2.5e3]},null,\"}\\\"\"]," SIX "}\r\n"
				   "\n{ " SIX " , \"y\" : {\"z\":{}} }";
	struct coro_input *in;
	struct coro_event e;

	(void)state;
	write_text(text, sizeof(text) - 1);
	assert_int_equal(coro_input_open(&in, path), 0);
	assert_int_equal(coro_input_next(in, &e), 1);
	assert_int_equal(e.addr, 3);
	assert_int_equal(coro_input_line(in), 3);
	assert_int_equal(coro_input_next(in, &e), 1);
	assert_int_equal(e.ts, 5);
	assert_int_equal(e.known, 0);
	assert_int_equal(coro_input_next(in, &e), 0);
	coro_input_close(in);
}

static void what_is_no_event_is_refused_by_its_line(void **state)
{
	static const char *const bad[] = {
		"1",
		"{}",
		"[]",
		"{" SIX,
		"{" SIX "} x",
		"{" SIX ",}",
		"{" SIX ",\"y\":{}",
		"{" SIX ",\"y\":[}",
		"{" SIX ",\"pid\":4294967296}",
		"{" SIX ",\"payload\":\"0\"}",
		"{" SIX ",\"context\":\"00-\"}",
		"{\"probe_id\":1}",
		"{\"probe_id\":18446744073709551616,\"tid\":2}",
		"{\"probe_id\":-1}",
		"{\"probe_id\":1.5}",
		"{\"addr\":\"3\"}",
		"{\"addr\":\"0x\"}",
		"{\"addr\":\"0x00000000000000001\"}",
		"{\"is_active\":1}",
		"{\"a",
		"{\"a\\",
		"{\"a\":\"\x01\"}",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct coro_input *in;
		struct coro_event e;
		char text[512];

		snprintf(text, sizeof(text), "{%s}\n%s\n", SIX, bad[i]);
		write_text(text, strlen(text));
		assert_int_equal(coro_input_open(&in, path), 0);
		assert_int_equal(coro_input_next(in, &e), 1);
		if (coro_input_next(in, &e) != -EBADMSG)
			fail_msg("taken: %s", bad[i]);
		assert_int_equal(coro_input_line(in), 2);
		assert_true(strlen(coro_input_why(in)) > 0);
		coro_input_close(in);
	}
}

static void a_line_too_long_is_refused(void **state)
{
	size_t bytes = 1024 * 1024 + 10;
	char *text = malloc(bytes);
	struct coro_input *in;
	struct coro_event e;

	(void)state;
	assert_non_null(text);
	memset(text, ' ', bytes);
	write_text(text, bytes);
	free(text);
	assert_int_equal(coro_input_open(&in, path), 0);
	assert_int_equal(coro_input_next(in, &e), -EBADMSG);
	coro_input_close(in);
}

static void nothing_in_the_way_is_overwritten(void **state)
{
	struct coro_sink o = {.path = path};
	char link[sizeof(path) + 8];

	(void)state;
	write_text("mine", 4);
	expect_refused(o, -EEXIST);
	expect_text("mine");
	snprintf(link, sizeof(link), "%s.link", path);
	assert_int_equal(symlink(path, link), 0);
	o.path = link;
	expect_refused(o, -EEXIST);
	o.replace = 1;
	expect_refused(o, -ELOOP);
	expect_text("mine");
}

static void append_adds_to_the_end(void **state)
{
	struct coro_sink *sink;

	(void)state;
	write_text("mine\n", 5);
	sink = open_sink((struct coro_sink){.append = 1});
	put(sink, &plain);
	finish(sink);
	expect_text("mine\n{\"probe_id\":18446744073709551615,\"tid\":7,\"addr\":"
		    "\"0x0000000000000abc\",\"seq\":2,\"is_active\":true,\"ts\":99}\n");
}

/* The limit of a file's size stands for a full disk. */
static void a_file_that_cannot_grow_ends_with_a_whole_line(void **state)
{
	struct rlimit old, small;
	struct coro_books books = {0};
	struct coro_sink *sink;
	struct coro_input *in;
	struct coro_event e;
	struct stat st;
	int rc = 0, events = 0;

	(void)state;
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
	small = (struct rlimit){1000001, old.rlim_max};
	sink = open_sink((struct coro_sink){0});
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	for (int i = 0; i < 100000 && !rc; i++)
		rc = sink->ops->put(sink, &plain);
	assert_int_equal(sink->ops->finish(sink, &books), -EFBIG);
	sink->ops->close(sink);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
	assert_int_equal(rc, -EFBIG);
	assert_int_equal(stat(path, &st), 0);
	assert_in_range(st.st_size, 900000, 1000001);
	assert_int_equal(coro_input_open(&in, path), 0);
	while ((rc = coro_input_next(in, &e)) == 1)
		events++;
	assert_int_equal(rc, 0);
	assert_true(events > 1000);
	coro_input_close(in);
}

int main(void)
{
#define CASE(f) cmocka_unit_test_setup_teardown(f, make_place, remove_place)
	const struct CMUnitTest tests[] = {
		CASE(exactly_six_keys_in_order),
		CASE(extended_comes_back),
		CASE(unknown_keys_and_blank_lines_are_passed_over),
		CASE(what_is_no_event_is_refused_by_its_line),
		CASE(a_line_too_long_is_refused),
		CASE(nothing_in_the_way_is_overwritten),
		CASE(append_adds_to_the_end),
		CASE(a_file_that_cannot_grow_ends_with_a_whole_line),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
