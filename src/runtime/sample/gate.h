/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The gate between who makes a timer and who starts or stops the engine.
 *
 * A timer that outlived the handler would kill the program. So whoever makes one says so first
 * (arming) and looks then whether the engine is on; a stop switches it off first and looks then
 * whether somebody is at it. Both in sequential order: one of the two sees the other.
 *
 */
#ifndef WEFT_RUNTIME_GATE_H
#define WEFT_RUNTIME_GATE_H

enum weft_gate { WEFT_GATE_OFF, WEFT_GATE_STARTING, WEFT_GATE_ON, WEFT_GATE_STOPPING };

/* Before a timer is made, 1 if it may be; then afterwards: 0 = stopped meanwhile, delete it. */
int weft_engine_enter(void);
int weft_engine_leave(void);

/* Of the engine (engine.c): 1 = it was at @from, and is at @to. */
int weft_gate_moves(enum weft_gate from, enum weft_gate to);
void weft_gate_set(enum weft_gate to);
int weft_gate_is_clear(void); /* nobody is making a timer */
void weft_gate_forget(void);  /* in a forked child */

#endif
