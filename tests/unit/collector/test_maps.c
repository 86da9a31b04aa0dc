/* SPDX-License-Identifier: Apache-2.0 */
/* /proc/PID/maps: parsing, merging of a later look, finding. */
#include "collector/process/maps.h"

#include "proc/proc_maps.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const char first[] =
	"555555554000-555555556000 r--p 00000000 fe:00 1234 /usr/bin/prog\n"
	"555555556000-555555560000 r-xp 00002000 fe:00 1234    /usr/bin/prog\n"
	"7ffff7d00000-7ffff7e00000 r-xp 00026000 fe:00 99  /lib/a b.so (deleted)\n"
	"7ffff7e00000-7ffff7e10000 r-xp 00000000 00:00 0 \n"
	"7ffff7fc0000-7ffff7fc2000 r-xp 00000000 00:00 0      [vdso]\n"
	"ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0 [vsyscall]\n";

static int update(struct maps *m, const char *text)
{
	return maps_update(m, text, strlen(text));
}

static void finds_executable_mappings_only(void **state)
{
	struct maps m = {0};
	struct mapping *one;

	(void)state;
	assert_int_equal(update(&m, first), 5);
	assert_null(maps_find(&m, 0x555555554000));
	assert_null(maps_find(&m, 0x555555560000));
	one = maps_find(&m, 0x55555555ffff);
	assert_non_null(one);
	assert_int_equal(one->start, 0x555555556000);
	assert_int_equal(one->offset, 0x2000);
	assert_int_equal(one->inode, 1234);
	assert_int_equal(one->device_major, 0xfe);
	assert_string_equal(one->path, "/usr/bin/prog");
	assert_string_equal(maps_find(&m, 0x7ffff7e00000)->path, "");
	assert_string_equal(maps_find(&m, 0xffffffffff600000)->path, "[vsyscall]");
	maps_free(&m);
}

static void names_are_what_people_call_them(void **state)
{
	struct maps m = {0};
	char name[64];

	(void)state;
	update(&m, first);
	mapping_name(maps_find(&m, 0x7ffff7d00000), name, sizeof(name));
	assert_string_equal(name, "a b.so");
	mapping_name(maps_find(&m, 0x7ffff7fc0000), name, sizeof(name));
	assert_string_equal(name, "[vdso]");
	mapping_name(maps_find(&m, 0x7ffff7e00000), name, sizeof(name));
	assert_string_equal(name, "");
	maps_free(&m);
}

/* dlclose, dlopen: what has gone is kept, and found where nothing else lies now. */
static void a_later_look_replaces_what_has_gone(void **state)
{
	struct maps m = {0};
	uint32_t generation;

	(void)state;
	update(&m, first);
	generation = m.generation;
	assert_int_equal(update(&m, first), 0);
	assert_int_equal(m.generation, generation);
	assert_int_equal(update(&m, "7ffff7cf0000-7ffff7df0000 r-xp 0 fe:00 7 /lib/new.so\n"), 1);
	assert_int_not_equal(m.generation, generation);
	assert_string_equal(maps_find(&m, 0x7ffff7d00000)->path, "/lib/new.so");
	assert_string_equal(maps_find(&m, 0x7ffff7dff000)->path, "/lib/a b.so (deleted)");
	assert_string_equal(maps_find(&m, 0x555555556000)->path, "/usr/bin/prog");
	assert_int_equal(m.count, 1);
	assert_int_equal(m.past_count, 5);
	assert_int_equal(update(&m, "7ffff7000000-7ffff7f00000 r-xp 0 fe:00 8 /lib/big.so\n"), 1);
	assert_string_equal(maps_find(&m, 0x7ffff7e00000)->path, "/lib/big.so");
	assert_int_equal(m.count, 1);
	maps_free(&m);
}

/* The module log: one at a time, the others stay. */
static void one_that_is_added_replaces_what_it_overlaps(void **state)
{
	struct maps m = {0};
	struct mapping one = {.start = 0x7ffff7cf0000, .end = 0x7ffff7df0000};

	(void)state;
	update(&m, first);
	one.path = strdup("/lib/new.so");
	assert_int_equal(maps_add(&m, &one), 1);
	one.path = strdup("/lib/new.so");
	assert_int_equal(maps_add(&m, &one), 0);
	assert_int_equal(m.count, 5);
	assert_int_equal(m.past_count, 1);
	assert_string_equal(maps_find(&m, 0x7ffff7d00000)->path, "/lib/new.so");
	assert_string_equal(maps_find(&m, 0x555555556000)->path, "/usr/bin/prog");
	maps_free(&m);
}

static const char *path_at(const struct maps *m, uint32_t number)
{
	const struct mapping *one = maps_find_at(m, 0x5800, number);

	return one ? one->path : "none";
}

/* Every number has its own truth, however often the address was used. */
static void each_number_has_its_own_mapping(void **state)
{
	static const char *const looks[] = {
		"5000-6000 r-xp 0 fe:00 1 /lib/a.so\n", "5000-6000 r-xp 0 fe:00 2 /lib/b.so\n", "",
		"5000-7000 r-xp 0 fe:00 2 /lib/b.so\n", "5000-6000 r-xp 0 fe:00 1 /lib/a.so\n",
	};
	static const char *const expected[] = {
		"none", "/lib/a.so", "/lib/b.so", "none", "/lib/b.so", "/lib/a.so", "/lib/a.so",
	};
	struct maps m = {0};

	(void)state;
	for (uint32_t i = 0; i < sizeof(looks) / sizeof(looks[0]); i++) {
		update(&m, looks[i]);
		m.number = i + 1;
	}
	for (uint32_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++)
		assert_string_equal(path_at(&m, i), expected[i]);
	assert_ptr_not_equal(maps_find_at(&m, 0x5800, 1), maps_find_at(&m, 0x5800, 5));
	maps_free(&m);
}

/* A sample that waited may be of what has gone; one that came later is not. */
static void what_was_missed_before_is_not_found(void **state)
{
	struct maps m = {0};

	(void)state;
	m.looked_ns = 100;
	update(&m, "5000-6000 r-xp 0 fe:00 1 /lib/a.so\n");
	m.looked_ns = 200;
	update(&m, "");
	assert_non_null(maps_find_then(&m, 0x5800, 150));
	assert_null(maps_find_then(&m, 0x5800, 250));
	assert_null(maps_find_then(&m, 0x6800, 150));
	m.looked_ns = 300;
	update(&m, "5000-6000 r-xp 0 fe:00 2 /lib/b.so\n");
	assert_string_equal(maps_find_then(&m, 0x5800, 350)->path, "/lib/b.so");
	maps_free(&m);
}

/* Deleting the file of a mapping changes its path, not what it is; another file of the same
 * inode number, mapped at the same place, is another one. */
static void a_deleted_file_stays_what_it_was(void **state)
{
	struct maps m = {0};
	const struct mapping *one;

	(void)state;
	update(&m, "5000-6000 r-xp 0 fe:00 1 /lib/a.so\n");
	one = maps_find(&m, 0x5000);
	assert_int_equal(update(&m, "5000-6000 r-xp 0 fe:00 1 /lib/a.so (deleted)\n"), 0);
	assert_ptr_equal(maps_find(&m, 0x5000), one);
	assert_int_equal(update(&m, "5000-6000 r-xp 0 fe:00 1 /lib/b.so\n"), 1);
	assert_ptr_not_equal(maps_find(&m, 0x5000), one);
	maps_free(&m);
}

/* A program that loads and unloads for ever. */
static void the_past_is_bounded(void **state)
{
	struct maps m = {0};
	char text[64];

	(void)state;
	for (uint32_t i = 1; i <= 20000; i++) {
		snprintf(text, sizeof(text), "5000-6000 r-xp 0 fe:00 %u /lib/%u.so\n", i, i);
		update(&m, text);
		m.number = i;
	}
	assert_true(m.past_count <= 4096);
	assert_string_equal(path_at(&m, 19999), "/lib/19999.so");
	assert_string_equal(path_at(&m, 18001), "/lib/18001.so");
	assert_string_equal(path_at(&m, 1), "none");
	maps_free(&m);
}

/* Lines of @count mappings, of which every @step-th is left out. */
static char *many_lines(unsigned int count, unsigned int step)
{
	char *text = malloc((size_t)count * 64 + 1), *at = text;

	assert_non_null(text);
	*at = 0;
	for (unsigned int i = 0; i < count; i++)
		if (!step || i % step)
			at += sprintf(at, "%x000-%x000 r-xp 00000000 00:00 0 \n", 16 + 2 * i,
				      17 + 2 * i);
	return text;
}

static void many_may_go_and_come_at_a_time(void **state)
{
	struct maps m = {0};
	char *all = many_lines(60000, 0), *some = many_lines(60000, 3);

	(void)state;
	assert_int_equal(update(&m, all), 60000);
	assert_int_equal(update(&m, some), 0);
	assert_int_equal(m.count, 40000);
	for (size_t i = 1; i < m.count; i++)
		assert_true(m.item[i]->start >= m.item[i - 1]->end);
	assert_int_equal(update(&m, all), 20000);
	assert_int_equal(m.count, 60000);
	free(all);
	free(some);
	maps_free(&m);
}

static void what_is_too_much_leaves_a_list_in_order(void **state)
{
	struct maps m = {0};
	char *all = many_lines(70000, 0), *some = many_lines(70000, 2);

	(void)state;
	assert_int_equal(update(&m, some), 35000);
	assert_int_equal(update(&m, all), -ENOMEM);
	assert_int_equal(m.count, 65536);
	for (size_t i = 1; i < m.count; i++)
		assert_true(m.item[i]->start >= m.item[i - 1]->end);
	assert_int_equal(update(&m, some), 35000 - 65536 / 2);
	assert_int_equal(m.count, 35000);
	free(all);
	free(some);
	maps_free(&m);
}

static void malformed_lines_are_passed_over(void **state)
{
	static const char *const bad[] = {
		"",
		"-",
		"1000",
		"1000-",
		"1000-2000",
		"1000-2000 r-x",
		"1000-2000 r-xp",
		"1000-2000 r-xp 0",
		"1000-2000 r-xp 0 fe",
		"2000-1000 r-xp 0 fe:00 1 /x",
		"1000-1000 r-xp 0 fe:00 1 /x",
		"1000-11112222333344445 r-xp 0 fe:00 1 /x",
		"g000-2000 r-xp 0 fe:00 1 /x",
		"1000-2000 r-xp 0 fe.00 1 /x",
	};
	struct maps m = {0};
	struct proc_map one;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(proc_map_parse(bad[i], strlen(bad[i]), &one), -EINVAL);
	assert_int_equal(update(&m, "junk\n\n1000-2000 r-xp 0 fe:00 1 /x\nmore"), 1);
	assert_non_null(maps_find(&m, 0x1fff));
	maps_free(&m);
}

static void a_newline_in_a_path_is_escaped_by_the_kernel(void **state)
{
	static const char line[] = "1000-2000 r-xp 0 fe:00 1 /a\\012b\\x";
	struct proc_map one;

	(void)state;
	assert_int_equal(proc_map_parse(line, strlen(line), &one), 0);
	assert_string_equal(one.path, "/a\nb\\x");
	free(one.path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(finds_executable_mappings_only),
		cmocka_unit_test(names_are_what_people_call_them),
		cmocka_unit_test(a_later_look_replaces_what_has_gone),
		cmocka_unit_test(one_that_is_added_replaces_what_it_overlaps),
		cmocka_unit_test(each_number_has_its_own_mapping),
		cmocka_unit_test(what_was_missed_before_is_not_found),
		cmocka_unit_test(a_deleted_file_stays_what_it_was),
		cmocka_unit_test(the_past_is_bounded),
		cmocka_unit_test(many_may_go_and_come_at_a_time),
		cmocka_unit_test(what_is_too_much_leaves_a_list_in_order),
		cmocka_unit_test(malformed_lines_are_passed_over),
		cmocka_unit_test(a_newline_in_a_path_is_escaped_by_the_kernel),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
