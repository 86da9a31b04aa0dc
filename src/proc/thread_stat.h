/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What /proc/PID/task/TID tells of one thread. The readers return 0 or -errno and allocate nothing.
 * The parsers are pure functions of terminated text; -EPROTO for what is none of it, and then @out
 * stays as it was. Sources: proc(5), and for schedstat Documentation/scheduler/sched-stats.rst of
 * Linux.
 */
#ifndef WEFT_PROC_THREAD_STAT_H
#define WEFT_PROC_THREAD_STAT_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* From stat. */
struct thread_stat {
	char name[16];
	char state;           /* R, S, D, T, t, Z, X, I, ... */
	uint64_t cpu_ticks;   /* user and system, clock ticks */
	uint64_t start;       /* clock ticks since the machine began */
	uint64_t stack_start; /* random: of its program; 0 = may not be seen */
	int cpu;              /* that it is on, or was on last; -1 = not told */
};
int thread_parse_stat(const char *text, struct thread_stat *out);
int thread_stat_read(int proc_fd, int32_t tid, struct thread_stat *out);

/* How often a thread has got on a CPU, and how its time was spent. */
struct thread_sched {
	uint64_t count;            /* while it stands still, and it is blocked, it has not run */
	uint64_t cpu_ns, delay_ns; /* on a CPU; waiting for one */
	int has_times;             /* these two are known */
	int is_running;            /* known to be on a CPU, or to wait for one */
};
/* schedstat: "cpu delay count". */
int thread_parse_schedstat(const char *text, struct thread_sched *out);
/* status, where there is no schedstat: the two counts of switches, and the state. They count
 * when a thread leaves its CPU, so that one that runs may have the count of its last stay. */
int thread_parse_status(const char *text, struct thread_sched *out);

/* syscall: "running" is -EAGAIN; else "number ... sp pc", or "-1 sp pc" outside of any. */
struct thread_call {
	uint64_t sp, pc;
};
int thread_parse_syscall(const char *text, struct thread_call *out);

/* From status. */
struct thread_masks {
	uint64_t blocked, caught; /* bit signo - 1 */
	int queue_is_full;        /* a signal queued now would come without its value */
	int32_t inside_tid;       /* its id in its innermost PID namespace */
	int levels;               /* PID namespaces from ours down to its own; 1 = it is in ours */
	uint64_t waits;           /* voluntary context switches: it has gone to sleep */
	uint64_t switches;        /* all context switches */
};
#define SIGNAL_BIT(signo) (UINT64_C(1) << ((signo)-1))
int thread_masks_read(int proc_fd, int32_t tid, struct thread_masks *out);

/* From status, too. */
struct thread_status {
	uint32_t filters; /* of seccomp; strict mode counts as one, and, where the kernel does not
			     tell how many there are (before Linux 5.9), so do any */
	uint32_t threads; /* of its process; 0 = not told */
	uid_t files_user; /* of the files that it makes; (uid_t)-1 = not told */
};
int thread_status_read(int proc_fd, int32_t tid, struct thread_status *out);
int thread_filters_read(int proc_fd, int32_t tid, uint32_t *count); /* those alone */

/* 0; -ENOENT, too, where the kernel has no schedstat. */
int thread_schedstat_read(int proc_fd, int32_t tid, struct thread_sched *out);

/* CPU time so far: by schedstat, or by stat, in clock ticks, where the kernel has no schedstat. */
int thread_cpu_read(int proc_fd, int32_t tid, uint64_t *cpu_ns);

/* The CPU time of a whole process; a zombie has it, too. */
int process_cpu_read(pid_t pid, uint64_t *cpu_ns);

/*
 * Is a thread computing? A runnable thread may be on a CPU, in a queue for one, or just woken
 * inside a call that will sleep again; the kernel does not tell which: `syscall` says "running" of
 * each. But a thread that has used a CPU for a while without going to sleep has left the call in
 * which it slept last, and is not about to sleep, but for the microseconds of a call's own way
 * there.
 */
struct thread_run {
	char state;
	uint64_t waits, switches; /* of struct thread_masks */
	uint64_t cpu_ns;
	uint64_t arrivals; /* how often it got on a CPU: switches + 1 while it is on one; 0 = not
			      known */
};
int thread_run_read(int proc_fd, int32_t tid, struct thread_run *out);

/* Is it runnable, and has it since @before not slept, and either used a millisecond of CPU time or
 * never left its CPU? */
int thread_ran_on(const struct thread_run *before, const struct thread_run *now);

#endif
