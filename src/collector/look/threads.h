/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The threads of one process, watched from outside (/proc/PID/task). Counts before it lists:
 * the link count of the directory tells how many threads there are; a list is read when that
 * number has changed, or a while has passed (one may have come as another went). inotify on
 * /proc/PID/task reports nothing (tests/unit/collector/test_threads.c shows it).
 *
 * One thread of the collector uses it. What a slot says of its thread is not trusted: a slot is
 * matched by tid, and is believed to be a thread's own (slot_is_its) only when that very thread,
 * by its start time, was seen alive after the match.
 */
#ifndef WEFT_COLLECTOR_THREADS_H
#define WEFT_COLLECTOR_THREADS_H

#include "collector/process/process.h"

struct threads;

/* What was done to prime a thread, and to see whether it is sampled. */
struct thread_effort {
	uint64_t due_ns, pause_ns; /* when it is looked at again */
	uint64_t cpu_ns;           /* its CPU time when it was looked at */
	uint64_t process_ns;       /* and that of the whole process, then */
	uint64_t unseen_ns;        /* and of that, since its newest sample */
	uint64_t head;             /* of its ring, then */
	uint64_t waits,
		waits_cpu_ns; /* how often it had slept when it was last found to have run */
	uint32_t sent;        /* priming signals */
	uint32_t orders;      /* to adopt it, to other threads */
	uint8_t looked, found, refused;
};

/* Its CPU time, as account.h reads and tells it. */
struct thread_account {
	uint64_t cpu_ns, told_ns;           /* as it was read last, and told */
	uint64_t read_ns, due_ns, pause_ns; /* when it was read; and is again */
	uint64_t process_ns;                /* CPU time of the whole process, when it was read */
	uint64_t read_head;                 /* what its handler had counted, then */
	uint64_t from_ns;                   /* what it had used at its first sight */
	uint64_t head;                      /* what its handler had counted then */
	uint8_t met, named, is_sampled;
};

/* One thread of the process, from its first sight until it is gone. */
struct watched_thread {
	int32_t tid;        /* as we see it */
	int32_t inside_tid; /* as the process sees it */
	uint64_t start;     /* /proc/PID/task/TID/stat field 22, clock ticks; 0 = not known */
	uint32_t slot;      /* its slot, THREADS_NO_SLOT when it has none (yet) */
	uint64_t generation;
	uint32_t slot_is_its; /* proved: it, and nobody before or after it, has that slot */
	uint64_t inode;   /* of its directory, as the list tells it: changes when it is another */
	char name[16];    /* as /proc tells it */
	uint64_t seen_ns; /* CLOCK_MONOTONIC of its first sight */
	int task_fd;      /* O_PATH of /proc/PID/task/TID; -1 = not open */
	void *wall;       /* the wall engine's own; it frees it in on_dead_thread */
	const char *unsampled;       /* why SIGPROF does not reach it; NULL: it may */
	uint64_t unsampled_head;     /* what its handler had counted when that was found */
	struct thread_effort effort; /* of priming.h */
	struct thread_account account;
};
#define THREADS_NO_SLOT UINT32_MAX

struct threads_callbacks {
	void (*on_new_thread)(void *arg, struct watched_thread *t);
	void (*on_dead_thread)(void *arg, struct watched_thread *t); /* freed afterwards */
	/* A LIVE slot whose thread no list ever told, and which is not there now; or NULL. */
	void (*on_lost_slot)(void *arg, uint32_t slot, uint64_t generation);
	void *arg;
};

/* @p must live longer. NULL: out of memory. */
struct threads *threads_new(struct process *p, const struct threads_callbacks *callbacks);
void threads_free(struct threads *t); /* on_dead_thread for all that are left; takes NULL */

/* Look; calls back. How many threads there are, or -errno (the process is gone). */
int threads_look(struct threads *t, uint64_t now_ns);

/* The same with a new list, whatever the number of threads says. */
int threads_list(struct threads *t, uint64_t now_ns);

/* Is there a LIVE slot that is not known to be a listed thread's, nor was missing in a list? */
int threads_has_strangers(const struct threads *t);

size_t threads_count(const struct threads *t); /* at the newest list */

/* Does it have another number of threads than when they were listed? */
int threads_count_changed(const struct threads *t);

/* Find each thread's slot by what the session says now (state LIVE and tid). */
void threads_find_slots(struct threads *t);

/* Walk all; *cursor from 0; NULL at the end. */
struct watched_thread *threads_next(struct threads *t, size_t *cursor);

#endif
