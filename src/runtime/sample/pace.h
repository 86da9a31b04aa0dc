/* SPDX-License-Identifier: Apache-2.0 */
/* How often: the recording's period, and the kernel's tick. */
#ifndef WEFT_RUNTIME_PACE_H
#define WEFT_RUNTIME_PACE_H

#include <stdint.h>

uint64_t weft_period_ns(void);    /* of the recording: what one sample stands for */
void weft_period_keep(void);      /* in a forked child: its parent's, whose header may go */
uint64_t weft_clock_gap_ns(void); /* on average, between two that fire: the period, or 3 s */
uint64_t weft_tick_ns(void);      /* of the kernel */
void weft_tick_look(void);        /* asks for it once, where the engine starts */

#endif
