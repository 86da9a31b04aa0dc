/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The wall engine beside a child with many threads that are blocked: what a first look at one
 * costs and what a repeated one, by the clock of this thread; and which share of a CPU the engine
 * takes at 20 Hz, in the seconds after it began (looks get rarer) and when it has come to rest.
 * Then the same for threads that wake at every tick, for which each look is a first one.
 */
#include "harness.h"

#include "base/clock.h"
#include "collector/look/wall.h"
#include "collector/write/process_work.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define THREADS 1000
#define PERIOD_NS UINT64_C(50000000)
#define SECOND_NS UINT64_C(1000000000)

struct watched_child {
	pid_t pid;
	struct process *process;
	struct threads *threads;
	struct wall *wall;
	struct queue queue;
	struct session_counts counts;
};

static void thread_new(void *arg, struct watched_thread *t)
{
	wall_thread_new(((struct watched_child *)arg)->wall, t);
}

static void thread_dead(void *arg, struct watched_thread *t)
{
	struct watched_child *c = arg;

	if (c->wall)
		wall_thread_dead(c->wall, t, clock_mono_ns());
}

static void *block(void *arg)
{
	const struct timespec *pause = arg;

	for (;;)
		nanosleep(pause, NULL);
	return NULL;
}

static void run_child(int ready, const struct timespec *pause)
{
	pthread_attr_t small;
	pthread_t thread;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 128 * 1024);
	for (int i = 1; i < THREADS; i++)
		if (pthread_create(&thread, &small, block, (void *)(uintptr_t)pause))
			_exit(1);
	if (write(ready, "", 1) == 1)
		block((void *)(uintptr_t)pause);
	_exit(1);
}

static bool start_child(struct watched_child *c, const struct timespec *pause)
{
	int ends[2];
	char byte;

	if (pipe(ends))
		return false;
	c->pid = fork();
	if (c->pid == 0)
		run_child(ends[1], pause);
	close(ends[1]);
	if (c->pid < 0 || read(ends[0], &byte, 1) != 1) {
		close(ends[0]);
		return false;
	}
	close(ends[0]);
	return process_new(&c->process, c->pid) == 0;
}

static bool begin(struct watched_child *c, const struct timespec *pause)
{
	static const struct wall_options options = {.period_ns = PERIOD_NS};
	struct threads_callbacks callbacks = {
		.on_new_thread = thread_new, .on_dead_thread = thread_dead, .arg = c};

	memset(c, 0, sizeof(*c));
	if (!start_child(c, pause) || queue_init(&c->queue, 1 << 30))
		return false;
	c->process->inside_pid = c->pid;
	c->process->opened_ns = clock_mono_ns();
	c->wall = wall_new(c->process, &options, &c->queue, &c->counts);
	c->threads = threads_new(c->process, &callbacks);
	return c->wall && c->threads && threads_look(c->threads, clock_mono_ns()) >= THREADS;
}

static void empty(struct watched_child *c)
{
	while (c->queue.first)
		free(queue_pop(&c->queue));
}

static void end(struct watched_child *c)
{
	wall_free(c->wall, clock_mono_ns());
	c->wall = NULL;
	threads_free(c->threads);
	kill(c->pid, SIGKILL);
	waitpid(c->pid, NULL, 0);
	process_free(c->process);
	queue_destroy(&c->queue);
}

/* CPU time of this thread for a pass over all, as if it were @now_ns. */
static uint64_t pass(struct watched_child *c, uint64_t now_ns)
{
	uint64_t before_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);

	wall_tick(c->wall, c->threads, now_ns, UINT64_MAX);
	return clock_ns(CLOCK_THREAD_CPUTIME_ID) - before_ns;
}

/* Calls of this thread that read: nearly all that the engine makes. 0: the kernel does not count.
 */
static uint64_t reads(void)
{
	char line[64];
	unsigned long long count = 0;
	FILE *file = fopen("/proc/thread-self/io", "r");

	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "syscr: %llu", &count) == 1)
			break;
	if (file)
		fclose(file);
	return count;
}

/* As the outside thread does it; the share of a CPU that it takes. */
static double share(struct watched_child *c, uint64_t seconds)
{
	uint64_t from_ns = clock_mono_ns(), until_ns = from_ns + seconds * SECOND_NS;
	uint64_t cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID), now_ns = from_ns;

	while (now_ns < until_ns) {
		uint64_t due_ns = wall_tick(c->wall, c->threads, now_ns, SECOND_NS);
		struct timespec due = {(time_t)(due_ns / SECOND_NS), (long)(due_ns % SECOND_NS)};

		empty(c);
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &due, NULL);
		now_ns = clock_mono_ns();
	}
	cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) - cpu_ns;
	return 100.0 * (double)cpu_ns / (double)(now_ns - from_ns);
}

static double read_us; /* of a run count, from a file that is open */

static void measure_read(void)
{
	int fd = open("/proc/self/schedstat", O_RDONLY | O_CLOEXEC);
	uint64_t before_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	char text[128];

	for (int i = 0; i < THREADS; i++)
		if (pread(fd, text, sizeof(text), 0) <= 0)
			break;
	read_us = (double)(clock_ns(CLOCK_THREAD_CPUTIME_ID) - before_ns) / THREADS / 1e3;
	close(fd);
}

static void add_look(const char *operation, double us)
{
	bench_add(&(struct bench_row){.operation = operation,
				      .unit = "us",
				      .measured = us,
				      .baseline = "a read of schedstat alone",
				      .base = read_us});
}

static void add_reads(double a_second)
{
	bench_add(&(struct bench_row){.operation = "wall engine: reads of /proc for that",
				      .unit = "1/s",
				      .measured = a_second,
				      .baseline = "one for each thread at each tick",
				      .base = THREADS * 20});
}

static void add_share(const char *operation, double percent, double budget)
{
	bench_add(&(struct bench_row){.operation = operation,
				      .unit = "%",
				      .measured = percent,
				      .limit = budget > 0 ? BENCH_AT_MOST : BENCH_NO_BUDGET,
				      .budget = budget,
				      .baseline = "that read, for each thread at each tick",
				      .base = read_us * THREADS * 20 / 1e4});
}

static void measure_looks(struct watched_child *c)
{
	uint64_t now_ns = clock_mono_ns() + SECOND_NS, first_ns = pass(c, now_ns), repeat_ns = 0;
	const uint64_t *counter = c->counts.counter;
	double taken = (double)counter[WEFT_COUNTER_WALL_TAKEN];

	empty(c);
	for (int i = 0; i < 10; i++)
		repeat_ns += pass(c, now_ns += SECOND_NS);
	if (taken < THREADS / 2.0) {
		bench_note("wall: only %.0f of %d threads were blocked", taken, THREADS);
		return;
	}
	add_look("wall engine: first look at a thread", (double)first_ns / taken / 1e3);
	add_look("wall engine: a look at one that has not run",
		 (double)repeat_ns / 10 / THREADS / 1e3);
}

static void run(const struct bench_options *o)
{
	static const struct timespec for_ever = {1000000, 0}, a_tick = {0, 47000000};
	uint64_t seconds = o->quick ? 1 : 5, before;
	struct watched_child c;

	measure_read();
	if (!begin(&c, &for_ever)) {
		bench_note("wall: no child with %d threads", THREADS);
		return;
	}
	measure_looks(&c);
	end(&c);
	if (!begin(&c, &for_ever))
		return;
	add_share("wall engine: 1000 blocked at 20 Hz, first seconds", share(&c, seconds), 2);
	if (!o->quick)
		share(&c, 5);
	before = reads();
	add_share("wall engine: the same, after a while", share(&c, seconds), 2);
	if (before)
		add_reads((double)(reads() - before) / (double)seconds);
	end(&c);
	if (!begin(&c, &a_tick))
		return;
	add_share("wall engine: 1000 that wake at every tick", share(&c, o->quick ? 1 : 3), 0);
	bench_note("wall: %llu looks at threads that wake, %llu given up as they ran meanwhile",
		   (unsigned long long)c.counts.counter[WEFT_COUNTER_WALL_TAKEN],
		   (unsigned long long)c.counts.counter[WEFT_COUNTER_WALL_MOVED]);
	end(&c);
}

const struct bench_group bench_wall = {
	.name = "wall",
	.text = "stacks of blocked threads, read from outside",
	.run = run,
};
