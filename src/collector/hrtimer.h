/* SPDX-License-Identifier: Apache-2.0 */
/* Would the kernel give a program of this user an hrtimer for each thread (src/runtime/clock.h)? */
#ifndef WEFT_COLLECTOR_HRTIMER_H
#define WEFT_COLLECTOR_HRTIMER_H

/* 0, or the errno of perf_event_open as it stands for the calling thread. */
int hrtimer_refused(void);

#endif
