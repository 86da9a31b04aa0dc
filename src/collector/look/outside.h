/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The outside thread: looks at recorded processes through /proc. For each it keeps the list of
 * threads (threads.h), primes those that run without a slot (priming.h), names those that cannot be
 * sampled, reports ended threads to the drain thread, and runs the wall engine (wall.h).
 *
 * Reading /proc may have to wait for the process (its mmap lock, an exec on a slow disk), which the
 * drain thread must not: hence a thread of its own. A process belongs to the outside thread from
 * outside_add() until that has pushed the process's BATCH_CLOSE, which the drain thread passes to
 * it: so all batches of a process come before its end, and nothing of it is used afterwards.
 */
#ifndef WEFT_COLLECTOR_OUTSIDE_H
#define WEFT_COLLECTOR_OUTSIDE_H

#include "collector/look/wall.h"
#include "collector/process/queue.h"

struct outside;

struct outside_options {
	struct wall_options wall; /* period_ns 0: the wall engine is off */
	struct queue *out;        /* of the drain thread: to the walker */
	int prime_signal;         /* the user's choice: SIGURG, a real-time one, 0 = none */
};

int outside_open(struct outside **out, const struct outside_options *options); /* and its thread */

/* Called by the drain thread, which never waits for the outside thread in these. */
void outside_add(struct outside *o, struct process *p);

/*
 * Takes a batch that must come after those of the outside thread, and passes it on to the walker:
 * BATCH_COUNTS and BATCH_CLOSE with the process's counts from here, BATCH_ROLL after a wall_flush()
 * of all processes.
 */
void outside_pass(struct outside *o, struct batch *b);

/* Threads that SIGPROF does not reach. */
struct outside_unsampled {
	char process[96]; /* "x [123]" */
	pid_t pid;
	int32_t tid;
	char name[16];
	const char *why; /* static: "blocks SIGPROF" */
};
/* After outside_stop(): the first OUTSIDE_UNSAMPLED_MAX of them, and how many there are. */
#define OUTSIDE_UNSAMPLED_MAX 16
const struct outside_unsampled *outside_unsampled(const struct outside *o, size_t *count);

/* After all processes are closed: passes on what is left and ends the thread. Takes NULL, and one
 * that has ended. */
void outside_stop(struct outside *o);
void outside_free(struct outside *o); /* after outside_stop(); takes NULL */

#endif
