/* SPDX-License-Identifier: Apache-2.0 */
/* Files of /proc as text: commands that look like fields, lines that look like names, cut files. */
#include "proc/proc_maps.h"
#include "proc/process_file.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cmocka.h>

static void test_fields(void **state)
{
	static const char stat[] = "42 (a) R 7 (b)) S 1 42 42 0 -1 4194304 5\n";

	(void)state;
	assert_int_equal(*proc_stat_field(stat, 3), 'S');
	assert_int_equal(stat_number(stat, STAT_PARENT), 1);
	assert_int_equal(stat_number(stat, STAT_FLAGS), 4194304);
	assert_string_equal(proc_stat_field(stat, 10), "5\n");
	assert_null(proc_stat_field(stat, 11));
	assert_int_equal(stat_number(stat, 11), 0);
}

static void test_no_fields(void **state)
{
	static const char *const texts[] = {"", "42", "42 (a", "42 (a)", "(", ")", "42 (a)S"};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		assert_null(proc_stat_field(texts[i], 3));
	assert_null(proc_stat_field(NULL, 3));
}

static void test_lines(void **state)
{
	static const char status[] = "Name:\tTgid: 7\nTgid:\t8\nTgids:\t9\nNSpid:\t8\t3\nEnd:";

	(void)state;
	assert_int_equal(atoi(proc_line(status, "Tgid")), 8);
	assert_int_equal(strncmp(proc_line(status, "Name"), "\tTgid: 7\n", 9), 0);
	assert_string_equal(proc_line(status, "End"), "");
	assert_null(proc_line(status, "pid"));
	assert_null(proc_line(status, "Tg"));
	assert_null(proc_line("", "Tgid"));
	assert_null(proc_line(NULL, "Tgid"));
}

/* The kernel's own files, of a process with a name to be afraid of. */
static void test_own(void **state)
{
	char text[4096], few[8] = "xxxxxxx";
	size_t bytes = 0;
	char *all;

	(void)state;
	assert_int_equal(prctl(PR_SET_NAME, "a) R 1\n(b", 0, 0, 0), 0);
	assert_true(proc_read_of(getpid(), "stat", text, sizeof(text)) > 0);
	assert_int_equal(*proc_stat_field(text, STAT_STATE), 'R');
	assert_int_equal(stat_number(text, STAT_PARENT), getppid());
	assert_true(proc_read_of(getpid(), "status", text, sizeof(text)) > 0);
	assert_int_equal(atoi(proc_line(text, "Tgid")), getpid());
	assert_int_equal(proc_read_of(getpid(), "stat", few, sizeof(few)), 7);
	assert_int_equal(strlen(few), 7);
	all = proc_read_all_of(getpid(), "maps", &bytes);
	assert_non_null(all);
	assert_int_equal(strlen(all), bytes);
	assert_non_null(strstr(all, "[stack]"));
	free(all);
}

static void test_absent(void **state)
{
	char text[8] = "x";
	size_t bytes = 0;

	(void)state;
	assert_int_equal(proc_read(AT_FDCWD, "/proc/self/nothing", text, sizeof(text)), -ENOENT);
	assert_string_equal(text, "");
	assert_null(proc_read_all(AT_FDCWD, "/proc/self/nothing", &bytes));
	assert_int_equal(errno, ENOENT);
	assert_null(proc_read_all(AT_FDCWD, "/proc", &bytes));
	assert_int_equal(errno, EISDIR);
}

/* Larger than any first guess at its size. */
static void test_large(void **state)
{
	char path[] = "/tmp/weft-proc-XXXXXX";
	int fd = mkstemp(path);
	size_t bytes = 0;
	char *all;

	(void)state;
	assert_true(fd >= 0);
	for (int i = 0; i < 100000; i++)
		assert_int_equal(dprintf(fd, "%07d\n", i), 8);
	close(fd);
	all = proc_read_all(AT_FDCWD, path, &bytes);
	unlink(path);
	assert_non_null(all);
	assert_int_equal(bytes, 800000);
	assert_string_equal(all + bytes - 8, "0099999\n");
	free(all);
}

static int is_own(void *arg, pid_t pid)
{
	++*(int *)arg;
	return pid == getpid() ? 7 : 0;
}

/* It ends where it is told to, and says what it was told. */
static void test_each(void **state)
{
	int seen = 0;

	(void)state;
	assert_int_equal(proc_each(is_own, &seen), 7);
	assert_true(seen > 0);
}

static int keeps_own_code(void *arg, struct proc_map *map)
{
	char **path = arg;
	uint64_t here = (uint64_t)(uintptr_t)keeps_own_code;

	if (here < map->start || here >= map->end)
		return 0;
	assert_int_equal(map->permissions[2], 'x');
	*path = map->path;
	map->path = NULL;
	return 1;
}

static int counts(void *arg, struct proc_map *map)
{
	(void)map;
	++*(int *)arg;
	return 0;
}

static void test_maps(void **state)
{
	char exe[4096], *path = NULL;
	ssize_t bytes = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
	int lines = 0;

	(void)state;
	assert_true(bytes > 0);
	exe[bytes] = 0;
	assert_int_equal(proc_maps_each(getpid(), keeps_own_code, &path), 1);
	assert_string_equal(path, exe);
	free(path);
	assert_int_equal(proc_maps_each(getpid(), counts, &lines), 0);
	assert_true(lines > 5);
	assert_int_equal(proc_maps_each(-1, counts, &lines), -ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fields), cmocka_unit_test(test_no_fields),
		cmocka_unit_test(test_lines),  cmocka_unit_test(test_own),
		cmocka_unit_test(test_absent), cmocka_unit_test(test_large),
		cmocka_unit_test(test_each),   cmocka_unit_test(test_maps),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
