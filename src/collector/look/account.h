/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernel's account of CPU time, read from outside: of each thread of a process
 * (/proc/PID/task/TID/schedstat) and of the process (its clock). The outside thread reads, the
 * worker keeps the books (recording_account.c).
 *
 * A thread's own last reading comes from its slot (session_account.c); the readings here are for
 * the ends of chunks, and for threads that leave none. So all threads are read at the end of a
 * chunk. In between only those are read that can have used a relevant amount since, less often the
 * longer they used nothing, and few at a time: 1 000 idle threads cost less than a thousandth of a
 * core.
 */
#ifndef WEFT_COLLECTOR_ACCOUNT_H
#define WEFT_COLLECTOR_ACCOUNT_H

#include "collector/look/threads.h"
#include "collector/process/queue.h"

/* In a BATCH_ACCOUNT, before its words. */
struct account_head {
	uint64_t process_ns; /* CPU time of the process since it began; 0 = not read */
	uint64_t time_ns;    /* CLOCK_MONOTONIC, before the readings */
};

enum account_flag {
	ACCOUNT_OLDER = 1, /* the thread ran before its process was recorded */
	ACCOUNT_GONE = 2,  /* it has ended, and was not read */
	ACCOUNT_OWN = 4,   /* its own last reading: valid also for a thread that was never listed */
};

struct account_word {
	int32_t tid; /* in the process's own pid namespace */
	uint32_t flags;
	uint64_t cpu_ns; /* since it began */
	char name[16];
};

/* A batch of words that grows. */
struct account_words {
	struct account_word *word;
	size_t count, room;
};
void account_words_add(struct account_words *words, const struct account_word *word);
/* Makes a batch of the words, to be queued, and empties @words. NULL: out of memory. */
struct batch *account_words_batch(struct account_words *words, struct process *p,
				  const struct account_head *head);
void account_words_free(struct account_words *words);

struct account {
	struct process *process;
	struct queue *out;
	struct account_words words;
	uint64_t process_ns;   /* as in the last batch */
	uint64_t opened_ticks; /* first sight of the process, clock ticks since the boot */
	uint64_t pause_ns;     /* between two readings of a thread that runs */
	size_t cursor;
	int has_looked;
};

void account_begin(struct account *a, struct process *p, struct queue *out);

/*
 * After threads_look(). @process_ns: CPU time of the process, a short time ago. account_look_all()
 * reads all threads, and the process itself.
 */
void account_look(struct account *a, struct threads *t, uint64_t now_ns, uint64_t process_ns);
void account_look_all(struct account *a, struct threads *t, uint64_t now_ns);

/* Called when threads_look() reports that a thread has ended. */
void account_gone(struct account *a, const struct watched_thread *t);

#endif
