/* SPDX-License-Identifier: Apache-2.0 */
/* A perf map while it grows, is written anew, and lies. */
#include "elf/names/jit_map.h"
#include "jit_test.h"

#include <errno.h>
#include <stdlib.h>

struct scene {
	size_t budget;
	struct jit_code *code;
	struct jit_map map;
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
	close(s->fd);
	free(s);
	return 0;
}

static int64_t tell(struct scene *s, const char *text, uint64_t since_ns)
{
	append(s->fd, text, strlen(text));
	return jit_map_read(&s->map, s->fd, since_ns, EVERYTHING, s->code);
}

static void lines_as_they_are_found(void **state)
{
	struct scene *s = *state;

	tell(s,
	     "18c4000 300 Builtin:RecordWrite\n"
	     "0x7f00 0x10 with prefix\n"
	     "7F20 A upper case\n"
	     "7f40 10   py::f:/srv/a b.py\r\n",
	     0);
	assert_string_equal(name_at(s->code, 0x18c42ff, 0), "Builtin:RecordWrite");
	assert_string_equal(name_at(s->code, 0x7f00, 0), "with prefix");
	assert_string_equal(name_at(s->code, 0x7f29, 0), "upper case");
	assert_string_equal(name_at(s->code, 0x7f2a, 0), "");
	assert_string_equal(name_at(s->code, 0x7f40, 0), "py::f:/srv/a b.py");
}

static void half_a_line_waits(void **state)
{
	struct scene *s = *state;

	assert_int_equal(tell(s, "1000 10 whole\n2000 1", 0), 14);
	assert_string_equal(name_at(s->code, 0x2000, 0), "");
	assert_int_equal(tell(s, "00 long", 0), 0);
	assert_string_equal(name_at(s->code, 0x2000, 0), "");
	assert_true(tell(s, " name\n", 0) > 0);
	assert_string_equal(name_at(s->code, 0x20ff, 0), "long name");
	assert_int_equal(jit_map_read(&s->map, s->fd, 0, EVERYTHING, s->code), 0);
	assert_int_equal(jit_code_count(s->code), 2);
}

static void later_lines_take_the_place(void **state)
{
	struct scene *s = *state;

	tell(s, "1000 100 a\n1080 100 b\n", 100);
	assert_string_equal(name_at(s->code, 0x1090, 500), "b");
	tell(s, "1000 100 c\n", 200);
	assert_string_equal(name_at(s->code, 0x1090, 500), "c");
	assert_string_equal(name_at(s->code, 0x1090, 150), "b");
	assert_string_equal(name_at(s->code, 0x1010, 150), "a");
	assert_string_equal(name_at(s->code, 0x1110, 500), "b");
}

static void malformed_lines_are_passed_over(void **state)
{
	struct scene *s = *state;

	tell(s,
	     "\n \n1000\n1000 10\n1000 10 \n1000  \nzz 10 n\n10 zz n\n0x 10 n\n-10 10 n\n"
	     "10000000000000000 10 n\n1000 10000000000000000 n\nfffffffffffffff0 20 n\n"
	     "1000 0 n\n1000 ffffffffffff n\n1000 10\tn\n",
	     0);
	assert_int_equal(jit_code_count(s->code), 0);
	append(s->fd, "1000 10 a\0b\n", 12);
	assert_int_equal(jit_map_read(&s->map, s->fd, 0, EVERYTHING, s->code), 12);
	assert_int_equal(jit_code_count(s->code), 0);
	tell(s, "1000 10 a good one\n", 0);
	assert_string_equal(name_at(s->code, 0x1000, 0), "a good one");
}

static void endless_line(void **state)
{
	struct scene *s = *state;
	static char text[200000];

	memset(text, 'x', sizeof(text));
	append(s->fd, "1000 10 ", 8);
	append(s->fd, text, sizeof(text));
	assert_true(jit_map_read(&s->map, s->fd, 0, EVERYTHING, s->code) > 0);
	tell(s, "\n2000 10 behind it\n", 0);
	assert_int_equal(jit_code_count(s->code), 1);
	assert_string_equal(name_at(s->code, 0x2000, 0), "behind it");
}

/* Shorter, or as long again and longer: what was read is not what is there now. */
static void written_anew(void **state)
{
	struct scene *s = *state;

	tell(s, "1000 10 old one\n2000 10 old two\n", 100);
	assert_int_equal(ftruncate(s->fd, 0), 0);
	tell(s, "3000 10 new\n", 200);
	assert_string_equal(name_at(s->code, 0x3000, 300), "new");
	assert_int_equal(ftruncate(s->fd, 0), 0);
	tell(s, "4000 10 newer one\n5000 10 newer two\n", 300);
	assert_string_equal(name_at(s->code, 0x4000, 400), "newer one");
	assert_string_equal(name_at(s->code, 0x5000, 400), "newer two");
	assert_string_equal(name_at(s->code, 0x1000, 150), "old one");
}

/* What an earlier process left in the file lends no names, whether it is kept or not. */
static void left_by_an_earlier_process(void **state)
{
	struct scene *s = *state;
	static const char old[] = "1000 10 of the dead\n2000 10 of the dead\n3000 10 cu";

	append(s->fd, old, strlen(old));
	assert_int_equal(jit_map_skip(&s->map, s->fd), 0);
	assert_int_equal(jit_map_read(&s->map, s->fd, 0, EVERYTHING, s->code), 0);
	tell(s, "4000 10 appended\n", 0);
	assert_int_equal(jit_code_count(s->code), 1);
	assert_string_equal(name_at(s->code, 0x4000, 0), "appended");

	assert_int_equal(ftruncate(s->fd, 0), 0);
	s->map = (struct jit_map){0};
	append(s->fd, old, strlen(old));
	assert_int_equal(jit_map_skip(&s->map, s->fd), 0);
	assert_int_equal(ftruncate(s->fd, 0), 0);
	tell(s, "5000 10 a\n6000 10 b\n7000 10 c\n8000 10 d\n9000 10 e\na000 10 f\n", 0);
	assert_string_equal(name_at(s->code, 0x5000, 0), "a");
	assert_string_equal(name_at(s->code, 0xa000, 0), "f");
	assert_string_equal(name_at(s->code, 0x1000, 0), "");
}

/* A look takes no more than it was allowed to; the next one goes on. */
static void in_portions(void **state)
{
	struct scene *s = *state;
	char line[64];
	int looks = 0;

	for (int i = 0; i < 20000; i++) {
		snprintf(line, sizeof(line), "%x 10 function number %d\n", 0x100000 + i * 16, i);
		append(s->fd, line, strlen(line));
	}
	while (jit_map_read(&s->map, s->fd, 0, 1, s->code) > 0)
		looks++;
	assert_true(looks > 10);
	assert_int_equal(jit_code_count(s->code), 20000);
	assert_string_equal(name_at(s->code, 0x100000 + 19999 * 16, 0), "function number 19999");
}

static void budget_is_the_end(void **state)
{
	struct scene *s = *state;
	char line[64];
	int64_t rc = 0;

	for (int i = 0; i < 100; i++) {
		snprintf(line, sizeof(line), "%llx 4000000 wide\n",
			 (unsigned long long)i * 0x4000000);
		append(s->fd, line, strlen(line));
	}
	s->budget = 200000;
	rc = jit_map_read(&s->map, s->fd, 0, EVERYTHING, s->code);
	assert_int_equal(rc, -ENOMEM);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(lines_as_they_are_found, set_up, tear_down),
		cmocka_unit_test_setup_teardown(half_a_line_waits, set_up, tear_down),
		cmocka_unit_test_setup_teardown(later_lines_take_the_place, set_up, tear_down),
		cmocka_unit_test_setup_teardown(malformed_lines_are_passed_over, set_up, tear_down),
		cmocka_unit_test_setup_teardown(endless_line, set_up, tear_down),
		cmocka_unit_test_setup_teardown(written_anew, set_up, tear_down),
		cmocka_unit_test_setup_teardown(left_by_an_earlier_process, set_up, tear_down),
		cmocka_unit_test_setup_teardown(in_portions, set_up, tear_down),
		cmocka_unit_test_setup_teardown(budget_is_the_end, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
