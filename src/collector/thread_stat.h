/* SPDX-License-Identifier: Apache-2.0 */
/* What /proc/PID/task/TID tells of one thread. All of it is 0 or -errno; nothing is allocated. */
#ifndef WEFT_COLLECTOR_THREAD_STAT_H
#define WEFT_COLLECTOR_THREAD_STAT_H

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
	int32_t inside_tid;       /* in the innermost PID namespace that it is in */
	int levels;               /* such namespaces from ours on; 1 = it is in ours */
	uint64_t waits;           /* how often it has gone to sleep */
};
int thread_masks_read(int proc_fd, int32_t tid, struct thread_masks *out);

/* CPU time so far: of schedstat, or in clock ticks where the kernel has none. */
int thread_cpu_read(int proc_fd, int32_t tid, uint64_t *cpu_ns);

/* The same of a whole process, one that has ended and waits for its parent, too. */
int process_cpu_read(pid_t pid, uint64_t *cpu_ns);

/* A small file whole; terminated. Its bytes, or -errno. */
int thread_file_read(int directory_fd, const char *path, char *out, size_t room);

#endif
