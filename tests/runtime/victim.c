/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program to be recorded, one behaviour per word of its command line:
 *   burn MS      CPU time on the main thread under span 1
 *   threads N MS N threads, thread i under span 0x100 + i, ended by return, pthread_exit and
 *                cancellation in turn
 *   fork MS      a child that burns under the parent's context
 *   execs N      N children that exec /bin/true
 *   forks N      N children that burn 2 ms and end
 *   ...          see the table at the end
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <weft/context.h>

static uint64_t cpu_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Mostly in user space, so that what interrupts it interrupts the program. */
static void burn_ms(long ms)
{
	uint64_t until = cpu_ns(CLOCK_THREAD_CPUTIME_ID) + (uint64_t)ms * 1000000;
	volatile uint64_t sink = 0;

	do
		for (int i = 0; i < 20000; i++)
			sink += (uint64_t)i * sink + 1;
	while (cpu_ns(CLOCK_THREAD_CPUTIME_ID) < until);
}

struct job {
	long number, ms;
};

static void *work(void *arg)
{
	const struct job *job = arg;

	weft_context_set(0x100 + (uint64_t)job->number, 0x42);
	burn_ms(job->ms);
	if (weft_context_get().span_id != 0x100 + (uint64_t)job->number)
		abort();
	if (job->number % 3 == 1)
		pthread_exit(NULL);
	while (job->number % 3 == 2)
		pause(); /* until cancelled */
	return NULL;
}

static int do_threads(char **a)
{
	long n = atol(a[0]);
	pthread_t threads[256];
	struct job jobs[256];

	for (long i = 0; i < n && i < 256; i++) {
		jobs[i] = (struct job){ i, atol(a[1]) };
		if (pthread_create(&threads[i], NULL, work, &jobs[i]))
			return 1;
	}
	for (long i = 0; i < n && i < 256; i++) {
		if (i % 3 == 2) {
			struct timespec nap = { .tv_nsec = 50000000 };

			nanosleep(&nap, NULL);
			pthread_cancel(threads[i]);
		}
		pthread_join(threads[i], NULL);
	}
	return 0;
}

static int do_burn(char **a)
{
	weft_context_set(1, 2);
	burn_ms(atol(a[0]));
	return 0;
}

static int do_whole(char **a)
{
	struct weft_context c = { .span_id = 5, .root_span_id = 6, .trace_id = { 0xAB } };

	weft_tag_name(0, "route");
	c.trace_id[15] = 0xCD;
	c.tags[0] = weft_tag_intern("/slow");
	WEFT_SCOPE(&c)
	{
		burn_ms(atol(a[0]));
	}
	return weft_context_get().span_id != 0;
}

static int wait_for(pid_t child)
{
	int status;

	if (child < 0 || waitpid(child, &status, 0) != child)
		return 1;
	return !WIFEXITED(status) || WEXITSTATUS(status) != 0;
}

static int do_fork(char **a)
{
	pid_t child;

	weft_context_set(7, 8);
	child = fork();
	if (child == 0) {
		if (weft_context_get().span_id != 7)
			_exit(9);
		burn_ms(atol(a[0]));
		_exit(weft_context_get().span_id == 7 ? 0 : 8);
	}
	return wait_for(child) || weft_context_get().span_id != 7;
}

/* No atfork handler runs: only the guard word tells the child. */
static int do_rawfork(char **a)
{
	pid_t child;

	weft_context_set(9, 10);
	child = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
	if (child == 0) {
		weft_context_set(0xBAD, 0xBAD);
		burn_ms(atol(a[0]));
		_exit(weft_context_get().span_id == 0xBAD ? 0 : 8);
	}
	return wait_for(child) || weft_context_get().span_id != 9;
}

static int do_execs(char **a)
{
	for (long i = 0; i < atol(a[0]); i++) {
		pid_t child = i % 2 ? vfork() : fork();

		if (child == 0) {
			execl("/bin/true", "true", (char *)NULL);
			_exit(127);
		}
		burn_ms(1);
		if (wait_for(child))
			return 1;
	}
	return 0;
}

static int do_forks(char **a)
{
	for (long i = 0; i < atol(a[0]); i++) {
		pid_t child = fork();

		if (child == 0) {
			burn_ms(2);
			_exit(0);
		}
		if (wait_for(child))
			return 1;
	}
	return 0;
}

/* Execs itself under its own timer's fire. */
static int do_chain(char **a)
{
	long left = atol(a[0]);
	char number[16];

	burn_ms(4);
	if (left <= 1)
		return 0;
	snprintf(number, sizeof(number), "%ld", left - 1);
	execl("/proc/self/exe", "victim", "chain", number, (char *)NULL);
	return 1;
}

static const struct {
	const char *name;
	int arguments;
	int (*run)(char **a);
} verbs[] = {
	{ "burn", 1, do_burn },	    { "threads", 2, do_threads }, { "whole", 1, do_whole },
	{ "fork", 1, do_fork },	    { "rawfork", 1, do_rawfork }, { "execs", 1, do_execs },
	{ "forks", 1, do_forks },   { "chain", 1, do_chain },
};

int main(int argc, char **argv)
{
	for (size_t i = 0; argc > 1 && i < sizeof(verbs) / sizeof(verbs[0]); i++)
		if (!strcmp(argv[1], verbs[i].name) && argc >= 2 + verbs[i].arguments)
			return verbs[i].run(argv + 2);
	return 2;
}
