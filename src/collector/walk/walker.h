/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The walker thread: between the drain thread and the worker. Looks at mappings, publishes
 * module maps and tables, walks stacks; hands on everything else as it comes, so that all
 * stays in order. Samples of a process whose jitdump is late wait here for their names (held.h).
 *
 * Nothing here reads DWARF or writes the file: samples leave their rings and mappings are
 * looked at in time, however long the worker takes. Of a process, mappings, snapshots and
 * JIT code are the walker's; what it hands on refers to nothing of these that could go or
 * change (walking.h). It is done with a process when it has handed on BATCH_CLOSE.
 */
#ifndef WEFT_COLLECTOR_WALKER_H
#define WEFT_COLLECTOR_WALKER_H

#include "collector/process/queue.h"
#include "collector/walk/held.h"
#include "collector/walk/walking.h"

struct walker {
	struct queue *in, *out;
	struct walking walking;
	struct held held;
	int error; /* -ENOMEM: samples are missing; read after the thread was joined */
};

/* Thread function: ends after BATCH_FINISH. @arg: struct walker. */
void *walker_run(void *arg);

#endif
