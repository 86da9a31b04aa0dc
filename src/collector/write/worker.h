/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The worker thread: takes walked samples from the walker, names their frames and writes the
 * file. Whatever takes long happens here: DWARF of a big program, a slow disk. Meanwhile the
 * walker and the drain thread go on, as long as the queues have room (queue.h).
 *
 * Of a process, threads, dictionary, counters and what naming remembers are the worker's.
 */
#ifndef WEFT_COLLECTOR_WORKER_H
#define WEFT_COLLECTOR_WORKER_H

#include "collector/process/queue.h"
#include "collector/write/naming.h"
#include "collector/write/recording.h"
#include "collector/write/timeline.h"

struct worker {
	struct queue *queue;
	struct recording *recording;
	struct naming naming;
	struct timelines timelines; /* of the thread itself, with the wall engine */
	uint64_t period_ns;
	uint64_t wall_period_ns; /* 0 = the wall engine is off */
	const char *threads;     /* pattern of their names; NULL = all */
	uint32_t roll_wanted; /* set here, taken by the drain thread, which then queues counts and
				 a BATCH_ROLL; atomic */
	/* When what comes by time is due next: set here, and made 0 by the drain thread, which then
	 * queues a BATCH_TICK; atomic. */
	uint64_t tick_ns;
	/* Results: read after the thread was joined; bytes and samples also while it runs. */
	uint64_t bytes, samples, wall_samples; /* atomic */
	struct session_counts total;           /* of all processes that are over */
	int error;
};

/* Thread function: ends after BATCH_FINISH. @arg: struct worker. */
void *worker_run(void *arg);

#endif
