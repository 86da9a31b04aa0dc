/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The writer: events into a chunk in memory, whole chunks into the file. writer.h is its state.
 *
 * No thread of its own; a writer belongs to one thread. A crash at any moment leaves a file of
 * whole chunks.
 *
 *   writer.c   events into the open chunk
 *   intern.c   ids of threads, methods, stacks
 *   chunk.c    the chunk, put together
 *   declare.c  types of the library's user
 *   metadata.c its declarations
 *   retain.c   which chunks leave a file
 */
#ifndef WEFT_JFR_WRITE_ROOM_H
#define WEFT_JFR_WRITE_ROOM_H

#endif
