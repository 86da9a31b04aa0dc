/* SPDX-License-Identifier: Apache-2.0 */
/* The byte that wakes an engine which does not come by itself, and who gets it. */
#include <pthread.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "probe.h"

#define THREADS 4

static struct probe_file file;
static int listener, engine;

static void open_socket(void)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};

	snprintf(address.sun_path, sizeof(address.sun_path), "%s.sock", file.path);
	listener = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	assert_true(listener >= 0 &&
		    !bind(listener, (struct sockaddr *)&address, sizeof(address)) &&
		    !listen(listener, 4));
	setenv("CTP_SOCK_PATH", address.sun_path, 1);
}

static void setup(int extended, uint32_t features)
{
	file = probe_file(16, extended, features);
	open_socket();
}

static void gone(void)
{
	close(listener);
	unlink(getenv("CTP_SOCK_PATH"));
	probe_file_gone(&file);
}

static ssize_t bytes_there(void)
{
	char buf[16];
	ssize_t n = recv(engine, buf, sizeof(buf), MSG_DONTWAIT);
	ssize_t i;

	for (i = 0; i < n; i++)
		CHECK(buf[i], ==, '1');
	return n;
}

static void one_event(struct weft_coro *c)
{
	weft_coro_resume(c, NULL);
}

static void sleeps_and_wakes(void *arg)
{
	struct weft_coro c;

	(void)arg;
	CHECK(weft_coro_create(&c, NULL), ==, 1);
	engine = accept(listener, NULL, NULL); /* connected before its first event */
	CHECK(engine, >=, 0);
	one_event(&c);
	CHECK(bytes_there(), ==, -1);
	file.header->tracer_sleeping = 1;
	one_event(&c);
	CHECK(file.header->tracer_sleeping, ==, 0);
	CHECK(bytes_there(), ==, 1);
	one_event(&c);
	CHECK(bytes_there(), ==, -1);
	weft_coro_suspend(&c, NULL);
	file.header->tracer_sleeping = 1;
	weft_coro_destroy(&c); /* its death is news too */
	CHECK(bytes_there(), ==, 1);
}

static void under_the_peer(void **state)
{
	(void)state;
	setup(PEER, 0);
	in_child(sleeps_and_wakes, NULL);
	assert_int_equal(file.header->wakes_sent, 0);
	gone();
	setup(OURS, 0); /* extended, but it does not come by itself */
	in_child(sleeps_and_wakes, NULL);
	assert_int_equal(file.header->wakes_sent, 2);
	gone();
}

static void is_left_alone(void *arg)
{
	struct weft_coro c;

	(void)arg;
	CHECK(weft_coro_create(&c, NULL), ==, 1);
	engine = accept(listener, NULL, NULL);
	file.header->tracer_sleeping = 1;
	one_event(&c);
	CHECK(file.header->tracer_sleeping, ==, 1);
	CHECK(bytes_there(), ==, -1);
}

static void by_timer(void **state)
{
	(void)state;
	setup(OURS, WEFT_CTP_TIMER);
	in_child(is_left_alone, NULL);
	gone();
}

static void *events_of_thread(void *arg)
{
	struct weft_coro c;
	int i;

	CHECK(weft_coro_create(&c, NULL), ==, 1);
	for (i = 0; i < 2000; i++)
		weft_coro_resume(&c, arg);
	return NULL;
}

/* As many bytes as there were sleeps: one probe wins each. */
static void one_byte_per_sleep(void *arg)
{
	pthread_t thread[THREADS];
	struct weft_coro c;
	ssize_t sleeps = 0, bytes = 0, got;
	int i;

	(void)arg;
	CHECK(weft_coro_create(&c, NULL), ==, 1);
	engine = accept(listener, NULL, NULL);
	for (i = 0; i < THREADS; i++)
		CHECK(pthread_create(&thread[i], NULL, events_of_thread, NULL), ==, 0);
	for (i = 0; i < 1000; i++) {
		uint32_t awake = 0;

		sleeps += __atomic_compare_exchange_n(&file.header->tracer_sleeping, &awake, 1, 0,
						      __ATOMIC_SEQ_CST, __ATOMIC_RELAXED);
		got = bytes_there();
		bytes += got > 0 ? got : 0;
	}
	for (i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	weft_coro_resume(&c, NULL);
	while ((got = bytes_there()) > 0)
		bytes += got;
	CHECK(file.header->tracer_sleeping, ==, 0);
	CHECK(bytes, ==, sleeps);
	CHECK(sleeps, >, 0);
}

static void many_threads(void **state)
{
	(void)state;
	setup(PEER, 0);
	in_child(one_byte_per_sleep, NULL);
	gone();
}

/* The engine dies: no SIGPIPE, no error, no matter. */
static void engine_dies(void *arg)
{
	struct weft_coro c;
	int i;

	(void)arg;
	CHECK(weft_coro_create(&c, NULL), ==, 1);
	engine = accept(listener, NULL, NULL);
	close(engine);
	close(listener);
	errno = 0;
	for (i = 0; i < 3; i++) {
		file.header->tracer_sleeping = 1;
		one_event(&c);
	}
	CHECK(errno, ==, 0);
	CHECK(c.station->totals.resumes, ==, 3);
}

static void dead_engine(void **state)
{
	(void)state;
	setup(PEER, 0);
	in_child(engine_dies, NULL);
	gone();
}

/* The program closes every descriptor and opens its own: none of its streams gets our byte. */
static void others_socket(void *arg)
{
	int pair[2], fd;
	struct weft_coro c;
	char byte;

	(void)arg;
	CHECK(weft_coro_create(&c, NULL), ==, 1);
	CHECK(weft_probe_process.socket, >, 2);
	fd = weft_probe_process.socket;
	close(fd);
	CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), ==, 0);
	CHECK(dup2(pair[0], fd), ==, fd);
	file.header->tracer_sleeping = 1;
	one_event(&c);
	CHECK(recv(pair[1], &byte, 1, MSG_DONTWAIT), ==, -1);
}

static void not_the_programs(void **state)
{
	(void)state;
	setup(PEER, 0);
	in_child(others_socket, NULL);
	gone();
}

/* Standard streams that are closed stay closed. */
static void keeps_numbers_free(void *arg)
{
	struct weft_coro c;

	(void)arg;
	close(0);
	CHECK(weft_coro_create(&c, NULL), ==, 1);
	CHECK(fcntl(0, F_GETFD), ==, -1);
	CHECK(weft_probe_process.socket, >, 2);
}

static void standard_streams(void **state)
{
	char too_long[200];

	(void)state;
	setup(PEER, 0);
	in_child(keeps_numbers_free, NULL);
	memset(too_long, 'a', sizeof(too_long));
	too_long[sizeof(too_long) - 1] = 0;
	unlink(getenv("CTP_SOCK_PATH"));
	setenv("CTP_SOCK_PATH", too_long, 1);
	in_child(engine_dies, NULL); /* no socket: events all the same */
	close(listener);
	probe_file_gone(&file);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(under_the_peer),   cmocka_unit_test(by_timer),
		cmocka_unit_test(many_threads),     cmocka_unit_test(dead_engine),
		cmocka_unit_test(not_the_programs), cmocka_unit_test(standard_streams),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
