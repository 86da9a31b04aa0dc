/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The threads of one process, watched from outside (/proc/PID/task). The link count of that
 * directory is the number of threads; it is listed only when that number has changed, or after a
 * while (one thread may have begun as another ended). inotify on /proc/PID/task reports nothing
 * (tests/unit/collector/test_threads.c shows it).
 *
 * Used by one thread of the collector. What a slot says of its thread is not trusted: a slot is
 * matched by tid, and counts as a thread's own (slot_is_its) only if that very thread, by its start
 * time, was seen alive after the match.
 */
#ifndef WEFT_COLLECTOR_THREADS_H
#define WEFT_COLLECTOR_THREADS_H

#include "collector/process/process.h"

struct threads;

/* What was done to prime a thread, and to see whether it is sampled. */
struct thread_effort {
	uint64_t due_ns, pause_ns; /* when it is examined again */
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

/* Its CPU time, for account.h. */
struct thread_account {
	uint64_t cpu_ns, told_ns;           /* as it was read last, and told */
	uint64_t read_ns, due_ns, pause_ns; /* when it was read; and is again */
	uint64_t process_ns;                /* CPU time of the whole process, when it was read */
	uint64_t read_head;                 /* what its handler had counted, then */
	uint64_t from_ns;                   /* what it had used at its first sight */
	uint64_t head;                      /* what its handler had counted then */
	uint8_t met, named, is_sampled;
};

/* One thread of the process, from its first sight until it has ended. */
struct watched_thread {
	int32_t tid;        /* in our pid namespace */
	int32_t inside_tid; /* in the process's own */
	uint64_t start;     /* /proc/PID/task/TID/stat field 22, clock ticks; 0 = not known */
	uint32_t slot;      /* its slot, THREADS_NO_SLOT when it has none (yet) */
	uint64_t generation;
	/* proved: the slot is this thread's, not that of one before or after it */
	uint32_t slot_is_its;
	/* The newest slot that it had, under which it goes on being told of; generation 0: none */
	uint32_t had_slot;
	uint64_t had_generation, had_claimed_ns;
	uint64_t inode;              /* of its directory in /proc; changes with the thread */
	char name[16];               /* as /proc tells it */
	uint64_t seen_ns;            /* CLOCK_MONOTONIC of its first sight */
	void *wall;                  /* the wall engine's own; it frees it in on_dead_thread */
	const char *unsampled;       /* why SIGPROF does not reach it; NULL: it may */
	uint64_t unsampled_head;     /* what its handler had counted when that was found */
	struct thread_effort effort; /* of priming.h */
	struct thread_account account;
};
#define THREADS_NO_SLOT UINT32_MAX

struct threads_callbacks {
	void (*on_new_thread)(void *arg, struct watched_thread *t);
	void (*on_dead_thread)(void *arg, struct watched_thread *t); /* freed afterwards */
	/* A LIVE slot whose thread was in no list, and does not exist now; or NULL. */
	void (*on_lost_slot)(void *arg, uint32_t slot, uint64_t generation);
	void *arg;
};

/* @p must live longer. NULL: out of memory. */
struct threads *threads_new(struct process *p, const struct threads_callbacks *callbacks);
void threads_free(struct threads *t); /* on_dead_thread for all that are left; takes NULL */

/* Updates the list, and calls back. The number of threads, or -errno (the process has ended). */
int threads_look(struct threads *t, uint64_t now_ns);

/* The same, but always lists. */
int threads_list(struct threads *t, uint64_t now_ns);

/* Is there a LIVE slot that belongs to no listed thread, and was not missing in a list? */
int threads_has_strangers(const struct threads *t);

size_t threads_count(const struct threads *t); /* at the newest list */

/* Has the number of threads changed since they were listed? */
int threads_count_changed(const struct threads *t);

/* Finds each thread's slot by the session's present state (LIVE, and the tid). */
void threads_find_slots(struct threads *t);

/* The slot that was found, NULL = none; and how many samples its handler has attempted, which grows
 * with lost ones, too. */
const struct weft_slot *watched_slot(const struct process *p, const struct watched_thread *t);
uint64_t watched_attempted(const struct process *p, const struct watched_thread *t);

/* Is that generation of the slot's threads alive? */
int threads_slot_is_live(const struct process *p, uint32_t slot, uint64_t generation);

/* Are CPU samples taken in the process now? Not before it has begun, which one that was attached to
 * may never do; nor when it ends. */
int threads_are_sampled(const struct process *p);

/* Iterates; *cursor from 0; NULL at the end. */
struct watched_thread *threads_next(struct threads *t, size_t *cursor);

#endif
