/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What becomes of each clock's signal where the program is not as one would like: blocked, across
 * exec, and exec with the signal blocked and then let through. A clock that kills a program that
 * it should have watched is none, however well it counts.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clocks.h"

#define EXECS 100

static void burn(double ms)
{
	uint64_t until = now_ns(CLOCK_THREAD_CPUTIME_ID) + (uint64_t)(ms * 1e6);

	doing = A;
	while (now_ns(CLOCK_THREAD_CPUTIME_ID) < until)
		for (volatile int i = 0; i < 5000; i++)
			;
	doing = NEITHER;
}

static void block(const struct clock *c, int how)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, c->signo);
	sigprocmask(how, &set, NULL);
}

static void begin(const struct clock *c, struct own_clock *own)
{
	clock_used = c;
	if (c->process)
		c->process();
	if (c->begin)
		c->begin(own);
}

static int status_of(pid_t child)
{
	int status = -1;

	return waitpid(child, &status, 0) == child ? status : -1;
}

/* 200 ms with the signal blocked, 200 ms after: signals of each, and how it ended. */
static void print_blocked(const struct clock *c)
{
	uint64_t before;
	pid_t child;
	int status;

	memset(tally, 0, sizeof(*tally));
	child = fork();
	if (!child) {
		struct own_clock own = {.fd = -1};

		block(c, SIG_BLOCK);
		begin(c, &own);
		burn(200);
		before = tally->signals[A] + tally->signals[NEITHER];
		tally_add(&tally->starts, before);
		block(c, SIG_UNBLOCK);
		burn(200);
		_exit(0);
	}
	status = status_of(child);
	printf("%-10s %8llu %8llu  %-8s", c->name, (unsigned long long)tally->starts,
	       (unsigned long long)(tally->signals[A] + tally->signals[NEITHER] - tally->starts),
	       status ? "killed" : "lives");
}

static int is_killed_by_exec(const struct clock *c, int is_blocked)
{
	struct own_clock own = {.fd = -1};
	pid_t child = fork();

	if (!child) {
		begin(c, &own);
		burn(random_part());
		if (is_blocked) {
			block(c, SIG_BLOCK);
			burn(1);
		}
		execl("/bin/true", "true", (char *)NULL);
		_exit(127);
	}
	return WIFSIGNALED(status_of(child));
}

/* With the signal blocked it stays pending in the new program, which keeps the mask. */
void print_fates(const char *only_clock)
{
	uint64_t usual = period_ns;

	printf("%-10s %8s %8s  %-8s %s\n", "clock", "blocked", "after", "", "killed by exec");
	printf("%-10s %8s %8s  %-8s %s\n", "", "signals", "signals", "", "of 100, every 50 us");
	for (const struct clock *c = clocks; c->name; c++) {
		int killed = 0, killed_blocked = 0;

		if (only_clock && !strstr(c->name, only_clock))
			continue;
		period_ns = usual;
		print_blocked(c);
		period_ns = 50000;
		for (int i = 0; i < EXECS; i++) {
			killed += is_killed_by_exec(c, 0);
			killed_blocked += is_killed_by_exec(c, 1);
		}
		printf(" %3d, with the signal blocked %3d\n", killed, killed_blocked);
		fflush(stdout);
	}
}
