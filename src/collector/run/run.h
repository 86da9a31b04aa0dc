/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The collector's beginning and end, and the drain thread: processes come by the rendezvous or are
 * attached to, their rings are emptied so often that none fills, and all is put away when the last
 * is done. collector.h is the way in.
 *
 * Runs on the drain thread (watch*.c), on one of the door's, and on the one that calls collector.h.
 * The drain thread never waits for a disk, a lock of the walker's, a target, or a stranger.
 *
 *   collector.c      begins the threads, waits, ends
 *   watch.c          the drain thread
 *   watch_join.c     a process that comes
 *   watch_attach.c   a process that ran before
 *   watch_set.c      settings that change meanwhile
 *   door.c           the thread that hears who comes
 *   rendezvous.c     the sockets; what killed collectors left
 *   program.c        can this file be recorded?
 *   unrecorded.c     children unrecorded, or still running
 *   hrtimer.c        may perf's clock be had?
 */
#ifndef WEFT_COLLECTOR_RUN_ROOM_H
#define WEFT_COLLECTOR_RUN_ROOM_H

#endif
