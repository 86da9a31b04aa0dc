/* SPDX-License-Identifier: Apache-2.0 */
/* Description: an output file appears whole or not at all, and every failure is told. */
#include "base/output.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define BIG (300 * 1024)

static char directory[] = "/tmp/weft-test-output-XXXXXX";

static int entries(void)
{
	DIR *d = opendir(directory);
	const struct dirent *e;
	int count = 0;

	while ((e = readdir(d)))
		count += e->d_name[0] != '.';
	closedir(d);
	return count;
}

static void put_file(const char *name, const char *text)
{
	int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0640);

	assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	close(fd);
}

static void expect_file(const char *name, const char *text)
{
	char found[64] = "";
	int fd = open(name, O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	assert_true(read(fd, found, sizeof(found) - 1) >= 0);
	close(fd);
	assert_string_equal(found, text);
}

static void file_appears_at_commit(void **state)
{
	struct output *o;

	(void)state;
	assert_int_equal(output_open(&o, "out"), 0);
	assert_int_equal(output_write(o, "whole", 5), 0);
	assert_int_equal(access("out", F_OK), -1);
	assert_int_equal(output_commit(o), 0);
	expect_file("out", "whole");
	assert_int_equal(entries(), 1);
	unlink("out");
}

static void older_file_keeps_its_mode_and_stays_until_then(void **state)
{
	struct output *o;
	struct stat st;

	(void)state;
	put_file("out", "older");
	assert_int_equal(chmod("out", 0640), 0);
	assert_int_equal(output_open(&o, "out"), 0);
	assert_int_equal(output_write(o, "newer", 5), 0);
	expect_file("out", "older");
	output_abandon(o);
	expect_file("out", "older");
	assert_int_equal(entries(), 1);
	assert_int_equal(output_open(&o, "out"), 0);
	assert_int_equal(output_write(o, "newer", 5), 0);
	assert_int_equal(output_commit(o), 0);
	expect_file("out", "newer");
	assert_int_equal(stat("out", &st), 0);
	assert_int_equal(st.st_mode & 0777, 0640);
	unlink("out");
}

static void write_big(struct output *o, int *rc)
{
	char *data = calloc(1, BIG);

	*rc = 0;
	for (int i = 0; i < 4 && !*rc; i++)
		*rc = output_write(o, data, BIG);
	free(data);
}

/* A file limit is a full disk that needs no disk. */
static void full_disk_leaves_the_older_file(void **state)
{
	struct rlimit old, tight;
	struct output *o;
	int rc;

	(void)state;
	put_file("out", "older");
	signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &old);
	tight = old;
	tight.rlim_cur = BIG + 1000;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &tight), 0);
	assert_int_equal(output_open(&o, "out"), 0);
	write_big(o, &rc);
	assert_int_equal(rc, -EFBIG);
	assert_int_equal(output_commit(o), -EFBIG); /* the first error stays */
	setrlimit(RLIMIT_FSIZE, &old);
	expect_file("out", "older");
	assert_int_equal(entries(), 1);
	unlink("out");
}

static void full_device_is_told(void **state)
{
	struct output *o;

	(void)state;
	assert_int_equal(output_open(&o, "/dev/full"), 0);
	assert_int_equal(output_write(o, "x", 1), 0); /* still in the buffer */
	assert_int_equal(output_commit(o), -ENOSPC);
}

static void no_such_directory(void **state)
{
	struct output *o = NULL;

	(void)state;
	assert_int_equal(output_open(&o, "nowhere/out"), -ENOENT);
	assert_null(o);
	output_abandon(NULL);
}

static int make_directory(void **state)
{
	(void)state;
	return !mkdtemp(directory) || chdir(directory);
}

static int remove_directory(void **state)
{
	(void)state;
	return chdir("/") || rmdir(directory);
}

static void a_new_file_takes_no_place(void **state)
{
	struct output *o;

	(void)state;
	put_file("there", "older");
	assert_int_equal(output_open_new(&o, "there"), -EEXIST);
	assert_int_equal(symlink("nowhere", "link"), 0);
	assert_int_equal(output_open_new(&o, "link"), -EEXIST);
	unlink("link");
	assert_int_equal(output_open_new(&o, "late"), 0);
	assert_int_equal(access(output_temporary(o), F_OK), 0);
	assert_int_equal(output_write(o, "ours", 4), 0);
	put_file("late", "theirs");
	assert_int_equal(output_commit(o), -EEXIST);
	expect_file("late", "theirs");
	expect_file("there", "older");
	/* what is whole is not thrown away */
	assert_non_null(output_kept());
	expect_file(output_kept(), "ours");
	assert_int_equal(unlink(output_kept()), 0);
	assert_int_equal(entries(), 2);
	unlink("late");
	assert_int_equal(output_open_new(&o, "late"), 0);
	assert_int_equal(output_write(o, "ours", 4), 0);
	assert_int_equal(output_commit(o), 0);
	expect_file("late", "ours");
	assert_int_equal(entries(), 2);
	unlink("late");
	unlink("there");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(file_appears_at_commit),
		cmocka_unit_test(older_file_keeps_its_mode_and_stays_until_then),
		cmocka_unit_test(full_disk_leaves_the_older_file),
		cmocka_unit_test(full_device_is_told),
		cmocka_unit_test(no_such_directory),
		cmocka_unit_test(a_new_file_takes_no_place),
	};

	return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
