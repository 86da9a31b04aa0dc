/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The worker's part of a process: its threads, its dictionary, and what of it is in the file. Also
 * how a process is made and freed with all its parts.
 */
#ifndef WEFT_COLLECTOR_PROCESS_WORK_H
#define WEFT_COLLECTOR_PROCESS_WORK_H

#include "base/dictionary.h"
#include "collector/process/process.h"
#include "collector/process/stretch.h"
#include "collector/process/system_read.h"

struct event_class;
struct map;

/* By which clock its CPU samples are taken, as its session says (abi/session.h). */
struct process_clock {
	uint32_t choice; /* enum weft_clock_choice */
	int32_t error;
	uint32_t opened, rested, lacked, signo;
	int is_careful;
};

/* CPU time of the process in the file's jdk.CPULoad: see system_load.h. */
struct process_load {
	struct process_time seen;        /* at the last look */
	uint64_t user, system;           /* counted so far, with that of its children */
	uint64_t owed_user, owed_system; /* counted before, in children that have ended */
	int is_owed;                     /* its time is in its parent's owed_ fields */
};

/* Its jdk.ThreadStart; also its jdk.ThreadEnd, after which late samples may still come. */
enum thread_told { THREAD_UNTOLD = 0, THREAD_BEGUN, THREAD_OVER };

/* One thread of the process, from claim to release of its slot. */
struct process_thread {
	uint32_t slot;
	uint64_t generation;
	uint64_t key; /* of the file's thread pool */
	uint64_t previous_ns;
	int32_t tid;
	char name[64];
	struct stretch stretch;
	int named;                 /* the key has the name above */
	enum thread_told begun;    /* what the file has of its life */
	int switched;              /* the file has an event, run or wait of it */
	uint64_t taken_ns;         /* of the newest sample of its own; 0 = none */
	uint64_t running_ns;       /* time on a CPU that no wall-clock sample stands for yet */
	struct timeline *timeline; /* of timeline.c, which frees it; NULL = none */
	uint64_t ended_ns, ended_cpu_ns; /* by its own last words; 0 = there are none */
	/* CPU time by its samples, and their number, since its last row of weft.ThreadCPU. */
	uint64_t seen_ns, signals;
	uint32_t labels_told; /* label_generation of the newest sample that had labels */
	uint32_t labels;      /* its labels: a number of label_sets.h */
};

struct published_context;
struct process_lockstep; /* recording_lockstep.c */
struct account_entry;    /* recording_account.c */

/* CPU time of the process and its threads, by the kernel's account (recording_account.c). */
struct process_account {
	struct account_entry *entry; /* threads that live, or have ended just now; by tid */
	size_t count, room;
	uint64_t process_ns; /* the largest reading of the process */
	uint64_t threads_ns; /* in rows of threads, or of threads that are not wanted */
	uint64_t rest_ns;    /* in rows without a thread */
	uint64_t held_ns;    /* a rest that waits for the end of the next chunk */
	uint64_t swept_ns;   /* when entries of threads that are over were dropped */
};

struct process_work {
	struct process *next; /* of the recording's list */
	char *first_environ;  /* if the recording is to have it, until it is taken */
	size_t first_environ_bytes;
	uint64_t dict_position;
	struct dictionary *dictionary;
	struct map *threads;          /* {slot, generation} -> struct process_thread * */
	struct map *tids;             /* tid -> the newest of these with it */
	struct event_class **classes; /* by number of the type; NULL = there are none */
	uint32_t strangers; /* threads known by an event's field alone, whose names were read */
	enum samples_choice cpu_choice, wall_choice;
	struct map *codes;                    /* struct code * -> its code ran in this chunk */
	uint8_t column[WEFT_CONTEXT_V1_TAGS]; /* 1 + the file's column of each tag; 0 = none yet */
	struct libraries *libraries;          /* the newest list; NULL = none yet */
	struct process_load load;
	struct process_clock clock;
	struct process_lockstep *lockstep; /* NULL = no tick, and no look, was there yet */
	struct process_account account;
	const struct published_context *resource; /* the newest whose rows are in the file */
	struct session_counts counted;            /* newest known to the drain thread */
	struct session_counts own;                /* the worker's: cuts, malformed logs */
	struct session_counts put;                /* in the file or the open chunk */
	struct session_counts safe;               /* in the file */
	const char *end;                          /* RECORDING_END_..., NULL while it runs */
	uint64_t closed_ns;
};

/* Makes the process of a pid. 0 or -errno. Reads /proc; does not touch the process. */
int process_new(struct process **out, pid_t pid);
void process_free(struct process *p);    /* takes NULL */
void process_release(struct process *p); /* frees all but identity and counters */

/* The thread of a slot and generation, made when new (*fresh). NULL: out of memory. */
struct process_thread *process_thread(struct process *p, uint32_t slot, uint64_t generation,
				      int *fresh);
/* The same, NULL when there is none. And takes one out: not while process_thread_next() goes
 * through them. */
struct process_thread *process_thread_find(const struct process *p, uint32_t slot,
					   uint64_t generation);
void process_thread_drop(struct process *p, struct process_thread *t); /* takes NULL */

/* Tells the tid that a thread has inside the process; and finds the newest thread with one, or
 * NULL.
 */
void process_thread_tell_tid(struct process *p, struct process_thread *t, int32_t tid);
struct process_thread *process_thread_by_tid(const struct process *p, int32_t tid);

/* Walk all threads; *cursor from 0; NULL at the end. */
struct process_thread *process_thread_next(struct process *p, size_t *cursor);

/* Copies what the walker has counted to @p->work->own. */
void process_take_counts(struct process *p);

/* Read what is new in the dictionary log. 0, or -EBADMSG once when it is malformed. */
int process_read_dictionary(struct process *p);

/* Takes the walker's newest list of libraries, if there is one. */
void process_take_libraries(struct process *p);

#endif
