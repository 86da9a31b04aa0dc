/* SPDX-License-Identifier: Apache-2.0 */
/* Description: the table of base/output.h: what each kind of output does with each kind of name. */
#include "base/output.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

#define OTHER_USER 12345
#define DONE 1 /* no error */

static char directory[] = "/tmp/weft-test-outputs-XXXXXX";
static int held = -1; /* what a row's name needs to be held open */
static int is_nfs;    /* the file system emulates flock by locks of ranges */

int flock(int fd, int how)
{
	int access = fcntl(fd, F_GETFL) & O_ACCMODE;

	if (is_nfs &&
	    ((how & LOCK_EX && access == O_RDONLY) || (how & LOCK_SH && access == O_WRONLY))) {
		errno = EBADF;
		return -1;
	}
	return (int)syscall(SYS_flock, fd, how);
}

/* ---- what is under the name "out" */

static void put_older(const char *name)
{
	int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	assert_true(fd >= 0);
	assert_int_equal(fchmod(fd, 0644), 0);
	assert_int_equal(write(fd, "older", 5), 5);
	close(fd);
}

static void put_nothing(void)
{
}

static void put_file(void)
{
	put_older("out");
}

static void put_locked(void)
{
	put_older("out");
	held = open("out", O_RDWR | O_CLOEXEC);
	assert_int_equal(flock(held, LOCK_EX), 0);
}

static void put_shared(void)
{
	put_older("out");
	held = open("out", O_RDWR | O_CLOEXEC);
	assert_int_equal(flock(held, LOCK_SH), 0);
}

static void put_link_to_file(void)
{
	put_older("behind");
	assert_int_equal(symlink("behind", "out"), 0);
}

static void put_link_to_nothing(void)
{
	assert_int_equal(symlink("behind", "out"), 0);
}

static void put_link_to_device(void)
{
	assert_int_equal(symlink("/dev/null", "out"), 0);
}

static void put_directory(void)
{
	assert_int_equal(mkdir("out", 0700), 0);
}

static void put_pipe(void)
{
	assert_int_equal(mkfifo("out", 0600), 0);
	held = open("out", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	assert_true(held >= 0);
}

/* A signal waits to be read from a descriptor, as in `weft record`. */
static void put_pipe_without_reader(void)
{
	assert_int_equal(mkfifo("out", 0600), 0);
	raise(SIGTERM);
}

static void put_link_to_pipe(void)
{
	assert_int_equal(mkfifo("behind", 0600), 0);
	held = open("behind", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	assert_true(held >= 0);
	assert_int_equal(symlink("behind", "out"), 0);
}

static void put_link_to_pipe_without_reader(void)
{
	put_link_to_pipe();
	close(held);
	held = -1;
	raise(SIGTERM);
}

static void put_socket(void)
{
	struct sockaddr_un name = {.sun_family = AF_UNIX, .sun_path = "out"};

	held = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(held, (const struct sockaddr *)&name, sizeof(name)), 0);
}

static void share_directory(void)
{
	assert_int_equal(chmod(".", 01777), 0);
	assert_int_equal(lchown("out", OTHER_USER, (gid_t)-1), 0);
}

static void put_foreign_link(void)
{
	put_link_to_device();
	share_directory();
}

/* In a directory that is the caller's, too: it leads elsewhere. */
static void put_foreign_link_here(void)
{
	put_link_to_device();
	assert_int_equal(lchown("out", OTHER_USER, (gid_t)-1), 0);
}

static void put_foreign_pipe(void)
{
	put_pipe();
	share_directory();
}

static void take_away(void)
{
	const struct timespec none = {0, 0};
	sigset_t term;

	sigemptyset(&term);
	sigaddset(&term, SIGTERM);
	while (sigtimedwait(&term, NULL, &none) > 0)
		continue;
	if (held >= 0)
		close(held);
	held = -1;
	assert_int_equal(chmod(".", 0700), 0);
	if (unlink("out") != 0)
		rmdir("out");
	unlink("behind");
}

/* ---- the table */

struct row {
	const char *what;
	void (*put)(void);
	int whole, whole_new;
	int growing, growing_new, appended;
};

static const struct row table[] = {
	{"nothing", put_nothing, DONE, DONE, DONE, DONE, DONE},
	{"file", put_file, DONE, -EEXIST, DONE, -EEXIST, DONE},
	{"file being written", put_locked, -EBUSY, -EEXIST, -EBUSY, -EEXIST, -EBUSY},
	{"file being appended to", put_shared, -EBUSY, -EEXIST, -EBUSY, -EEXIST, DONE},
	{"link to a file", put_link_to_file, -ELOOP, -EEXIST, -ELOOP, -EEXIST, -ELOOP},
	{"link to nothing", put_link_to_nothing, -ELOOP, -EEXIST, -ELOOP, -EEXIST, -ELOOP},
	{"link to a device", put_link_to_device, DONE, DONE, DONE, DONE, DONE},
	{"directory", put_directory, -EISDIR, -EISDIR, -EISDIR, -EISDIR, -EISDIR},
	{"pipe", put_pipe, DONE, DONE, DONE, DONE, DONE},
	{"link to a pipe", put_link_to_pipe, DONE, DONE, DONE, DONE, DONE},
	{"pipe without a reader", put_pipe_without_reader, -EINTR, -EINTR, -EINTR, -EINTR, -EINTR},
	{"link to such a pipe", put_link_to_pipe_without_reader, -EINTR, -EINTR, -EINTR, -EINTR,
	 -EINTR},
	{"socket", put_socket, -ENOTSUP, -ENOTSUP, -ENOTSUP, -ENOTSUP, -ENOTSUP},
};

static const struct row of_others[] = {
	{"another user's link", put_foreign_link, -EACCES, -EACCES, -EACCES, -EACCES, -EACCES},
	{"another user's link in one's own directory", put_foreign_link_here, -EACCES, -EACCES,
	 -EACCES, -EACCES, -EACCES},
	{"another user's pipe", put_foreign_pipe, -EACCES, -EACCES, -EACCES, -EACCES, -EACCES},
};

static void expect(const struct row *row, const char *how, int expected, int found)
{
	if (found != expected)
		fail_msg("%s, %s: %d (%s), expected %d", row->what, how, found,
			 found < 0 ? strerror(-found) : "done", expected);
}

/* Whatever happens, a file under the name or behind it was not written to. */
static void expect_untouched(const struct row *row, const char *how, int fd, const struct stat *was)
{
	char text[8] = "";
	struct stat st;

	if (fd < 0)
		return;
	assert_int_equal(fstat(fd, &st), 0);
	assert_true(pread(fd, text, sizeof(text) - 1, 0) >= 0);
	close(fd);
	if (strcmp(text, "older") != 0 || st.st_mode != was->st_mode)
		fail_msg("%s, %s: the older file has '%s', mode %o", row->what, how, text,
			 st.st_mode);
}

static int open_older(struct stat *was)
{
	int fd = -1;

	if (stat("out", was) == 0 && S_ISREG(was->st_mode))
		fd = open("out", O_RDONLY | O_CLOEXEC);
	return fd;
}

static void expect_mode(const struct row *row, const char *how, mode_t expected)
{
	struct stat st;

	assert_int_equal(lstat("out", &st), 0);
	if (S_ISREG(st.st_mode) && (st.st_mode & 07777) != expected)
		fail_msg("%s, %s: mode %o, expected %o", row->what, how, st.st_mode & 07777,
			 expected);
}

static void try_whole(const struct row *row, int is_new)
{
	const char *how = is_new ? "whole, new" : "whole";
	int expected = is_new ? row->whole_new : row->whole, rc, older;
	struct stat was = {0};
	struct output *o;

	row->put();
	older = open_older(&was);
	if (!is_new)
		expect(row, "looked at", expected == -EINTR ? DONE : expected,
		       output_check("out") ? output_check("out") : DONE);
	rc = is_new ? output_open_new(&o, "out") : output_open(&o, "out");
	expect(row, how, expected, rc ? rc : DONE);
	if (rc == 0) {
		assert_int_equal(output_write(o, "newer", 5), 0);
		assert_int_equal(output_commit(o), 0);
		expect_mode(row, how, older >= 0 ? 0644 : 0600);
	}
	expect_untouched(row, how, older, &was);
	take_away();
}

static void try_growing(const struct row *row, enum output_how how, const char *name, int expected)
{
	struct stat was = {0};
	int older, fd;

	row->put();
	older = open_older(&was);
	fd = output_grow("out", how);
	expect(row, name, expected, fd < 0 ? fd : DONE);
	if (fd >= 0) {
		assert_int_equal(write(fd, "newer", 5), 5);
		close(fd);
		expect_mode(row, name, older >= 0 && how == OUTPUT_APPEND ? 0644 : 0600);
	}
	if (how == OUTPUT_APPEND && fd >= 0 && older >= 0) {
		close(older);
		older = -1;
	}
	expect_untouched(row, name, older, &was);
	take_away();
}

static void try_row(const struct row *row)
{
	try_whole(row, 0);
	try_whole(row, 1);
	try_growing(row, OUTPUT_REPLACE, "growing", row->growing);
	try_growing(row, OUTPUT_NEW, "growing, new", row->growing_new);
	try_growing(row, OUTPUT_APPEND, "appended", row->appended);
}

static void each_name_by_the_table(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++)
		try_row(&table[i]);
}

static void need_root(void)
{
	if (geteuid() != 0) {
		print_message("only root can give files to other users\n");
		skip();
	}
}

static void names_of_other_users(void **state)
{
	(void)state;
	need_root();
	for (size_t i = 0; i < sizeof(of_others) / sizeof(*of_others); i++)
		try_row(&of_others[i]);
}

/* Where everybody may put one, it can be read by who put it there. */
static void a_file_of_another_user_is_not_appended_to(void **state)
{
	(void)state;
	need_root();
	put_older("out");
	share_directory();
	assert_int_equal(output_grow("out", OUTPUT_APPEND), -EACCES);
	take_away();
}

/* What the group of the older file could do is not for another group. */
static void a_mode_without_its_group(void **state)
{
	const struct row row = {.what = "another group"};
	struct output *o;

	(void)state;
	need_root();
	put_older("out");
	assert_int_equal(chown("out", (uid_t)-1, OTHER_USER), 0);
	assert_int_equal(chmod("out", 0664), 0);
	assert_int_equal(output_open(&o, "out"), 0);
	assert_int_equal(output_commit(o), 0);
	expect_mode(&row, "whole", 0604);
	take_away();
}

/* ---- what the table does not say */

static void the_umask_has_no_say(void **state)
{
	static const mode_t masks[] = {0, 022, 0277};
	const struct row row = {.what = "umask"};

	(void)state;
	for (size_t i = 0; i < sizeof(masks) / sizeof(*masks); i++) {
		mode_t before = umask(masks[i]);
		struct output *o;

		assert_int_equal(output_open(&o, "out"), 0);
		assert_int_equal(output_commit(o), 0);
		expect_mode(&row, "whole", 0600);
		unlink("out");
		close(output_grow("out", OUTPUT_APPEND));
		unlink("out");
		close(output_grow("out", OUTPUT_REPLACE));
		expect_mode(&row, "growing", 0600);
		unlink("out");
		umask(before);
	}
}

/* What was whole and got no name is told, and there. */
static void expect_kept(const char *expected)
{
	const char *name = output_kept();
	char text[16] = "";
	int fd;

	assert_non_null(name);
	assert_non_null(strstr(output_why(-EBUSY), name));
	fd = open(name, O_RDONLY | O_CLOEXEC);
	assert_true(read(fd, text, sizeof(text) - 1) > 0);
	close(fd);
	assert_string_equal(text, expected);
	assert_int_equal(unlink(name), 0);
}

/* An exclusive lock wants a descriptor for writing there, a shared one a descriptor for reading. */
static void locks_by_a_file_system_that_emulates_them(void **state)
{
	struct output *o;
	int fd;

	(void)state;
	is_nfs = 1;
	fd = output_grow("out", OUTPUT_REPLACE);
	assert_true(fd >= 0);
	assert_int_equal(output_grow("out", OUTPUT_REPLACE), -EBUSY);
	assert_int_equal(output_grow("out", OUTPUT_APPEND), -EBUSY);
	assert_int_equal(output_open(&o, "out"), -EBUSY);
	close(fd);
	fd = output_grow("out", OUTPUT_APPEND);
	assert_true(fd >= 0);
	assert_int_equal(fcntl(fd, F_GETFL) & O_ACCMODE, O_RDWR);
	close(fd);
	assert_int_equal(output_open(&o, "out"), 0);
	assert_int_equal(output_commit(o), 0);
	is_nfs = 0;
	unlink("out");
}

static void two_names_of_one_file(void **state)
{
	(void)state;
	put_older("out");
	assert_int_equal(link("out", "behind"), 0);
	assert_int_equal(output_move_aside("out", "behind"), 0);
	assert_int_equal(access("out", F_OK), -1);
	assert_int_equal(access("behind", F_OK), 0);
	take_away();
}

static void only_a_file_where_only_that_is_of_use(void **state)
{
	int fd;

	(void)state;
	put_link_to_device();
	assert_int_equal(output_grow_file("out", OUTPUT_REPLACE), -ENOTSUP);
	take_away();
	put_pipe_without_reader();
	assert_int_equal(output_grow_file("out", OUTPUT_APPEND), -ENOTSUP);
	take_away();
	fd = output_grow_file("out", OUTPUT_NEW);
	assert_true(fd >= 0);
	close(fd);
	take_away();
}

/* The last case: from then on it is so. */
static void a_pipe_is_not_waited_for(void **state)
{
	sigset_t pending;

	(void)state;
	output_never_wait();
	for (int i = 0; i < 2; i++) {
		if (i)
			put_link_to_pipe_without_reader();
		else
			put_pipe_without_reader();
		assert_int_equal(output_grow("out", OUTPUT_REPLACE), -ENXIO);
		assert_int_equal(sigpending(&pending), 0);
		assert_int_equal(sigismember(&pending, SIGTERM), 1);
		take_away();
	}
}

/* A recording begins while another verb works on what is to be named so. */
static void a_commit_takes_no_name_of_a_growing_file(void **state)
{
	struct output *o;
	char text[8] = "";
	int fd;

	(void)state;
	assert_int_equal(output_open(&o, "out"), 0);
	assert_int_equal(output_write(o, "newer", 5), 0);
	fd = output_grow("out", OUTPUT_REPLACE);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, "grows", 5), 5);
	assert_int_equal(output_commit(o), -EBUSY);
	expect_kept("newer");
	assert_int_equal(output_grow("out", OUTPUT_REPLACE), -EBUSY);
	assert_int_equal(output_move_aside("out", "aside"), -EBUSY);
	close(fd);
	fd = open("out", O_RDONLY | O_CLOEXEC);
	assert_int_equal(read(fd, text, sizeof(text) - 1), 5);
	assert_string_equal(text, "grows");
	close(fd);
	assert_int_equal(output_move_aside("out", "aside"), 0);
	assert_int_equal(access("out", F_OK), -1);
	assert_int_equal(output_move_aside("out", "aside"), 0); /* there is none */
	assert_int_equal(access("aside", F_OK), 0);
	assert_int_equal(symlink("behind", "out"), 0);
	assert_int_equal(unlink("aside"), 0);
	assert_int_equal(output_move_aside("out", "aside"), 0); /* no file */
	assert_int_equal(access("aside", F_OK), -1);
	unlink("out");
}

/* It is written to from where it stands, as by who gave it. */
static void a_descriptor_by_its_name(void **state)
{
	char name[32], text[16] = "";
	struct output *o;
	int fd, grown;

	(void)state;
	put_older("out");
	fd = open("out", O_RDWR | O_APPEND | O_CLOEXEC);
	assert_int_equal(flock(fd, LOCK_EX), 0);
	snprintf(name, sizeof(name), "/dev/fd/%d", fd);
	assert_true(output_is_descriptor(name));
	/* one that did not come from a caller is ours */
	assert_int_equal(output_open(&o, name), -EBADF);
	assert_int_equal(output_grow(name, OUTPUT_REPLACE), -EBADF);
	assert_int_equal(fcntl(fd, F_SETFD, 0), 0);
	assert_int_equal(output_open(&o, name), 0);
	assert_null(output_temporary(o));
	assert_int_equal(output_write(o, "+", 1), 0);
	assert_int_equal(output_commit(o), 0);
	snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	grown = output_grow(name, OUTPUT_REPLACE);
	assert_true(grown >= 0 && grown != fd);
	assert_int_equal(write(grown, "+", 1), 1);
	close(grown);
	assert_int_equal(pread(fd, text, sizeof(text) - 1, 0), 7);
	assert_string_equal(text, "older++");
	close(fd);
	unlink("out");
	assert_int_equal(output_open(&o, "/dev/fd/99999"), -EBADF);
	assert_false(output_is_descriptor("/dev/fd/"));
	assert_false(output_is_descriptor("/dev/fd/1/x"));
	assert_false(output_is_descriptor("out"));
	assert_true(output_is_descriptor("/dev/stderr"));
}

static void names_of_standard_output(void **state)
{
	(void)state;
	assert_true(output_is_standard(NULL));
	assert_true(output_is_standard("-"));
	assert_true(output_is_standard("/dev/stdout"));
	assert_true(output_is_standard("/dev/fd/1"));
	assert_true(output_is_standard("/proc/self/fd/01"));
	assert_false(output_is_standard("/dev/fd/11"));
	assert_false(output_is_standard("/dev/stderr"));
	assert_false(output_is_standard("./-"));
	assert_false(output_is_standard(""));
}

static int make_directory(void **state)
{
	sigset_t term;

	(void)state;
	sigemptyset(&term);
	sigaddset(&term, SIGTERM);
	sigprocmask(SIG_BLOCK, &term, NULL);
	return !mkdtemp(directory) || chdir(directory);
}

/* Fails where something was left behind. */
static int remove_directory(void **state)
{
	(void)state;
	return chdir("/") || rmdir(directory);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_name_by_the_table),
		cmocka_unit_test(names_of_other_users),
		cmocka_unit_test(a_file_of_another_user_is_not_appended_to),
		cmocka_unit_test(a_mode_without_its_group),
		cmocka_unit_test(the_umask_has_no_say),
		cmocka_unit_test(a_commit_takes_no_name_of_a_growing_file),
		cmocka_unit_test(a_descriptor_by_its_name),
		cmocka_unit_test(names_of_standard_output),
		cmocka_unit_test(locks_by_a_file_system_that_emulates_them),
		cmocka_unit_test(two_names_of_one_file),
		cmocka_unit_test(only_a_file_where_only_that_is_of_use),
		cmocka_unit_test(a_pipe_is_not_waited_for),
	};

	return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
