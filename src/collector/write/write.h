/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The worker's thread: what was walked goes into the file, with names, contexts, settings, and the
 * rows that say how much was seen and how much lost. recording.h is the way in.
 *
 * Runs on the worker's thread alone. A chunk reaches the file when it is whole; what is counted as
 * delivered is in the file, and whatever is refused has a counter of its own.
 *
 *   worker.c                 the thread and its batches
 *   process_work.c           the worker's part of a process
 *   naming.c                 names of frames
 *   recording.c              samples, chunks, beginning and end
 *   recording_put.c          an event into the chunk
 *   recording_context.c      contexts, spans
 *   recording_labels.c       columns for labels
 *   recording_resource.c     what processes say they are
 *   recording_published.c    other libraries' contexts
 *   recording_wall.c         wall-clock samples
 *   recording_time.c         states of threads, by time
 *   recording_switch.c       runs and waits of coroutines
 *   recording_event.c        typed events
 *   recording_settings.c     settings that apply
 *   recording_clock.c        which clock, and why
 *   recording_lockstep.c     work in step with ticks
 *   recording_account.c      CPU time used, seen
 *   recording_counts.c       counters and histograms
 *   recording_types.c        event types, as tables
 *   recording_system.c       the machine, processes
 *   recording_private.h      what these share
 *   environment.c            variables that are told
 *   system_load.c            jdk.CPULoad
 *   timeline.c               a thread's samples in order
 *   timeline_item.c          one of them
 */
#ifndef WEFT_COLLECTOR_WRITE_ROOM_H
#define WEFT_COLLECTOR_WRITE_ROOM_H

#endif
