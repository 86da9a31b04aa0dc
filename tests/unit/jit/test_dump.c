/* SPDX-License-Identifier: Apache-2.0 */
/* A jitdump of either byte order, while it grows, and with every kind of lie. */
#include "dump.h"
#include "elf/names/jit_dump.h"
#include "jit_test.h"

#include <errno.h>
#include <stdlib.h>

#define PID 77

struct scene {
	size_t budget;
	struct jit_code *code;
	struct jit_dump reader;
	struct dump d;
	int fd;
};

static int set_up(void **state)
{
	struct scene *s = calloc(1, sizeof(*s));

	s->budget = 64 << 20;
	s->code = jit_code_new(&s->budget);
	s->fd = new_file();
	*state = s;
	return s->code == NULL;
}

static int tear_down(void **state)
{
	struct scene *s = *state;

	jit_code_free(s->code);
	buf_free(&s->d.b);
	close(s->fd);
	free(s);
	return 0;
}

/* Appends what was written since the last time, and looks. */
static int64_t tell(struct scene *s)
{
	append(s->fd, s->d.b.data, s->d.b.size);
	buf_clear(&s->d.b);
	return jit_dump_read(&s->reader, s->fd, PID, 5, EVERYTHING, s->code);
}

static void names_at_their_times(struct scene *s)
{
	dump_header(&s->d, PID, 0);
	dump_load(&s->d, 100, PID, 0x1000, 0x100, "first");
	dump_load(&s->d, 200, PID, 0x1000, 0x80, "second");
	dump_move(&s->d, 300, PID, 0x1000, 0x5000, 0x80);
	dump_load(&s->d, 400, PID, 0x1000, 0x10, "third");
	assert_true(tell(s) > 0);
	assert_string_equal(name_at(s->code, 0x1004, 150), "first");
	assert_string_equal(name_at(s->code, 0x1004, 250), "second");
	assert_string_equal(name_at(s->code, 0x1004, 500), "third");
	assert_string_equal(name_at(s->code, 0x507f, 300), "second");
	assert_string_equal(name_at(s->code, 0x5080, 300), "");
	assert_int_equal(jit_dump_read(&s->reader, s->fd, PID, 5, EVERYTHING, s->code), 0);
}

static void in_our_byte_order(void **state)
{
	names_at_their_times(*state);
}

static void in_the_other_byte_order(void **state)
{
	struct scene *s = *state;

	s->d.swapped = 1;
	names_at_their_times(s);
}

static void lines_of_a_function(void **state)
{
	struct scene *s = *state;

	dump_header(&s->d, PID, 0);
	dump_lines(&s->d, 90, 0x1000, 3);
	dump_line(&s->d, 0x1000, 10, "/srv/a.js");
	dump_line(&s->d, 0x1040, 11, "\xff");
	dump_line(&s->d, 0x1080, 3, "/srv/b.js");
	dump_end(&s->d);
	dump_load(&s->d, 100, PID, 0x1000, 0x100, "f");
	dump_load(&s->d, 110, PID, 0x2000, 0x100, "without lines");
	tell(s);
	assert_string_equal(line_of(s->code, 0x103f, 200), "/srv/a.js:10");
	assert_string_equal(line_of(s->code, 0x1040, 200), "/srv/a.js:11");
	assert_string_equal(line_of(s->code, 0x10ff, 200), "/srv/b.js:3");
	assert_string_equal(line_of(s->code, 0x2000, 200), "");
}

/* V8's count from 64 bytes before the code. */
static void lines_that_count_from_elsewhere(void **state)
{
	struct scene *s = *state;

	dump_header(&s->d, PID, 0);
	dump_lines(&s->d, 90, 0x1000, 2);
	dump_line(&s->d, 0x1040, 10, "a.js");
	dump_line(&s->d, 0x1060, 11, "a.js");
	dump_end(&s->d);
	dump_load(&s->d, 100, PID, 0x1000, 0x100, "f");
	tell(s);
	assert_string_equal(line_of(s->code, 0x1000, 200), "a.js:10");
	assert_string_equal(line_of(s->code, 0x1020, 200), "a.js:11");
}

static void lines_of_something_else(void **state)
{
	struct scene *s = *state;

	dump_header(&s->d, PID, 0);
	dump_lines(&s->d, 90, 0x9000, 1);
	dump_line(&s->d, 0x9000, 10, "a.js");
	dump_end(&s->d);
	dump_load(&s->d, 100, PID, 0x1000, 0x100, "f");
	dump_lines(&s->d, 110, 0x3000, UINT64_MAX);
	dump_line(&s->d, 0x3000, 1, "a.js");
	dump_line(&s->d, 0x2fff, 2, "a.js");
	dump_line(&s->d, 0x3020, 3, "a.js");
	dump_end(&s->d);
	dump_load(&s->d, 120, PID, 0x3000, 0x100, "g");
	/* The first line repeats the file of none. */
	dump_lines(&s->d, 130, 0x4000, 1);
	dump_line(&s->d, 0x4000, 1, "\xff");
	dump_end(&s->d);
	dump_load(&s->d, 140, PID, 0x4000, 0x100, "h");
	/* A file without its end. */
	dump_lines(&s->d, 150, 0x5000, 1);
	dump_line(&s->d, 0x5000, 1, "cut");
	s->d.b.size--;
	dump_end(&s->d);
	dump_load(&s->d, 160, PID, 0x5000, 0x100, "i");
	tell(s);
	assert_int_equal(jit_code_count(s->code), 4);
	assert_string_equal(line_of(s->code, 0x1000, 500), "");
	assert_string_equal(line_of(s->code, 0x3030, 500), "a.js:1");
	assert_string_equal(line_of(s->code, 0x4000, 500), "");
	assert_string_equal(line_of(s->code, 0x5000, 500), "");
}

/* Names that are no text, as V8 writes them out of memory that it has given back. */
static void files_that_are_noise(void **state)
{
	struct scene *s = *state;
	static const char *const noise[] = {"_\xef\x02", "\xb0\x1b\x7f", "a\x1b[31m",
					    "\xff\xfe",  "\xc3",         ""};

	dump_header(&s->d, PID, 0);
	for (uint64_t i = 0; i < sizeof(noise) / sizeof(*noise); i++) {
		uint64_t at = 0x1000 * (i + 1);

		dump_lines(&s->d, 90, at, 4);
		dump_line(&s->d, at, 10, "/srv/\xc3\xa4.js");
		dump_line(&s->d, at + 0x10, 11, noise[i]);
		dump_line(&s->d, at + 0x20, 12, "\xff");
		dump_line(&s->d, at + 0x30, 13, "b.js");
		dump_end(&s->d);
		dump_load(&s->d, 100, PID, at, 0x100, "f");
	}
	tell(s);
	for (uint64_t at = 0x1000; at <= 0x6000; at += 0x1000) {
		assert_string_equal(line_of(s->code, at, 200), "/srv/\xc3\xa4.js:10");
		assert_string_equal(line_of(s->code, at + 0x1f, 200), "");
		assert_string_equal(line_of(s->code, at + 0x20, 200), "");
		assert_string_equal(line_of(s->code, at + 0x30, 200), "b.js:13");
	}
}

static void half_a_record_waits(void **state)
{
	struct scene *s = *state;
	struct buf whole = {0};

	dump_header(&s->d, PID, 0);
	dump_load(&s->d, 100, PID, 0x1000, 0x100, "a function with a name");
	whole = s->d.b;
	s->d.b = (struct buf){0};
	for (size_t i = 0; i < whole.size; i++) {
		assert_int_equal(jit_code_count(s->code), 0);
		append(s->fd, whole.data + i, 1);
		assert_true(jit_dump_read(&s->reader, s->fd, PID, 0, EVERYTHING, s->code) >= 0);
	}
	assert_string_equal(name_at(s->code, 0x1000, 100), "a function with a name");
	buf_free(&whole);
}

static void foreign_clock(void **state)
{
	struct scene *s = *state;

	dump_header(&s->d, PID, 1);
	dump_load(&s->d, 1000000, PID, 0x1000, 0x100, "a");
	tell(s);
	dump_load(&s->d, 900000, PID, 0x1000, 0x100, "b");
	append(s->fd, s->d.b.data, s->d.b.size);
	jit_dump_read(&s->reader, s->fd, PID, 50, EVERYTHING, s->code);
	assert_string_equal(name_at(s->code, 0x1000, 49), "a");
	assert_string_equal(name_at(s->code, 0x1000, 50), "b");
}

static void not_a_jitdump(void **state)
{
	struct scene *s = *state;
	char zeros[64] = {0};

	append(s->fd, zeros, sizeof(zeros));
	assert_int_equal(tell(s), -ENOEXEC);
}

static void another_version(void **state)
{
	struct scene *s = *state;

	dump_header(&s->d, PID, 0);
	s->d.b.data[4] = 2;
	assert_int_equal(tell(s), -ENOEXEC);
}

static void of_another_process(void **state)
{
	struct scene *s = *state;

	dump_header(&s->d, PID + 1, 0);
	dump_load(&s->d, 100, PID, 0x1000, 0x100, "a");
	assert_int_equal(tell(s), -ESRCH);
	assert_int_equal(jit_code_count(s->code), 0);
}

static void records_of_another_process(void **state)
{
	struct scene *s = *state;

	dump_header(&s->d, PID, 0);
	dump_load(&s->d, 100, PID + 1, 0x1000, 0x100, "a");
	dump_load(&s->d, 100, PID, 0x2000, 0x100, "b");
	dump_move(&s->d, 200, PID + 1, 0x2000, 0x3000, 0x100);
	tell(s);
	assert_int_equal(jit_code_count(s->code), 1);
	assert_string_equal(name_at(s->code, 0x2000, 300), "b");
}

static void unknown_and_short_records(void **state)
{
	struct scene *s = *state;

	dump_header(&s->d, PID, 0);
	for (uint32_t id = 0; id < 8; id++) {
		if (id == 3)
			continue;
		dump_begin(&s->d, id, 100);
		dump_end(&s->d);
	}
	dump_load(&s->d, 100, PID, 0x1000, 0x100, "");
	dump_load(&s->d, 100, PID, 0x2000, 0x100, "b");
	tell(s);
	assert_int_equal(jit_code_count(s->code), 1);
	assert_string_equal(name_at(s->code, 0x2000, 300), "b");
}

static void a_record_shorter_than_its_head(void **state)
{
	struct scene *s = *state;

	dump_header(&s->d, PID, 0);
	dump_load(&s->d, 100, PID, 0x1000, 0x100, "a");
	dump_begin(&s->d, 0, 100);
	dump_int(&s->d, 0, 8);
	assert_int_equal(tell(s), -ENOEXEC);
	assert_string_equal(name_at(s->code, 0x1000, 300), "a");
}

static void a_record_longer_than_the_file(void **state)
{
	struct scene *s = *state;
	uint32_t lie = UINT32_MAX;

	dump_header(&s->d, PID, 0);
	dump_load(&s->d, 100, PID, 0x1000, 0x100, "a");
	memcpy(s->d.b.data + s->d.record + 4, &lie, sizeof(lie));
	assert_int_equal(tell(s), 0);
	assert_int_equal(jit_code_count(s->code), 0);
}

static void nothing_after_its_end(void **state)
{
	struct scene *s = *state;

	dump_header(&s->d, PID, 0);
	dump_load(&s->d, 100, PID, 0x1000, 0x100, "a");
	dump_begin(&s->d, 3, 100);
	dump_end(&s->d);
	dump_load(&s->d, 100, PID, 0x2000, 0x100, "b");
	tell(s);
	tell(s);
	assert_int_equal(jit_code_count(s->code), 1);
}

static void written_anew(void **state)
{
	struct scene *s = *state;

	dump_header(&s->d, PID, 0);
	dump_load(&s->d, 100, PID, 0x1000, 0x100, "a");
	tell(s);
	assert_int_equal(ftruncate(s->fd, 10), 0);
	assert_int_equal(tell(s), -ENOEXEC);
}

static void in_portions(void **state)
{
	struct scene *s = *state;
	int looks = 0;

	dump_header(&s->d, PID, 0);
	for (uint64_t i = 0; i < 1000; i++)
		dump_load(&s->d, 100, PID, 0x1000 + i * 16, 16, "f");
	append(s->fd, s->d.b.data, s->d.b.size);
	while (jit_dump_read(&s->reader, s->fd, PID, 0, 1000, s->code) > 0)
		looks++;
	assert_true(looks > 10);
	assert_int_equal(jit_code_count(s->code), 1000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(in_our_byte_order, set_up, tear_down),
		cmocka_unit_test_setup_teardown(in_the_other_byte_order, set_up, tear_down),
		cmocka_unit_test_setup_teardown(lines_of_a_function, set_up, tear_down),
		cmocka_unit_test_setup_teardown(lines_that_count_from_elsewhere, set_up, tear_down),
		cmocka_unit_test_setup_teardown(lines_of_something_else, set_up, tear_down),
		cmocka_unit_test_setup_teardown(files_that_are_noise, set_up, tear_down),
		cmocka_unit_test_setup_teardown(half_a_record_waits, set_up, tear_down),
		cmocka_unit_test_setup_teardown(foreign_clock, set_up, tear_down),
		cmocka_unit_test_setup_teardown(not_a_jitdump, set_up, tear_down),
		cmocka_unit_test_setup_teardown(another_version, set_up, tear_down),
		cmocka_unit_test_setup_teardown(of_another_process, set_up, tear_down),
		cmocka_unit_test_setup_teardown(records_of_another_process, set_up, tear_down),
		cmocka_unit_test_setup_teardown(unknown_and_short_records, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_record_shorter_than_its_head, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_record_longer_than_the_file, set_up, tear_down),
		cmocka_unit_test_setup_teardown(nothing_after_its_end, set_up, tear_down),
		cmocka_unit_test_setup_teardown(written_anew, set_up, tear_down),
		cmocka_unit_test_setup_teardown(in_portions, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
