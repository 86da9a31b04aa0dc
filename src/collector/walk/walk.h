/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The walker's thread, between the drain thread and the worker: stacks out of raw samples, and
 * code out of addresses. Looks at mappings, publishes module maps and tables, walks stacks; hands
 * on everything else as it comes, so that all stays in order. Batches of a process whose code has
 * no names yet (jit_is_late()), or whose mappings cannot be looked at now
 * (process_look_is_owed()), wait here, in the order in which they came, until the process or the
 * chunk ends, or they become too many.
 *
 * Nothing here reads DWARF or writes the file, so samples leave their rings, and mappings are
 * looked at, in time, however long the worker takes. What it reads of the target is hostile:
 * mappings may be gone, files exchanged, tables damaged. What it does not know in time it does
 * without: a stack ends, marked as cut. Mappings, snapshots and JIT code of a process are the
 * walker's; what it hands on refers to nothing of these that could go or change (walking.h). It is
 * done with a process when it has handed on BATCH_CLOSE.
 *
 *   walker.c        the thread and its batches
 *   walking.c       one sample's frames
 *   process_walk.c  the walker's part of a process
 *   modules.c       ELF files, opened once
 *   tables.c        unwind tables in shared memory
 *   table_cache.c   and on disk
 *   map_publish.c   the map that handlers read
 *   frame_scan.c    a frame where tables fail
 *   jit.c           code that lies in no file
 *   own_frames.c    weft's own frames, hidden
 */
#ifndef WEFT_COLLECTOR_WALK_ROOM_H
#define WEFT_COLLECTOR_WALK_ROOM_H

#include "collector/process/queue.h"
#include "collector/walk/walking.h"

/* Batches that wait for names or mappings. */
struct held {
	struct batch *first, **last;
	size_t bytes;
};

struct walker {
	struct queue *in, *out;
	struct walking walking;
	struct held held;
	size_t held_max; /* bytes of that: what is above does not wait any longer; 0 = no limit */
	int error;       /* -ENOMEM: samples are missing; read after the thread was joined */
};

/* Thread function: ends after BATCH_FINISH. @arg: struct walker. */
void *walker_run(void *arg);

#endif
