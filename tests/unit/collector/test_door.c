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

#include "base/atomic.h"

#include "target.h"

#define SILENT 300
#define MANY 300
#define MANY_OTHERS 100
#define SAID                                                                                       \
	160 /* more than guests and callers, and no more than a socket's queue has room for        \
	     */

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

/* ---- the door alone: what nobody takes stays */

static pid_t own_pid;

static void open_door(struct door *d)
{
	own_pid = getpid();
	unsetenv("WEFT_DIR");
	assert_int_equal(rendezvous_open(&d->rendezvous, NULL), 0);
	assert_int_equal(door_open(d, &own_pid), 0);
}

static void close_door(struct door *d)
{
	door_end(d);
	door_close(d);
}

/* In a child: asks at @path, says in @said that it has, and waits for the answer. */
static void ask(const char *path, int said)
{
	struct weft_hello hello = {.magic = WEFT_RENDEZVOUS_MAGIC,
				   .version = WEFT_RENDEZVOUS_VERSION,
				   .pid = getpid()};
	struct weft_welcome welcome;
	int fd = connect_silently(path);

	_exit(send(fd, &hello, sizeof(hello), MSG_NOSIGNAL) != (ssize_t)sizeof(hello) ||
	      write(said, "", 1) != 1 ||
	      recv(fd, &welcome, sizeof(welcome), 0) != (ssize_t)sizeof(welcome) ||
	      welcome.status != -ECANCELED);
}

static void ask_from_children(const char *path, int said, int count)
{
	for (int i = 0; i < count; i++) {
		pid_t pid = fork();

		assert_true(pid >= 0);
		if (pid == 0)
			ask(path, said);
	}
}

static void wait_until_said(int said, int count)
{
	char one;

	while (count-- > 0)
		assert_int_equal(read(said, &one, 1), 1);
}

static void answer(const struct caller *c)
{
	if (c->text)
		rendezvous_set_answer(c->fd, 0, "");
	else
		rendezvous_answer(c->fd, -ECANCELED, NULL);
	close(c->fd);
	free(c->text);
}

/* Answers until all children have ended: how many of them failed. */
static int answer_all(struct door *d, int count)
{
	int failed = 0, status;

	while (count > 0) {
		struct caller c;
		pid_t pid;

		while (door_take(d, &c))
			answer(&c);
		pid = waitpid(-1, &status, WNOHANG);
		assert_true(pid >= 0);
		if (pid == 0) {
			wait_a_moment();
			continue;
		}
		count--;
		failed += status != 0;
	}
	return failed;
}

static void who_has_asked_is_never_dropped(void **state)
{
	const struct timespec longer_than_a_guest_may_be_silent = {.tv_sec = 1,
								   .tv_nsec = 200000000};
	struct door d = DOOR_CLOSED;
	int said[2];

	(void)state;
	open_door(&d);
	assert_int_equal(pipe(said), 0);
	/* before the door accepts, or they would hold each other's connections open */
	ask_from_children(d.rendezvous.path, said[1], MANY);
	assert_int_equal(door_begin(&d), 0);
	wait_until_said(said[0], SAID);
	nanosleep(&longer_than_a_guest_may_be_silent, NULL);
	assert_int_equal(answer_all(&d, MANY), 0);
	close(said[0]);
	close(said[1]);
	close_door(&d);
}

/* In a child: asks when there is something to read in @go. */
static pid_t ask_when_told(const char *path, int go, int said)
{
	pid_t pid = fork();
	char one;

	assert_true(pid >= 0);
	if (pid == 0) {
		if (read(go, &one, 1) != 1)
			_exit(2);
		ask(path, said);
	}
	return pid;
}

static void await_callers(const struct door *d, uint32_t count)
{
	while (load_acquire(&d->put) < count)
		wait_a_moment();
}

static void others_leave_room_for_our_own(void **state)
{
	struct door d = DOOR_CLOSED;
	struct caller c;
	int said[2], go[2];
	pid_t own;

	(void)state;
	if (geteuid() != 0)
		skip(); /* only root's has a second socket */
	open_door(&d);
	assert_int_equal(pipe(said), 0);
	assert_int_equal(pipe(go), 0);
	own = ask_when_told(d.rendezvous.path, go[0], said[1]);
	ask_from_children(d.rendezvous.others, said[1], MANY_OTHERS);
	assert_int_equal(door_begin(&d), 0);
	wait_until_said(said[0], MANY_OTHERS);
	await_callers(&d, DOOR_CALLERS_MAX / 2);
	assert_int_equal(write(go[1], "", 1), 1);
	await_callers(&d, DOOR_CALLERS_MAX / 2 + 1);
	for (int i = 0; i <= DOOR_CALLERS_MAX / 2; i++) {
		assert_int_equal(door_take(&d, &c), 1);
		answer(&c);
	}
	assert_int_equal(c.pid, own);
	assert_int_equal(answer_all(&d, MANY_OTHERS + 1), 0);
	for (int i = 0; i < 2; i++) {
		close(said[i]);
		close(go[i]);
	}
	close_door(&d);
}

/* In a child: asks at @path, and says in @told whether there was an answer. With @apart, which is
 * its parent's pid, it waits until that is gone. */
static void tell_whether_answered(const char *path, int told, pid_t apart)
{
	struct weft_hello hello = {.magic = WEFT_RENDEZVOUS_MAGIC,
				   .version = WEFT_RENDEZVOUS_VERSION,
				   .pid = getpid()};
	struct weft_welcome welcome;
	char said = 'n';
	int fd;

	while (apart && getppid() == apart)
		wait_a_moment();
	fd = connect_silently(path);
	if (send(fd, &hello, sizeof(hello), MSG_NOSIGNAL) == (ssize_t)sizeof(hello) &&
	    recv(fd, &welcome, sizeof(welcome), 0) == (ssize_t)sizeof(welcome))
		said = 'y';
	_exit(write(told, &said, 1) != 1);
}

/* Is a child answered at the others' socket; or its child, when it has ended itself? */
static char is_answered(struct door *d, int by_its_child)
{
	pid_t pid, middle = 0;
	char said = 0;
	int told[2];

	assert_int_equal(pipe2(told, O_CLOEXEC | O_NONBLOCK), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0 && by_its_child) {
		middle = getpid();
		if (fork())
			_exit(0);
	}
	if (pid == 0)
		tell_whether_answered(d->rendezvous.others, told[1], middle);
	while (read(told[0], &said, 1) != 1) {
		struct caller c;

		while (door_take(d, &c))
			answer(&c);
		wait_a_moment();
	}
	waitpid(pid, NULL, 0);
	close(told[0]);
	close(told[1]);
	return said;
}

/* Of this user, too: whose process it is counts, not whose user. */
static void who_is_below_nobody_is_not_answered(void **state)
{
	struct door d = DOOR_CLOSED;

	(void)state;
	if (geteuid() != 0)
		skip(); /* only root's has a second socket */
	open_door(&d);
	assert_int_equal(door_begin(&d), 0);
	assert_int_equal(is_answered(&d, 0), 'y');
	assert_int_equal(is_answered(&d, 1), 'n');
	close_door(&d);
}

static int has_whole_second(const char *path)
{
	struct stat st;

	assert_int_equal(lstat(path, &st), 0);
	return st.st_mtim.tv_nsec == 0;
}

/* As who has waited in vain does. 0: the file system has whole seconds alone. */
static int tell_silence(const char *path)
{
	const struct timespec odd[] = {{.tv_sec = 1000, .tv_nsec = 1},
				       {.tv_sec = 1000, .tv_nsec = 1}};

	assert_true(has_whole_second(path));
	assert_int_equal(utimensat(AT_FDCWD, path, odd, 0), 0);
	return !has_whole_second(path);
}

static void a_wait_in_vain_is_forgotten_when_somebody_is_answered(void **state)
{
	struct collector *c = open_collector();
	const char *path = collector_socket(c);

	(void)state;
	if (!tell_silence(path)) {
		finish(c, 0);
		skip();
	}
	assert_a_child_joins(path);
	while (!has_whole_second(path))
		wait_a_moment();
	finish(c, 1);
}

static void a_wait_in_vain_is_not_forgotten_before(void **state)
{
	struct door d = DOOR_CLOSED;
	int said[2], can_be_seen;

	(void)state;
	open_door(&d);
	assert_int_equal(pipe(said), 0);
	can_be_seen = tell_silence(d.rendezvous.path);
	ask_from_children(d.rendezvous.path, said[1], 1);
	assert_int_equal(door_begin(&d), 0);
	await_callers(&d, 1);
	assert_true(!can_be_seen || !has_whole_second(d.rendezvous.path));
	assert_int_equal(answer_all(&d, 1), 0);
	rendezvous_is_alive(&d.rendezvous);
	assert_true(has_whole_second(d.rendezvous.path));
	close(said[0]);
	close(said[1]);
	close_door(&d);
}

/* In a child: asks for other settings, and shall be refused. 77: it cannot be the other user. */
static void ask_for_settings(const char *path, uid_t user)
{
	struct {
		struct weft_set set;
		char text[32];
	} question = {.set = {.magic = WEFT_SET_MAGIC, .version = WEFT_RENDEZVOUS_VERSION},
		      .text = "*#enabled=false\n"};
	struct weft_set_answer got;
	size_t bytes;
	int fd;

	if (setresuid(user, user, user))
		_exit(77);
	question.set.text_bytes = (uint32_t)strlen(question.text);
	bytes = sizeof(question.set) + question.set.text_bytes;
	fd = connect_silently(path);
	_exit(send(fd, &question, bytes, MSG_NOSIGNAL) != (ssize_t)bytes ||
	      recv(fd, &got, sizeof(got), 0) != (ssize_t)sizeof(got) || got.status != -EPERM);
}

/* Root has opened it to a user, one of whose processes it records. */
static void a_guest_of_roots_changes_no_settings(void **state)
{
	const uid_t user = 65534;
	struct door d = DOOR_CLOSED;
	int status = 0, rc;
	pid_t pid;

	(void)state;
	if (geteuid() != 0)
		skip();
	own_pid = getpid();
	rc = rendezvous_open_for(&d.rendezvous, user);
	if (rc == -EINVAL)
		skip(); /* a user namespace that does not know the user */
	assert_int_equal(rc, 0);
	assert_int_equal(door_open(&d, &own_pid), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		ask_for_settings(d.rendezvous.path, user);
	assert_int_equal(door_begin(&d), 0);
	while (waitpid(pid, &status, WNOHANG) == 0) {
		struct caller c;

		while (door_take(&d, &c))
			answer(&c);
		wait_a_moment();
	}
	close_door(&d);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
		skip();
	assert_int_equal(status, 0);
}

static time_t access_of(const char *path)
{
	struct stat st;

	assert_int_equal(lstat(path, &st), 0);
	return st.st_atim.tv_sec;
}

static void sockets_never_look_old(void **state)
{
	struct door d = DOOR_CLOSED;
	const char *path[2] = {d.rendezvous.path, d.rendezvous.others};
	int can_be_seen[2], count;

	(void)state;
	open_door(&d);
	count = *path[1] ? 2 : 1;
	for (int i = 0; i < count; i++)
		can_be_seen[i] = tell_silence(path[i]);
	d.touch_ns = 1000000;
	assert_int_equal(door_begin(&d), 0);
	for (int i = 0; i < count; i++) {
		while (access_of(path[i]) == 1000)
			wait_a_moment();
		assert_true(!can_be_seen[i] || !has_whole_second(path[i]));
	}
	close_door(&d);
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
		cmocka_unit_test(who_has_asked_is_never_dropped),
		cmocka_unit_test(others_leave_room_for_our_own),
		cmocka_unit_test(who_is_below_nobody_is_not_answered),
		cmocka_unit_test(a_wait_in_vain_is_forgotten_when_somebody_is_answered),
		cmocka_unit_test(a_wait_in_vain_is_not_forgotten_before),
		cmocka_unit_test(a_guest_of_roots_changes_no_settings),
		cmocka_unit_test(sockets_never_look_old),
		cmocka_unit_test(who_comes_when_all_is_over_is_refused_at_once),
		cmocka_unit_test(what_was_left_is_removed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
