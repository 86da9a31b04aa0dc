/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The program's own signal actions for SIGPROF and the priming signal, kept while handlers of ours
 * stand in the kernel; and what becomes of ours where its stacks are small.
 *
 * Runs on any thread, in handlers too, and before the constructor: async-signal-safe. What the
 * program sets at the very moment that ours comes or goes is seen, and not lost.
 *
 *   disposition.c  actions kept, carried out, put back
 *   altstack.c     stacks too small for signals
 */
#ifndef WEFT_RUNTIME_SIGNALS_ROOM_H
#define WEFT_RUNTIME_SIGNALS_ROOM_H

#endif
