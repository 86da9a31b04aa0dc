/* SPDX-License-Identifier: Apache-2.0 */
/* What /proc/PID/task/TID tells of one thread. All of it is 0 or -errno; nothing is allocated. */
#ifndef WEFT_PROC_THREAD_STAT_H
#define WEFT_PROC_THREAD_STAT_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* From stat. */
struct thread_stat {
	char name[16];
	char state;         /* R, S, D, T, t, Z, X, I, ... */
	uint64_t cpu_ticks; /* user and system, clock ticks */
	uint64_t start;     /* clock ticks since the machine began */
};
int thread_stat_read(int proc_fd, int32_t tid, struct thread_stat *out);

/* From status. */
struct thread_masks {
	uint64_t blocked, caught; /* bit signo - 1 */
	int queue_is_full;        /* one sent with a value would come without it */
	int32_t inside_tid;       /* in the innermost PID namespace that it is in */
	int levels;               /* such namespaces from ours on; 1 = it is in ours */
	uint64_t waits;           /* how often it has gone to sleep */
	uint64_t switches;        /* and how often it has left a CPU at all */
};
int thread_masks_read(int proc_fd, int32_t tid, struct thread_masks *out);

/* CPU time so far: of schedstat, or in clock ticks where the kernel has none. */
int thread_cpu_read(int proc_fd, int32_t tid, uint64_t *cpu_ns);

/* The same of a whole process, one that has ended and waits for its parent, too. */
int process_cpu_read(pid_t pid, uint64_t *cpu_ns);

/*
 * Does it compute? A thread that is runnable may be anywhere: on a CPU, in a queue for one, or
 * woken in a call that goes on to sleep. The kernel does not tell user mode from a call for any of
 * them: `syscall` says "running" of each that is runnable. But a thread that has had a CPU for a
 * while since it slept last is out of the call in which it slept, and not about to sleep, but for
 * the microseconds of a call's own way there.
 */
struct thread_run {
	char state;
	uint64_t waits, switches; /* of struct thread_masks */
	uint64_t cpu_ns;
	uint64_t arrivals; /* on a CPU: one more than switches while it is there; 0: not known */
};
int thread_run_read(int proc_fd, int32_t tid, struct thread_run *out);

/* Since @before it has not slept, and has used the CPU time that shows it, or it has not left its
 * CPU at all; and it is runnable. */
int thread_ran_on(const struct thread_run *before, const struct thread_run *now);

#endif
