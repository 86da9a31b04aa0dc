/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Uses CPU time in processes and threads of every kind, and says what each process has used by
 * what wait4(2) told of it: "PID KIND NANOSECONDS", a line each, in $ACCOUNT_LOG. Each kind is a
 * process of its own that waits for no child, so that nothing but its own is in that.
 */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double used(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void burn(double seconds)
{
	double until = used() + seconds;
	volatile unsigned int x = 0;

	while (used() < until)
		for (int i = 0; i < 1000; i++)
			x += (unsigned int)i;
	(void)x;
}

static int finished; /* atomic: threads, or notifications */

static void wait_for(int count)
{
	while (__atomic_load_n(&finished, __ATOMIC_ACQUIRE) < count)
		usleep(1000);
}

static void *burn_and_stay(void *seconds)
{
	burn(*(double *)seconds);
	__atomic_add_fetch(&finished, 1, __ATOMIC_RELEASE);
	for (;;)
		pause();
	return NULL;
}

static void *burn_and_end(void *seconds)
{
	burn(*(double *)seconds);
	return NULL;
}

static void pool(void)
{
	double seconds = 0.15;
	pthread_t t;

	for (int i = 0; i < 3; i++)
		pthread_create(&t, NULL, burn_and_stay, &seconds);
	wait_for(3);
}

static void storm(void)
{
	double seconds = 0.0007;
	pthread_t t;

	for (int i = 0; i < 600; i++) {
		pthread_create(&t, NULL, burn_and_end, &seconds);
		pthread_join(t, NULL);
	}
}

static void notify(union sigval value)
{
	(void)value;
	burn(0.02);
	__atomic_add_fetch(&finished, 1, __ATOMIC_RELEASE);
}

static void notifications(void)
{
	struct sigevent event = {.sigev_notify = SIGEV_THREAD, .sigev_notify_function = notify};
	struct itimerspec once = {.it_value = {.tv_nsec = 1000000}};
	timer_t timer;

	if (timer_create(CLOCK_MONOTONIC, &event, &timer))
		exit(3);
	for (int i = 0; i < 15; i++) {
		timer_settime(timer, 0, &once, NULL);
		wait_for(i + 1);
	}
}

static void *block_and_burn(void *arg)
{
	uint64_t all = UINT64_MAX;

	pthread_setname_np(pthread_self(), "blocker");
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, NULL, sizeof(all));
	burn(0.4);
	return arg;
}

static void blocked(void)
{
	pthread_t t;

	pthread_create(&t, NULL, block_and_burn, NULL);
	pthread_join(t, NULL);
}

static int raw_thread(void *arg)
{
	(void)arg;
	burn(0.15);
	__atomic_add_fetch(&finished, 1, __ATOMIC_RELEASE);
	syscall(SYS_exit, 0);
	return 0;
}

static void raw(void)
{
	static _Alignas(64) char stack[2][65536];

	for (int i = 0; i < 2; i++)
		clone(raw_thread, stack[i] + sizeof(stack[i]),
		      CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD |
			      CLONE_SYSVSEM,
		      NULL);
	wait_for(2);
}

static void forked(void)
{
	burn(0.3);
}

static void execs(void)
{
	burn(0.15);
	execl("/proc/self/exe", "account", "again", (char *)NULL);
}

static const struct {
	const char *name;
	void (*run)(void);
	int is_fork; /* of this process, with no program of its own */
} kinds[] = {
	{"pool", pool, 0},       {"storm", storm, 0}, {"notifications", notifications, 0},
	{"blocked", blocked, 0}, {"raw", raw, 0},     {"forked", forked, 1},
	{"execs", execs, 0},
};
#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

static void run_kind(FILE *log, size_t kind)
{
	struct rusage r;
	pid_t pid = fork();
	int status;

	if (pid == 0 && kinds[kind].is_fork) {
		kinds[kind].run();
		_exit(0);
	}
	if (pid == 0) {
		execl("/proc/self/exe", "account", kinds[kind].name, (char *)NULL);
		_exit(2);
	}
	if (wait4(pid, &status, 0, &r) != pid || status)
		exit(1);
	fprintf(log, "%d %s %lld\n", (int)pid, kinds[kind].name,
		(r.ru_utime.tv_sec + r.ru_stime.tv_sec) * 1000000000LL +
			(r.ru_utime.tv_usec + r.ru_stime.tv_usec) * 1000LL);
}

int main(int argc, char **argv)
{
	const char *path = getenv("ACCOUNT_LOG");
	FILE *log;

	for (size_t i = 0; argc > 1 && i < KINDS; i++)
		if (strcmp(argv[1], kinds[i].name) == 0) {
			kinds[i].run();
			return 0;
		}
	if (argc > 1) {
		burn(0.15);
		return 0;
	}
	log = fopen(path ? path : "/dev/null", "w");
	if (!log)
		return 1;
	for (size_t i = 0; i < KINDS; i++)
		run_kind(log, i);
	return fclose(log) != 0;
}
