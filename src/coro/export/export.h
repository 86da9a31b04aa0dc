/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Formats of coroutine traces: one file and one row of the table for each (coro/engine/trace.h).
 *
 * Runs on the writer's thread of the engine, or the command's one. A file appears whole or not at
 * all; a server that loads SQL text has all rows of a trace or none.
 *
 *   formats.c  the table
 *   sink.h     what sinks share
 *   jsonl.c    JSON lines
 *   csv.c      CSV
 *   chrome.c   Chrome's trace events
 *   perfetto.c Perfetto
 *   sqlite.c   SQLite
 *   sql.c      SQL text
 */
#ifndef WEFT_CORO_EXPORT_ROOM_H
#define WEFT_CORO_EXPORT_ROOM_H

#endif
