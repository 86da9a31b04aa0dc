/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Coroutines inside the program: a context that goes with its coroutine from thread to thread,
 * and a record of each switch in the thread's events ring. Called by weft/coro.h's probe.
 *
 * Runs on the thread that resumes or suspends. A coroutine's words are touched by the thread that
 * runs it alone; the thread's slot shows the context of whoever runs now.
 *
 *   coro_carry.c   resume and suspend: contexts change places
 *   coro_switch.c  runs and waits, into the ring
 *   coro_tell.c    what station and events say
 */
#ifndef WEFT_RUNTIME_CORO_ROOM_H
#define WEFT_RUNTIME_CORO_ROOM_H

#endif
