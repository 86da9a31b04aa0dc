/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files below /proc/PID/task/TID say, for the wall engine. Pure functions of
 * terminated text; -EPROTO for what is none of it. Sources: proc(5), and for schedstat
 * Documentation/scheduler/sched-stats.rst of Linux.
 */
#ifndef WEFT_COLLECTOR_WALL_TEXT_H
#define WEFT_COLLECTOR_WALL_TEXT_H

#include <stdint.h>

/* How often a thread has got on a CPU, and how its time was spent. */
struct wall_runs {
	uint64_t count;            /* while it stands still, and it is blocked, it has not run */
	uint64_t cpu_ns, delay_ns; /* on a CPU; waiting for one */
	int has_times;             /* these two are known */
	int is_running;            /* known to be on a CPU, or to wait for one */
};

/* schedstat: "cpu delay count". */
int wall_parse_schedstat(const char *text, struct wall_runs *out);

/* status, where there is no schedstat: the two counts of switches, and the state. They count
 * when a thread leaves its CPU, so that one that runs may have the count of its last stay. */
int wall_parse_status(const char *text, struct wall_runs *out);

/* syscall: "running" is -EAGAIN; else "number ... sp pc", or "-1 sp pc" outside of any. */
struct wall_call {
	uint64_t sp, pc;
};
int wall_parse_syscall(const char *text, struct wall_call *out);

/* stat. */
struct wall_stat {
	char name[16];
	char state;           /* R, S, D, T, t, Z, X, I, ... */
	uint64_t stack_start; /* struct process has the same; 0 = may not be seen */
	int cpu;              /* that it is on, or was on last; -1 = not told */
};
int wall_parse_stat(const char *text, struct wall_stat *out);

#endif
