/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a trace, or a shared file, says of its coroutines: runs, waits, who is stuck, and timelines
 * to look at. Reads events; writes nothing.
 *
 * Runs on the command's one thread. No finding is told from a moment alone: each has its evidence,
 * and what cannot be known is said to be so. The marks of top.c are hints of one look.
 *
 *   input.c         traces of JSON lines
 *   lives.c         runs and waits of a coroutine
 *   report.c        groups of these
 *   report_judge.c  what is wrong, by evidence
 *   timeline.c      who ran where, when
 *   timeline_nest.c slices made to nest
 *   source.c        a shared file: found, opened, named
 *   names.c         names of code addresses
 *   top.c           what each did since the last look
 *   conform.c       does a probe keep the rules?
 */
#ifndef WEFT_CORO_LOOK_ROOM_H
#define WEFT_CORO_LOOK_ROOM_H

#endif
