/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Thread pointers of a child's threads, by all ways there are; and what a stop leaves behind:
 * nothing. Its signals arrive, its waits go on, and who was stopped before stays so.
 */
#include "reader/target/thread_stop.h"
#include "reader/tls/tls.h"
#include "reader/tls/tls_place.h"

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define THREADS 6
#define SIGNALS 200
#define EXITS 77

/* What a child says. */
struct shared {
	_Atomic int ready, signals;
	int32_t tid[THREADS];
	uint64_t pointer[THREADS];
};

static struct shared *shared;

/* Not even if @parent is dead by now. */
static void die_with(pid_t parent)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
}

static pid_t start(void (*body)(void))
{
	pid_t self = getpid(), pid;

	memset(shared, 0, sizeof(*shared));
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		die_with(self);
		body();
		_exit(0);
	}
	return pid;
}

static void await(const _Atomic int *word, int value)
{
	while (*word < value)
		usleep(1000);
}

static void end(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static uint64_t own_pointer(void)
{
	return (uint64_t)(uintptr_t)__builtin_thread_pointer();
}

/* Every second one runs. */
static void *member(void *arg)
{
	volatile int i = (int)(intptr_t)arg;

	shared->tid[i] = (int32_t)syscall(SYS_gettid);
	shared->pointer[i] = own_pointer();
	shared->ready++;
	while (i % 2)
		;
	pause();
	return NULL;
}

static void crowd(void)
{
	pthread_t id;

	for (intptr_t i = 1; i < THREADS; i++)
		if (pthread_create(&id, NULL, member, (void *)i))
			_exit(1);
	member(NULL);
}

static void test_all_ways(void **state)
{
	pid_t pid = start(crowd);
	struct target *t = NULL;

	(void)state;
	await(&shared->ready, THREADS);
	assert_int_equal(target_open(&t, pid), 0);
	for (int i = 0; i < THREADS; i++) {
		struct stopped_thread s;
		uint64_t pointer = 0;

#if defined(__x86_64__)
		assert_int_equal(thread_pointer_find(t, shared->tid[i], &pointer), 0);
		assert_int_equal(pointer, shared->pointer[i]);
#endif
		pointer = 0;
		assert_int_equal(thread_lists_find(t, shared->tid[i], &pointer), 0);
		assert_int_equal(pointer, shared->pointer[i]);
		pointer = 0;
		assert_int_equal(thread_stop(shared->tid[i], &s), 0);
		assert_int_equal(thread_pointer_of_stopped(shared->tid[i], &pointer), 0);
		thread_let_go(&s);
		assert_int_equal(pointer, shared->pointer[i]);
	}
	end(pid);
	target_close(t);
}

static void count_signal(int number)
{
	(void)number;
	shared->signals++;
}

static void receives(void)
{
	struct sigaction action = {.sa_handler = count_signal};

	sigaction(SIGRTMIN, &action, NULL);
	shared->ready = 1;
	for (;;)
		pause();
}

static void test_signals_arrive(void **state)
{
	pid_t pid = start(receives);

	(void)state;
	await(&shared->ready, 1);
	for (int i = 0; i < SIGNALS; i++) {
		struct stopped_thread s;

		assert_int_equal(sigqueue(pid, SIGRTMIN, (union sigval){0}), 0);
		assert_int_equal(thread_stop(pid, &s), 0);
		thread_let_go(&s);
	}
	await(&shared->signals, SIGNALS);
	assert_int_equal(shared->signals, SIGNALS);
	end(pid);
}

static int wait_pipe[2];

static void reads(void)
{
	char byte;

	close(wait_pipe[1]);
	shared->ready = 1;
	_exit(read(wait_pipe[0], &byte, 1) == 1 ? 42 : 1);
}

static void test_waits_go_on(void **state)
{
	struct stopped_thread s;
	int status;
	pid_t pid;

	(void)state;
	assert_int_equal(pipe(wait_pipe), 0);
	pid = start(reads);
	await(&shared->ready, 1);
	for (int i = 0; i < SIGNALS; i++) {
		assert_int_equal(thread_stop(pid, &s), 0);
		thread_let_go(&s);
	}
	assert_int_equal(write(wait_pipe[1], "", 1), 1);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(WEXITSTATUS(status), 42);
	close(wait_pipe[0]);
	close(wait_pipe[1]);
}

static char state_of(pid_t pid)
{
	char path[32], line[1024] = "", *at;
	FILE *stat;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	stat = fopen(path, "re");
	assert_non_null(stat);
	assert_non_null(fgets(line, sizeof(line), stat));
	fclose(stat);
	at = strrchr(line, ')');
	return at[2];
}

static void await_state(pid_t pid, char wanted)
{
	while (state_of(pid) != wanted)
		usleep(1000);
}

static void test_stopped_stays(void **state)
{
	pid_t pid = start(receives);
	struct stopped_thread s;

	(void)state;
	await(&shared->ready, 1);
	kill(pid, SIGSTOP);
	await_state(pid, 'T');
	for (int i = 0; i < 20; i++) {
		uint64_t pointer = 0;

		assert_int_equal(thread_stop(pid, &s), 0);
		assert_int_equal(thread_pointer_of_stopped(pid, &pointer), 0);
		thread_let_go(&s);
		await_state(pid, 'T');
	}
	kill(pid, SIGRTMIN);
	kill(pid, SIGCONT);
	await(&shared->signals, 1);
	end(pid);
}

static void in_vfork(void)
{
	pid_t self = getpid();

	shared->ready = 1;
	if (vfork() == 0) {
		die_with(self);
		pause();
		_exit(0);
	}
}

static void test_refused(void **state)
{
	struct stopped_thread s, second;
	pid_t pid = start(receives);

	(void)state;
	await(&shared->ready, 1);
	assert_int_equal(thread_stop(pid, &s), 0);
	assert_int_equal(thread_stop(pid, &second), -EPERM);
	thread_let_go(&s);
	kill(pid, SIGKILL);
	waitid(P_PID, (id_t)pid, NULL, WEXITED | WNOWAIT);
	assert_int_equal(thread_stop(pid, &s), -ESRCH);
	waitpid(pid, NULL, 0);
	assert_int_equal(thread_stop(pid, &s), -ESRCH);

	pid = start(in_vfork);
	await(&shared->ready, 1);
	await_state(pid, 'D');
	assert_int_equal(thread_stop(pid, &s), -EBUSY);
	end(pid);
}

static void *rests(void *arg)
{
	(void)arg;
	shared->tid[0] = (int32_t)syscall(SYS_gettid);
	shared->ready = 1;
	for (;;)
		pause();
	return NULL;
}

static void *execs(void *arg)
{
	(void)arg;
	await(&shared->signals, 1);
	execl("/proc/self/exe", "thread-pointer", "exits", (char *)NULL);
	_exit(1);
}

static void execs_beside(void)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, execs, NULL) ||
	    pthread_create(&thread, NULL, rests, NULL))
		_exit(1);
	for (;;)
		pause();
}

/* An exec ends the other threads, and waits for whoever traces one to take note. */
static void test_exec_of_stopped(void **state)
{
	pid_t pid = start(execs_beside);
	struct stopped_thread s;
	siginfo_t how;

	(void)state;
	await(&shared->ready, 1);
	assert_int_equal(thread_stop(shared->tid[0], &s), 0);
	shared->signals = 1;
	await_state(shared->tid[0], 'Z');
	thread_let_go(&s);
	/* the exec holds the lock that a stop takes */
	if (thread_stop(pid, &s) == 0)
		thread_let_go(&s);
	while (thread_stop_owed())
		usleep(1000);
	assert_int_equal(waitid(P_PID, (id_t)pid, &how, WEXITED), 0);
	assert_int_equal(how.si_status, EXITS);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_ways),    cmocka_unit_test(test_signals_arrive),
		cmocka_unit_test(test_waits_go_on), cmocka_unit_test(test_stopped_stays),
		cmocka_unit_test(test_refused),     cmocka_unit_test(test_exec_of_stopped),
	};

	if (argc > 1 && strcmp(argv[1], "exits") == 0)
		return EXITS;
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	return shared == MAP_FAILED ? 1 : cmocka_run_group_tests(tests, NULL, NULL);
}
