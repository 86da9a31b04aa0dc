/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Coroutines inside the program: a coroutine's context moves with it from thread to thread, and
 * each switch is a record in the thread's events ring. Called by weft/coro.h's probe.
 *
 * Runs on the thread that resumes or suspends. A coroutine's words are touched only by the thread
 * that runs it; the thread's slot shows the context of whatever is running.
 *
 *   coro_carry.c   resume and suspend: contexts are exchanged
 *   coro_switch.c  runs and waits, into the ring
 *   coro_tell.c    the context in station and events
 */
#ifndef WEFT_RUNTIME_CORO_ROOM_H
#define WEFT_RUNTIME_CORO_ROOM_H

#endif
