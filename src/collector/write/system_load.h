/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For jdk.CPULoad: how busy the machine is, and how much of that the recorded processes are.
 *
 * The kernel tells a process's own CPU time, and that of the children for which it has waited. So
 * what a child used between the last look and its end is found in its parent; but there it comes
 * with what was counted of the child before. That much the parent owes: it is subtracted when it
 * appears. So even programs that live shorter than the time between two looks count, and none
 * counts twice.
 */
#ifndef WEFT_COLLECTOR_SYSTEM_LOAD_H
#define WEFT_COLLECTOR_SYSTEM_LOAD_H

#include "collector/process/process.h"
#include "collector/process/system_read.h"

struct system_load {
	struct machine_time seen;
	uint64_t seen_ns;      /* when that was; 0 = never */
	uint64_t user, system; /* ticks of the recorded processes since then */
	uint32_t processors;
};

/* Shares of all processors' time, 0..1; user + system <= machine. */
struct system_share {
	double user, system, machine;
};

void system_load_begin(struct system_load *l, const char *root, uint32_t processors,
		       uint64_t now_ns);

/* A process joins: what it used before does not count, unless it was recorded as another program
 * before an exec. @all: the processes of the recording, in the order in which they joined. */
void system_load_join(struct process *p, const struct process *all);

/* Counts what @p has used since the last look. 0, or -ESRCH: it cannot be read any more. */
int system_load_look(struct system_load *l, struct process *p, struct process *all);

/* It cannot be read any more, but has told in its session how much it had used in all: the rest is
 * taken for user mode, for nobody tells. */
void system_load_last(struct system_load *l, struct process *p, uint64_t used_ns);

/* It has ended, after a last look. */
void system_load_leave(struct process *p, struct process *all);

/* Shares of the time since they were asked for last. 0; -ENODATA: no time has passed. */
int system_load_share(struct system_load *l, const char *root, uint64_t now_ns,
		      struct system_share *out);

#endif
