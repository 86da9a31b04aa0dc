/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The program's own signal actions for SIGPROF and the priming signal, kept while our handlers are
 * installed, and what becomes of our signals where the program's stacks are small.
 *
 * Runs on any thread, in handlers too, and before the constructor: async-signal-safe. An action
 * that the program sets at the very moment that ours is installed or removed is not lost.
 *
 *   disposition.c  actions kept, signals passed on to them
 *   altstack.c     stacks too small for signals
 */
#ifndef WEFT_RUNTIME_SIGNALS_ROOM_H
#define WEFT_RUNTIME_SIGNALS_ROOM_H

#endif
