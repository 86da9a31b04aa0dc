/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether the kernel lets a program of this user have hrtimers, which the runtime opens for each of
 * its threads (src/runtime/sample/clock.h), and what makes opening them cheap.
 */
#ifndef WEFT_COLLECTOR_HRTIMER_H
#define WEFT_COLLECTOR_HRTIMER_H

/* Would the system call filter that we run under ourselves kill for it? A child tries. */
int hrtimer_kills(void);

/* 0, or the errno with which perf_event_open refuses the calling thread one. */
int hrtimer_refused(void);

/*
 * A descriptor to be closed at the end, or -1. While it is open no thread's event is the only one
 * on the machine: for such a one the kernel patches its context switch and waits for all CPUs
 * (kernel/events/core.c, perf_sched_events: 30 to 80 us).
 */
int hrtimer_prepare(void);

#endif
