/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The walker's thread: stacks out of raw samples, and code out of addresses. What it reads of the
 * target is hostile: mappings may be gone, files exchanged, tables damaged.
 *
 * Runs on the walker's thread alone, between two queues: batches come with records and leave with
 * frames. What it does not know in time it does without: a stack ends, marked as cut.
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

#endif
