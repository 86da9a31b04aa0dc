/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How busy the machine is, and the processes of a recording with it, as jdk.CPULoad has it.
 *
 * The kernel tells a process's own time (user, system) and that of the children it has waited
 * for. What a child used between our last look and its end is found there, in its parent; and
 * so is all that we had taken of it before. That much is owed: it is left out when it appears. So
 * programs that live shorter than a look apart count, and none counts twice.
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

/* A process joins: what it used before is not the recording's. @all: those of the recording, the
 * newest first; one that became this by exec goes on in it. */
void system_load_join(struct process *p, const struct process *all);

/* @all: those of the recording. 0, or -ESRCH: it cannot be read any more. */
int system_load_look(struct system_load *l, struct process *p, struct process *all);

/* It can be read no more, and has left behind that it used so much in all: the rest is taken for
 * user mode, for nobody tells. */
void system_load_last(struct system_load *l, struct process *p, uint64_t used_ns);

/* It has ended, and was looked at if it still could be. */
void system_load_leave(struct process *p, struct process *all);

/* The time since the last share. 0; -ENODATA: none has passed. */
int system_load_share(struct system_load *l, const char *root, uint64_t now_ns,
		      struct system_share *out);

#endif
