/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Looking at threads from outside: who there is, what CPU time the kernel says was used, and, for
 * the wall clock, where threads wait. Nobody is stopped, and no call of theirs is cut short.
 *
 * Runs on the outside thread. Everything it reads may have changed by the next read: what is kept
 * was the same before and after.
 *
 *   outside.c       the thread, and what is due
 *   threads.c       the threads of a process
 *   priming.c       threads without a slot
 *   account.c       CPU time by the kernel
 *   looks.c         running threads, at random instants
 *   lockstep.c      samples bunched at one phase
 *   wall.c          waiting threads, at random times
 *   wall_look.c     one look at one thread
 *   wall_books.c    what is due to whom
 *   wall_delay.c    time spent waiting for a CPU
 *   wall_account.c  states that add up
 *   wall_labels.c   its labels, read from outside
 *   published.c     contexts that others publish
 *   published_go.c  of these, labels of goroutines
 *   published_merge.c one of these, added to a sample
 *   wall_private.h  what these share
 */
#ifndef WEFT_COLLECTOR_LOOK_ROOM_H
#define WEFT_COLLECTOR_LOOK_ROOM_H

#endif
