/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The worker thread: takes batches from the walker, names frames and writes the file. Whatever
 * takes long happens here: DWARF of a big program, a slow disk. Meanwhile the walker and the drain
 * thread go on, as long as the queues have room (queue.h).
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
	uint32_t roll_wanted;    /* atomic: is the chunk full? Then the drain thread queues counts
				    and a BATCH_ROLL, if none is on its way */
	uint32_t rolls;          /* atomic: so many BATCH_ROLLs were taken */
	uint64_t tick_ns;        /* atomic: when the next BATCH_TICK is due, set here; 0: the drain
				    thread has queued it */
	/* Results: read after the thread was joined; bytes and samples also while it runs. */
	uint64_t bytes, samples, wall_samples; /* atomic */
	struct session_counts total;           /* of all processes that are over */
	int error;                             /* atomic */
};

/* Thread function: ends after BATCH_FINISH. @arg: struct worker. */
void *worker_run(void *arg);

#endif
