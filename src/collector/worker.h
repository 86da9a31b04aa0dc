/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The worker thread: takes batches from the queue, walks and names their stacks and writes the
 * file. Whatever takes long happens here, so that rings are drained in time meanwhile.
 */
#ifndef WEFT_COLLECTOR_WORKER_H
#define WEFT_COLLECTOR_WORKER_H

#include "collector/held.h"
#include "collector/queue.h"
#include "collector/recording.h"
#include "collector/symbolize.h"

struct worker {
	struct queue *queue;
	struct recording *recording;
	struct symbolizer symbolizer;
	uint64_t period_ns;
	struct held held;
	uint32_t roll_wanted; /* set here, taken by the drain thread, which then queues counts and
				 a BATCH_ROLL; atomic */
	/* Results: read after the thread was joined; bytes and samples also while it runs. */
	uint64_t bytes, samples;     /* atomic */
	struct session_counts total; /* of all processes that are over */
	int error;
};

/* Thread function: ends after BATCH_FINISH. @arg: struct worker. */
void *worker_run(void *arg);

#endif
