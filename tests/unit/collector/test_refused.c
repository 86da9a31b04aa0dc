/* SPDX-License-Identifier: Apache-2.0 */
/* Processes that ask again: one for which no session can be made, one that has its session. */
#include "base/clock.h"
#include "collector/run/collector.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <weft/abi/rendezvous.h>

#include <cmocka.h>

#include "target.h"

static char file[64];

static struct collector *open_collector(void)
{
	struct collector_options o = {
		.path = file, .command_line = "test", .version = "0", .period_ns = 5000000};
	struct collector *c = NULL;
	const char *what;

	snprintf(file, sizeof(file), "/tmp/weft-refused-%d.jfr", (int)getpid());
	assert_int_equal(collector_open(&c, &o, &what), 0);
	return c;
}

static int end(pid_t pid)
{
	int status = -1;

	waitpid(pid, &status, 0);
	return status;
}

/* Gone before anybody looks at it, so that no session can be made. */
static pid_t ask_three_times_and_end(const struct collector *c, const int fd[3])
{
	struct weft_hello hello = {.magic = WEFT_RENDEZVOUS_MAGIC,
				   .version = WEFT_RENDEZVOUS_VERSION};
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	pid_t pid = fork();

	if (pid)
		return pid;
	strncpy(address.sun_path, collector_socket(c), sizeof(address.sun_path) - 1);
	for (int i = 0; i < 3; i++)
		if (connect(fd[i], (struct sockaddr *)&address, sizeof(address)) ||
		    send(fd[i], &hello, sizeof(hello), 0) != (ssize_t)sizeof(hello))
			_exit(1);
	_exit(0);
}

static void one_that_asks_again_is_refused_once(void **state)
{
	struct collector *c = open_collector();
	struct collector_result result;
	int fd[3];

	(void)state;
	for (int i = 0; i < 3; i++)
		assert_true((fd[i] = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0)) >= 0);
	assert_int_equal(end(ask_three_times_and_end(c, fd)), 0);
	collector_set_root(c, getpid()); /* until now all wait */
	for (int i = 0; i < 3; i++) {
		struct weft_welcome welcome;

		assert_int_equal(recv(fd[i], &welcome, sizeof(welcome), 0), sizeof(welcome));
		assert_int_equal(welcome.status, -ENOENT);
		close(fd[i]);
	}
	assert_int_equal(collector_finish(c, &result), 0);
	assert_int_equal(result.gone, 1);
	assert_int_equal(result.refused, 0);
	collector_free(c);
	unlink(file);
}

/* A child joins, and asks once more while the session is mapped. */
static int ask_beside_a_session(const struct collector *c)
{
	struct target first, second;

	if (target_join(&first, collector_socket(c)))
		return 1;
	target_claim(&first, 0, 1);
	target_sample(&first, 0, 1, clock_mono_ns(), 1, 1);
	if (target_join(&second, collector_socket(c)) != -ECANCELED)
		return 2;
	target_sample(&first, 0, 1, clock_mono_ns(), 1, 2);
	return 0;
}

static void a_second_runtime_does_not_end_the_session_of_the_first(void **state)
{
	struct collector *c = open_collector();
	struct collector_result result;
	char warning[256];
	pid_t pid;

	(void)state;
	collector_set_root(c, getpid());
	pid = fork();
	if (pid == 0)
		_exit(ask_beside_a_session(c));
	assert_int_equal(end(pid), 0);
	assert_int_equal(collector_finish(c, &result), 0);
	assert_int_equal(collector_warning(c, warning, sizeof(warning)), 1);
	assert_non_null(strstr(warning, "second weft runtime"));
	assert_int_equal(result.processes, 1);
	assert_int_equal(result.total.delivered, 2);
	collector_free(c);
	unlink(file);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_that_asks_again_is_refused_once),
		cmocka_unit_test(a_second_runtime_does_not_end_the_session_of_the_first),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
