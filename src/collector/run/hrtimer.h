/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The hrtimers of threads (src/runtime/sample/clock.h), as the collector has to do with them: would
 * the kernel give a program of this user one for each, and cheaply?
 */
#ifndef WEFT_COLLECTOR_HRTIMER_H
#define WEFT_COLLECTOR_HRTIMER_H

/* 0, or the errno of perf_event_open as it stands for the calling thread. */
int hrtimer_refused(void);

/*
 * A descriptor to be closed at the end, or -1. While it is open there is an event of a thread
 * somewhere, so that those of others are not the first: for that one the kernel puts a hook into
 * its switches and waits for all CPUs (kernel/events/core.c, perf_sched_events: 30 to 80 us), each
 * time that there was none.
 */
int hrtimer_prepare(void);

#endif
