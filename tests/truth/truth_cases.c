/* SPDX-License-Identifier: Apache-2.0 */
/* The programs of the truth suite: docs/accuracy.md says what each is there for. */
#include "truth.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <weft/context.h>
#include <weft/coro.h>

#define POOL 4
#define MANY_MAX 2000
#define SPANS 1000

static void sleep_until(uint64_t ns)
{
	struct timespec until = {.tv_sec = (time_t)(ns / 1000000000u),
				 .tv_nsec = (long)(ns % 1000000000u)};

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL))
		;
}

/* A long thread (A) that uses about as much as what stands beside it (B). */
static void *work_beside(void *unused)
{
	while (!is_enough())
		act(A, USER, 1);
	return unused;
}

static void beside_a(void (*once)(double ms), double ms)
{
	pthread_t a;

	if (pthread_create(&a, NULL, work_beside, NULL))
		abort();
	while (!is_enough())
		once(ms);
	pthread_join(a, NULL);
}

static void *request(void *ms)
{
	act(B, USER, *(double *)ms);
	return NULL;
}

static void one_thread(double ms)
{
	pthread_t b;

	if (pthread_create(&b, NULL, request, &ms))
		abort();
	pthread_join(b, NULL);
}

static void run_threads(double ms)
{
	beside_a(one_thread, ms);
}

static void one_fork(double ms)
{
	pid_t child = fork();

	if (!child) {
		act(B, USER, ms);
		_exit(0);
	}
	waitpid(child, NULL, 0);
}

static void run_forks(double ms)
{
	beside_a(one_fork, ms);
}

/* @is_vfork: the parent stands still until the child execs. */
static void exec_request(double ms, int is_vfork)
{
	char length[32], number[16];
	pid_t child;

	snprintf(length, sizeof(length), "--request=%g", ms);
	snprintf(number, sizeof(number), "--tally=%d", tally_fd);
	child = is_vfork ? vfork() : fork();
	if (!child) {
		execl("/proc/self/exe", own_argv[0], length, number, (char *)NULL);
		_exit(127);
	}
	waitpid(child, NULL, 0);
}

static void one_exec(double ms)
{
	exec_request(ms, 0);
}

static void one_vfork(double ms)
{
	exec_request(ms, 1);
}

static void run_execs(double ms)
{
	beside_a(one_exec, ms);
}

static void run_vforks(double ms)
{
	beside_a(one_vfork, ms);
}

/* Tasks of random length; 7 in 10 are A's. */
static void *pool_worker(void *ms)
{
	while (!is_enough())
		act(random_part() < 0.7 ? A : B, USER, *(double *)ms * (0.5 + random_part()));
	return NULL;
}

static void run_pool(double ms)
{
	pthread_t threads[POOL];

	for (size_t i = 0; i < POOL; i++)
		if (pthread_create(&threads[i], NULL, pool_worker, &ms))
			abort();
	for (size_t i = 0; i < POOL; i++)
		pthread_join(threads[i], NULL);
}

static void run_one_core(double ms)
{
	cpu_set_t set, one;

	CPU_ZERO(&one);
	sched_getaffinity(0, sizeof(set), &set);
	for (int cpu = 0; cpu < CPU_SETSIZE && !CPU_COUNT(&one); cpu++)
		if (CPU_ISSET((size_t)cpu, &set))
			CPU_SET((size_t)cpu, &one);
	sched_setaffinity(0, sizeof(one), &one);
	run_pool(ms);
}

static void both(double ms)
{
	act(A, USER, 0.7 * ms);
	act(B, USER, 0.3 * ms);
}

/* 15 % of each period, from @phase of it on; at most 30 ms. */
static void run_loop(double period_ms)
{
	uint64_t period = (uint64_t)(period_ms * 1e6);
	uint64_t next =
		now_ns(CLOCK_MONOTONIC) / period * period + (uint64_t)(phase * (double)period);
	uint64_t end = next + (uint64_t)(seconds * 10e9); /* a second of it takes too long */

	while (!is_enough() && next < end) {
		next += period;
		sleep_until(next);
		both(period_ms * 0.15 > 30 ? 30 : period_ms * 0.15);
	}
}

static void run_burst(double ms)
{
	while (!is_enough()) {
		both(ms);
		usleep(1000);
	}
}

/* Sleeps that end as the kernel's tick comes: the worst there is for a clock of ticks. */
static void run_tick_sleep(double ms)
{
	struct timespec tick;

	clock_getres(CLOCK_MONOTONIC_COARSE, &tick);
	while (!is_enough()) {
		sleep_until(now_ns(CLOCK_MONOTONIC_COARSE) + 2 * (uint64_t)tick.tv_nsec);
		both(ms);
	}
}

/* ---- waits, for the wall clock alone */

/* Work that is neither's, then a short wait (B), a fifth as much work, a long wait (A). */
static void *wait_behind(void *arg)
{
	double ms = *(double *)arg;
	uint64_t end = now_ns(CLOCK_MONOTONIC) + (uint64_t)(seconds * 4e9);

	while (now_ns(CLOCK_MONOTONIC) < end) {
		act_plain(A, ms / 2);
		act(B, WAIT, ms);
		act_plain(A, ms / 10);
		act(A, WAIT, 6 * ms);
	}
	return NULL;
}

static void run_wait_behind(double ms)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, wait_behind, &ms))
		abort();
	wait_behind(&ms);
	pthread_join(thread, NULL);
}

/* A tenth of each period, from @phase of it on; then a wait of as much. */
static void run_wait_step(double period_ms)
{
	uint64_t period = (uint64_t)(period_ms * 1e6);
	uint64_t next =
		now_ns(CLOCK_MONOTONIC) / period * period + (uint64_t)(phase * (double)period);
	uint64_t end = next + (uint64_t)(seconds * 4e9);

	while (next < end) {
		next += period;
		sleep_until(next);
		act(A, USER, period_ms * 0.1);
		act(B, WAIT, period_ms * 0.2);
	}
}

static void run_reads(double ms)
{
	while (!is_enough()) {
		act(A, USER, ms);
		act(B, READS, ms);
	}
}

static void run_pipes(double ms)
{
	while (!is_enough()) {
		act(A, USER, ms);
		act(B, PIPES, ms);
	}
}

static void run_huge(double ms)
{
	while (!is_enough()) {
		act(A, USER, ms);
		act(B, HUGE_WRITE, ms);
	}
}

/* ---- two threads that wait for each other at each step */

struct turns {
	int in, out;
	double ms;
};

static void *take_turns(void *arg)
{
	struct turns *t = arg;
	char c;

	while (read(t->in, &c, 1) == 1 && !is_enough()) {
		act(random_part() < 0.7 ? A : B, USER, t->ms * (0.5 + random_part()));
		if (write(t->out, &c, 1) != 1)
			break;
	}
	close(t->out);
	return NULL;
}

static void run_switches(double ms)
{
	int there[2], back[2];
	struct turns one, other;
	pthread_t thread;

	if (pipe(there) || pipe(back) || write(back[1], "", 1) != 1)
		abort();
	one = (struct turns){back[0], there[1], ms};
	other = (struct turns){there[0], back[1], ms};
	signal(SIGPIPE, SIG_IGN);
	if (pthread_create(&thread, NULL, take_turns, &other))
		abort();
	take_turns(&one);
	pthread_join(thread, NULL);
}

/* ---- many threads at once */

static void *one_of_many(void *ms)
{
	both(*(double *)ms);
	sched_yield();
	both(*(double *)ms);
	return NULL;
}

static void run_many(double count)
{
	static pthread_t threads[MANY_MAX];
	pthread_attr_t attr;
	double ms = 1000 * seconds / count / 2;
	int n = 0;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 131072);
	while (n < (int)count && !pthread_create(&threads[n], &attr, one_of_many, &ms))
		n++;
	while (n > 0)
		pthread_join(threads[--n], NULL);
	pthread_attr_destroy(&attr);
}

/* 1 % of the weight on a thousand spans, which are B. */
static void run_spans(double ms)
{
	for (uint64_t i = 0; !is_enough(); i++) {
		act(A, USER, 0.99 * ms);
		act_in_span(B, 0.01 * ms, 1000 + i % SPANS);
	}
}

/* Two coroutines take turns on one thread; their contexts are theirs. */
static void run_coros(double ms)
{
	struct weft_coro coros[KINDS];
	struct used began;
	uint64_t passed;
	uint32_t names[KINDS] = {weft_tag_intern("on-A"), weft_tag_intern("on-B")};

	for (int k = 0; k < KINDS; k++) {
		weft_coro_create(&coros[k], NULL);
		weft_coro_resume(&coros[k], NULL);
		weft_context_set((uint64_t)k + 1, 1);
		weft_tag_set(0, names[k]);
		weft_coro_suspend(&coros[k], NULL);
	}
	used_open();
	while (!is_enough()) {
		for (int k = 0; k < KINDS; k++) {
			used_begin(&began);
			passed = now_ns(CLOCK_MONOTONIC);
			weft_coro_resume(&coros[k], NULL);
			act_plain(k, ms * (k == A ? 0.7 : 0.3));
			weft_coro_suspend(&coros[k], NULL);
			__atomic_fetch_add(&tally->passed_ns[k], now_ns(CLOCK_MONOTONIC) - passed,
					   __ATOMIC_RELAXED);
			__atomic_fetch_add(&tally->used_ns[k], used_since(&began),
					   __ATOMIC_RELAXED);
		}
	}
	used_close();
	for (int k = 0; k < KINDS; k++)
		weft_coro_destroy(&coros[k]);
}

/* ---- threads that signals do not reach as usual */

static void *work_deaf(void *ms)
{
	sigset_t all;

	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, NULL);
	while (!is_enough())
		act(B, USER, *(double *)ms);
	return NULL;
}

static void run_deaf(double ms)
{
	pthread_t b;

	if (pthread_create(&b, NULL, work_deaf, &ms))
		abort();
	work_beside(NULL);
	pthread_join(b, NULL);
}

static void on_timer(union sigval value)
{
	act(B, USER, value.sival_int / 1000.0);
}

static void run_timer_threads(double ms)
{
	struct sigevent event = {.sigev_notify = SIGEV_THREAD,
				 .sigev_notify_function = on_timer,
				 .sigev_value.sival_int = (int)(ms * 1000)};
	struct itimerspec every = {.it_value = {.tv_nsec = 4700000},
				   .it_interval = {.tv_nsec = 4700000}};
	timer_t timer;

	if (timer_create(CLOCK_MONOTONIC, &event, &timer) || timer_settime(timer, 0, &every, NULL))
		abort();
	work_beside(NULL);
	timer_delete(timer);
	usleep(50000); /* the last thread ends */
}

const struct program programs[] = {
	{"thread-0.1", run_threads, 0.1,
	 "a thread per request of 0.1 ms (B) beside a long one (A)"},
	{"thread-0.3", run_threads, 0.3, "of 0.3 ms"},
	{"thread-0.5", run_threads, 0.5, "of 0.5 ms"},
	{"thread-1", run_threads, 1, "of 1 ms"},
	{"thread-2", run_threads, 2, "of 2 ms"},
	{"thread-5", run_threads, 5, "of 5 ms"},
	{"thread-10", run_threads, 10, "of 10 ms"},
	{"thread-50", run_threads, 50, "of 50 ms"},
	{"pool", run_pool, 3, "four workers, tasks of random length, A 70"},
	{"one-core", run_one_core, 3, "the same on one CPU"},
	{"loop-1", run_loop, 1, "15 % of each millisecond, A 70"},
	{"loop-5", run_loop, 5, "of each 5 ms"},
	{"loop-10", run_loop, 10, "of each 10 ms"},
	{"loop-20", run_loop, 20, "of each 20 ms"},
	{"loop-100", run_loop, 100, "of each 100 ms"},
	{"loop-1000", run_loop, 1000, "30 ms of each second"},
	{"burst", run_burst, 4, "2.8 ms of A, 1.2 ms of B, 1 ms of sleep"},
	{"tick-sleep", run_tick_sleep, 3, "sleeps that end with the tick, then 3 ms, A 70"},
	{"reads", run_reads, 1, "1 ms in user mode (A), 1 ms of small reads (B)"},
	{"pipes", run_pipes, 1, "1 ms in user mode (A), 1 ms of pipes (B)"},
	{"huge-writes", run_huge, 30, "30 ms in user mode (A), 30 ms in one call (B)"},
	{"switches", run_switches, 0.05, "two threads in turns of 50 us, A 70"},
	{"fork", run_forks, 2, "a process per request of 2 ms (B) beside a long thread (A)"},
	{"exec", run_execs, 5, "the same with exec, 5 ms"},
	{"vfork", run_vforks, 5, "the same by vfork"},
	{"many-1", run_many, 1, "one thread, A 70"},
	{"many-100", run_many, 100, "100 threads at once, A 70"},
	{"many-2000", run_many, 2000, "2 000 threads at once, A 70"},
	{"spans", run_spans, 2, "1 % of the weight (B) on a thousand spans"},
	{"wait-behind-15", run_wait_behind, 15,
	 "15 ms of wait (B) behind 8 of work, 90 (A) behind 2"},
	{"wait-behind-4", run_wait_behind, 4, "4 ms (B) behind 2 of work, 24 (A)"},
	{"wait-step-13", run_wait_step, 13.333, "in step with the looks: work (A), and a wait (B)"},
	{"wait-step-40", run_wait_step, 40, "in step with three of them"},
	{"coroutines", run_coros, 0.5, "two coroutines in turns, A 70"},
	{"deaf", run_deaf, 1, "a thread that blocks all signals (B) beside a long one (A)"},
	{"timer-threads", run_timer_threads, 1,
	 "SIGEV_THREAD threads of 1 ms (B) beside a long one"},
	{NULL, NULL, 0, NULL},
};
