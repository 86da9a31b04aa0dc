/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the kernel tells of other processes in /proc, and in /sys of its clock, parsed in one place.
 * For the command alone: inside a recorded program the runtime has a few readers of its own, which
 * do not allocate.
 *
 * Runs on any thread; no state. Every file may be missing, cut, or another process's by the next
 * read: a value that is not there is 0 or an error, never a guess.
 *
 *   proc_text.c     files read, fields found
 *   process_file.c  files of a process: stat, status, cmdline, exe
 *   thread_stat.c   files of a thread
 *   proc_maps.c     lines of maps
 *   tsc.c           the TSC, and if it is the clock
 */
#ifndef WEFT_PROC_ROOM_H
#define WEFT_PROC_ROOM_H

#endif
