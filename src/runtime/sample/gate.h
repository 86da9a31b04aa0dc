/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The gate between threads that make a timer and those that start or stop the engine.
 *
 * A timer that outlived the handler would kill the program. So whoever makes one announces it first
 * (arming), and then checks whether the engine is on; a stop switches it off first, and then checks
 * whether anybody is arming. Both are sequentially consistent: one of the two sees the other.
 */
#ifndef WEFT_RUNTIME_GATE_H
#define WEFT_RUNTIME_GATE_H

enum weft_gate { WEFT_GATE_OFF, WEFT_GATE_STARTING, WEFT_GATE_ON, WEFT_GATE_STOPPING };

/* Before a timer is made: 1 if it may be. After it: 0 = stopped meanwhile, delete it. */
int weft_engine_enter(void);
int weft_engine_leave(void);

/* For the engine (engine.c): changes the state from @from to @to; 0: it was not @from. */
int weft_gate_moves(enum weft_gate from, enum weft_gate to);
void weft_gate_set(enum weft_gate to);
int weft_gate_is_clear(void); /* nobody is making a timer */
void weft_gate_forget(void);  /* in a forked child */

#endif
