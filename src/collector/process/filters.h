/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Seccomp filters of a process, as /proc/PID/task/TID/status tells their number. A filter may kill
 * for a system call that it does not know, and nobody can ask one what it does. So a process that
 * has got one since its session began is *careful* from then on: its runtime is told in the session
 * (WEFT_FEATURE_CAREFUL), asks nothing more of the kernel, and gets no order.
 *
 * Filters are handed down and never taken away: the same number in a descendant is the same
 * filters. Known not to kill are those of a whole container (the first process of the PID namespace
 * has as many), and as many as WEFT_FILTERS in its environment says (src/runtime/core/filters.c).
 *
 * Any thread of the collector: the marks are atomic.
 */
#ifndef WEFT_COLLECTOR_FILTERS_H
#define WEFT_COLLECTOR_FILTERS_H

#include "collector/process/process.h"

/* Of all its threads: 0 = none but known ones, 1 = there are others. */
int filters_are_strange(pid_t pid);
int filters_are_strange_as_met(const struct process *p); /* of one that has just been met */

/* Has it been found careful, by its own hooks or by us? */
int filters_are_feared(const struct process *p);

/* As a session is taken over: are there strange ones already? */
void filters_meet(const struct process *p);

/* Looks at one thread, or at all (the first thousands): filters_are_feared(), afterwards. */
int filters_look(const struct process *p, int32_t tid);
int filters_look_all(const struct process *p);

#endif
