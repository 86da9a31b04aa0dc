/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who may come to the rendezvous, and what those cost who come for nothing. Whole floods are in
 * tests/hostile/rendezvous.
 */
#include "collector/run/collector.h"
#include "collector/run/door.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "target.h"

#define SILENT 300

static char file[64];

static struct collector *open_collector(void)
{
	struct collector_options o = {.path = file,
				      .command_line = "test",
				      .version = "0",
				      .period_ns = 5000000,
				      .root = getpid()};
	struct collector *c = NULL;
	const char *what;

	snprintf(file, sizeof(file), "/tmp/weft-door-%d.jfr", (int)getpid());
	assert_int_equal(collector_open(&c, &o, &what), 0);
	return c;
}

static void finish(struct collector *c, uint32_t processes)
{
	struct collector_result result;

	assert_int_equal(collector_finish(c, &result), 0);
	assert_int_equal(result.processes, processes);
	collector_free(c);
	unlink(file);
}

static void assert_a_child_joins(const char *path)
{
	struct target t;
	pid_t pid = fork();
	int status = -1;

	if (pid == 0)
		_exit(target_join(&t, path) != 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static void wait_a_moment(void)
{
	const struct timespec moment = {.tv_nsec = 2000000};

	nanosleep(&moment, NULL);
}

static mode_t mode_of(const char *path)
{
	struct stat st;

	return lstat(path, &st) ? 0 : st.st_mode & 07777;
}

static void nobody_else_may_connect(void **state)
{
	struct collector *c = open_collector();
	char others[128];

	(void)state;
	snprintf(others, sizeof(others), "%s%s", collector_socket(c), WEFT_RENDEZVOUS_OTHERS);
	assert_int_equal(mode_of(collector_socket(c)), 0600);
	assert_int_equal(mode_of(others), geteuid() == 0 ? 0666 : 0);
	if (geteuid() == 0)
		assert_a_child_joins(others); /* a descendant */
	finish(c, geteuid() == 0);
	assert_int_equal(mode_of(others), 0);
}

static int connect_silently(const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	strncpy(address.sun_path, path, sizeof(address.sun_path) - 1);
	assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	return fd;
}

static size_t descriptors(void)
{
	DIR *dir = opendir("/proc/self/fd");
	size_t count = 0;

	assert_non_null(dir);
	while (readdir(dir))
		count++;
	closedir(dir);
	return count;
}

static void who_says_nothing_keeps_nobody_out(void **state)
{
	struct collector *c = open_collector();
	size_t before = descriptors();
	int fd[SILENT];

	(void)state;
	for (int i = 0; i < SILENT; i++)
		fd[i] = connect_silently(collector_socket(c));
	assert_a_child_joins(collector_socket(c)); /* all before it have been let in */
	/* those of the child's session, too */
	assert_true(descriptors() <= before + SILENT + DOOR_GUESTS_MAX + 100);
	for (int i = 0; i < SILENT; i++)
		close(fd[i]);
	finish(c, 1);
}

static int has_whole_second(const char *path)
{
	struct stat st;

	assert_int_equal(lstat(path, &st), 0);
	return st.st_mtim.tv_nsec == 0;
}

static void a_wait_in_vain_is_forgotten_when_somebody_is_heard(void **state)
{
	struct collector *c = open_collector();
	const char *path = collector_socket(c);
	const struct timespec odd[] = {{.tv_sec = 1000, .tv_nsec = 1},
				       {.tv_sec = 1000, .tv_nsec = 1}};

	(void)state;
	assert_true(has_whole_second(path));
	assert_int_equal(utimensat(AT_FDCWD, path, odd, 0), 0);
	if (has_whole_second(path)) {
		finish(c, 0);
		skip(); /* a file system of whole seconds */
	}
	assert_a_child_joins(path);
	while (!has_whole_second(path))
		wait_a_moment();
	finish(c, 1);
}

static void who_comes_when_all_is_over_is_refused_at_once(void **state)
{
	struct collector *c = open_collector();
	struct collector_result result;
	struct target t;

	(void)state;
	assert_int_equal(collector_complete(c, &result), 0);
	assert_int_equal(target_join(&t, collector_socket(c)), -ECONNREFUSED);
	collector_free(c);
	unlink(file);
}

/* What a killed collector of root's leaves: a directory that others can pass, and two sockets. */
static void what_was_left_is_removed(void **state)
{
	char directory[] = "/tmp/weft-XXXXXX", path[2][64];
	const struct timespec old[] = {{.tv_sec = 1000}, {.tv_sec = 1000}};
	struct rendezvous r;

	(void)state;
	assert_non_null(mkdtemp(directory));
	for (int i = 0; i < 2; i++) {
		struct sockaddr_un address = {.sun_family = AF_UNIX};
		int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

		snprintf(path[i], sizeof(path[i]), "%s/4194300-0123456789abcdef.sock%s", directory,
			 i ? WEFT_RENDEZVOUS_OTHERS : "");
		memcpy(address.sun_path, path[i], strlen(path[i]));
		assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
		close(fd);
		assert_int_equal(utimensat(AT_FDCWD, path[i], old, 0), 0);
	}
	assert_int_equal(chmod(directory, 0711), 0);
	assert_int_equal(utimensat(AT_FDCWD, directory, old, 0), 0);
	unsetenv("WEFT_DIR");
	assert_int_equal(rendezvous_open(&r, NULL), 0);
	rendezvous_close(&r);
	assert_int_equal(mode_of(directory), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nobody_else_may_connect),
		cmocka_unit_test(who_says_nothing_keeps_nobody_out),
		cmocka_unit_test(a_wait_in_vain_is_forgotten_when_somebody_is_heard),
		cmocka_unit_test(who_comes_when_all_is_over_is_refused_at_once),
		cmocka_unit_test(what_was_left_is_removed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
