/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The platform interface, of Linux or (PLATFORM_POSIX) of the portable subset: what is said to
 * be available works, and what is not says so.
 */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/platform.h"

#define THREADS 70 /* more than one listing of 1 KiB holds */

static _Alignas(8) char room[1024];

#ifdef PLATFORM_POSIX

static int never(void *arg, int32_t tid)
{
	(void)arg, (void)tid;
	fail();
	return 1;
}

static void says_what_it_lacks(void **state)
{
	int first = 7, last = 7;

	(void)state;
	assert_false(platform_priming_is_available());
	assert_int_equal(platform_threads_count(0), -ENOSYS);
	assert_int_equal(platform_threads_enumerate(0, room, sizeof(room), never, NULL), -ENOSYS);
	assert_int_equal(platform_thread_signal(0, getpid(), SIGURG, 1), -ENOSYS);
	assert_int_equal(platform_realtime_signals(&first, &last), -ENOSYS);
	assert_int_equal(first + last, 14);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(says_what_it_lacks)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

static pthread_barrier_t barrier;
static int32_t started[THREADS];

static void *stand(void *arg)
{
	*(int32_t *)arg = (int32_t)syscall(SYS_gettid);
	pthread_barrier_wait(&barrier);
	pthread_barrier_wait(&barrier);
	return NULL;
}

struct seen {
	int count, known, stop_at;
};

static int see(void *arg, int32_t tid)
{
	struct seen *s = arg;

	assert_true(tid > 0);
	s->count++;
	for (int i = 0; i < THREADS; i++)
		s->known += started[i] == tid;
	return s->stop_at == s->count ? 42 : 0;
}

static void threads_are_counted_and_listed(void **state)
{
	struct seen all = {0}, few = {.stop_at = 3};
	pthread_t threads[THREADS];
	int before = platform_threads_count(0);

	(void)state;
	assert_true(platform_priming_is_available());
	assert_true(before >= 1); /* a sanitizer may have one of its own */
	pthread_barrier_init(&barrier, NULL, THREADS + 1);
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, stand, &started[i]), 0);
	pthread_barrier_wait(&barrier);
	assert_int_equal(platform_threads_count(0), before + THREADS);
	assert_int_equal(platform_threads_count(getpid()), before + THREADS);
	assert_int_equal(platform_threads_enumerate(0, room, sizeof(room), see, &all), 0);
	assert_int_equal(all.count, before + THREADS);
	assert_int_equal(all.known, THREADS);
	assert_int_equal(platform_threads_enumerate(getpid(), room, sizeof(room), see, &few), 42);
	assert_int_equal(few.count, 3);
	pthread_barrier_wait(&barrier);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
}

static void of_no_process_there_are_none(void **state)
{
	struct seen none = {0};
	pid_t gone = fork();

	(void)state;
	if (gone == 0)
		_exit(0);
	assert_int_equal(waitpid(gone, NULL, 0), gone);
	assert_true(platform_threads_count(gone) < 0);
	assert_true(platform_threads_enumerate(gone, room, sizeof(room), see, &none) < 0);
	assert_int_equal(platform_threads_enumerate(0, room, 100, see, &none), -EINVAL);
	assert_int_equal(none.count, 0);
	assert_true(platform_thread_signal(0, gone, SIGURG, 1) < 0);
}

static volatile sig_atomic_t delivered;
static siginfo_t delivered_info;
static int32_t delivered_to;

static void deliver(int signo, siginfo_t *info, void *ucontext)
{
	(void)signo, (void)ucontext;
	memcpy(&delivered_info, info, sizeof(*info));
	delivered_to = (int32_t)syscall(SYS_gettid);
	delivered++;
}

/* To the one thread that was named, with the value, as one that was queued. */
static void a_signal_is_delivered(void **state)
{
	struct sigaction action = {.sa_sigaction = deliver, .sa_flags = SA_SIGINFO}, old;
	int32_t self = (int32_t)syscall(SYS_gettid);

	(void)state;
	assert_int_equal(sigaction(SIGURG, &action, &old), 0);
	errno = 7;
	assert_int_equal(platform_thread_signal(0, self, SIGURG, 0x123456789ABCDEFu), 0);
	while (!delivered)
		;
	assert_int_equal(delivered, 1);
	assert_int_equal(delivered_to, self);
	assert_int_equal(delivered_info.si_code, SI_QUEUE);
	assert_int_equal(delivered_info.si_pid, getpid());
	assert_true((uintptr_t)delivered_info.si_value.sival_ptr == 0x123456789ABCDEFu);
	assert_int_equal(errno, 7);
	assert_int_equal(sigaction(SIGURG, &old, NULL), 0);
}

static void realtime_signals_are_within_libcs_own(void **state)
{
	int first = 0, last = 0;

	(void)state;
	assert_int_equal(platform_realtime_signals(&first, &last), 0);
	assert_true(first >= SIGRTMIN);
	assert_true(last <= SIGRTMAX);
	assert_true(first < last);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(threads_are_counted_and_listed),
		cmocka_unit_test(of_no_process_there_are_none),
		cmocka_unit_test(a_signal_is_delivered),
		cmocka_unit_test(realtime_signals_are_within_libcs_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

#endif
