/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What it costs to look at a program from outside: one look at the list of its threads, and the
 * collector of a program that does nothing; and the two ways of priming by a signal.
 */
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "collector/look/threads.h"
#include "collector/session/session.h"
#include "collector/write/process_work.h"
#include "harness.h"

#define THREADS 1000
#define LOOKS 20
#define SECOND UINT64_C(1000000000)

/* ---- signals */

static void add_ways(const struct bench_options *o)
{
	const char *argv[] = {bench_text("%s/weft", o->build),
			      "record",
			      "-o",
			      "/dev/null",
			      "--",
			      bench_text("%s/bench/prime-ways", o->build),
			      o->quick ? "20" : "400",
			      NULL};
	double priming, primed, claiming, sampling, empty;
	struct bench_run run;

	if (bench_spawn(argv, "WEFT_HOOKS=-threads", &run) ||
	    sscanf(run.output, "%lf %lf %lf %lf %lf", &priming, &primed, &claiming, &sampling,
		   &empty) != 5) {
		bench_note("watching: prime-ways did not run (status 0x%x)",
			   (unsigned int)run.status);
		return;
	}
	bench_add(&(struct bench_row){.operation = "priming signal: sent, slot claimed, armed",
				      .unit = "ns",
				      .measured = priming,
				      .baseline = "a signal, empty handler",
				      .base = empty});
	bench_add(&(struct bench_row){.operation = "priming signal to who is primed already",
				      .unit = "ns",
				      .measured = primed,
				      .baseline = "a signal, empty handler",
				      .base = empty});
	bench_add(&(struct bench_row){.operation = "claim by the sampling handler, with a sample",
				      .unit = "ns",
				      .measured = claiming,
				      .baseline = "a sample alone",
				      .base = sampling});
}

/* ---- looks */

static void nobody(void *arg, struct watched_thread *t)
{
	(void)arg;
	(void)t;
}

static double time_look(struct threads *t, uint64_t now_ns)
{
	uint64_t start = clock_ns(CLOCK_THREAD_CPUTIME_ID);

	threads_look(t, now_ns);
	threads_find_slots(t);
	return (double)(clock_ns(CLOCK_THREAD_CPUTIME_ID) - start);
}

static void look_at(pid_t pid)
{
	struct threads_callbacks callbacks = {nobody, nobody, NULL, NULL};
	struct session_settings settings = {.period_ns = 5000000};
	double counted[LOOKS], listed[LOOKS];
	struct threads *t = NULL;
	struct session *s = NULL;
	struct process *p;

	if (process_new(&p, pid))
		return;
	if (session_new(&s, p, &settings) == 0)
		t = threads_new(p, &callbacks);
	for (uint64_t i = 0; t && i < LOOKS; i++) {
		uint64_t now_ns = (1000000 + 2 * i) * SECOND;

		listed[i] = time_look(t, now_ns);
		counted[i] = time_look(t, now_ns + 1);
	}
	if (t)
		bench_add(&(struct bench_row){
			.operation = bench_text("watcher: a look that lists %d threads", THREADS),
			.unit = "ns",
			.measured = bench_median(listed, LOOKS),
			.baseline = "a look that counts them",
			.base = bench_median(counted, LOOKS)});
	threads_free(t);
	session_free(s);
	process_free(p);
}

static int wait_for_threads(pid_t pid)
{
	const char *path = bench_text("/proc/%d/task", (int)pid);
	struct stat st;

	for (int i = 0; i < 1000; i++) {
		usleep(10000);
		if (stat(path, &st) == 0 && st.st_nlink > THREADS)
			return 1;
	}
	return 0;
}

static void add_looks(const struct bench_options *o)
{
	const char *program = bench_text("%s/bench/idle-threads", o->build);
	pid_t pid = fork();

	if (pid == 0) {
		if (freopen("/dev/null", "w", stdout))
			execl(program, program, bench_text("%d", THREADS), "60", NULL);
		_exit(127);
	}
	if (pid < 0)
		return;
	if (wait_for_threads(pid))
		look_at(pid);
	else
		bench_note("watching: idle-threads did not run");
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* ---- an idle program */

static double idle_share(const struct bench_options *o, const char *threads)
{
	const char *argv[] = {bench_text("%s/weft", o->build),
			      "record",
			      "-o",
			      "/dev/null",
			      "--",
			      bench_text("%s/bench/idle-threads", o->build),
			      threads,
			      o->quick ? "2" : "20",
			      NULL};
	double share = -1;
	struct bench_run run;

	if (bench_spawn(argv, NULL, &run) || sscanf(run.output, "%*u %*u %*u %*u %lf", &share) != 1)
		bench_note("watching: idle-threads did not run (status 0x%x)",
			   (unsigned int)run.status);
	return share * 100;
}

static void add_idle(const struct bench_options *o)
{
	double many = idle_share(o, "1000"), one = idle_share(o, "1");

	if (many >= 0 && one >= 0)
		bench_add(
			&(struct bench_row){.operation = "idle collector, 1 000 threads that wait",
					    .unit = "%",
					    .measured = many,
					    .limit = BENCH_AT_MOST,
					    .budget = 0.1,
					    .baseline = "one thread that waits",
					    .base = one});
}

static void run(const struct bench_options *o)
{
	add_ways(o);
	add_looks(o);
	add_idle(o);
}

const struct bench_group bench_watching = {
	.name = "watching",
	.text = "a program is looked at from outside",
	.run = run,
};
