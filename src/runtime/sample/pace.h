/* SPDX-License-Identifier: Apache-2.0 */
/* How often: the recording's period, and the kernel's tick. */
#ifndef WEFT_RUNTIME_PACE_H
#define WEFT_RUNTIME_PACE_H

#include <stdint.h>

uint64_t weft_period_ns(void); /* of the recording: what one sample stands for */
/* in a forked child: keeps the parent's, whose header may be unmapped */
void weft_period_keep(void);
uint64_t weft_clock_gap_ns(void); /* mean gap between two firings of a clock: the period, or 3 s */
uint64_t weft_tick_ns(void);      /* of the kernel */
void weft_tick_read(void);        /* reads the tick's length once, when the engine starts */

#endif
