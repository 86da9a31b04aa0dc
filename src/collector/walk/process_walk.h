/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The walker's part of a process: where its code lies, as it was told and as it was read, and the
 * names of code that lies in no file.
 */
#ifndef WEFT_COLLECTOR_PROCESS_WALK_H
#define WEFT_COLLECTOR_PROCESS_WALK_H

#include "collector/process/loads.h"
#include "collector/process/maps.h"
#include "collector/process/process.h"
#include "collector/process/snapshot.h"

struct jit;
struct modules;
struct tables;

struct process_walk {
	char *first_maps; /* read before the process was answered; NULL: it could not be read, or
			     has been taken */
	size_t first_maps_bytes;
	struct maps maps;
	uint64_t looked_ns;
	int64_t look_credit_ns; /* time that looking may take now */
	int look_is_owed;       /* the last one that was asked for was not taken for want of that */
	int told_by_log;        /* /proc cannot be read: the process tells its modules itself */
	uint64_t maps_ns;       /* when the mappings were looked at */
	uint64_t epoch;         /* modules_epoch before that look, without its lower half */
	struct loads loads;     /* what the process tells of what has come and gone */
	struct snapshots snapshots;
	uint32_t published;       /* generation of the maps that the newest snapshot tells */
	uint64_t published_epoch; /* and its epoch */
	uint64_t modules_position;
	uint32_t tables_refused; /* modules of one snapshot that found no room for their tables,
				    at most; the worker counts it: atomic */
	uint32_t libraries_told; /* generation of the maps of which the newest list is */
	struct jit *jit;         /* names of code that lies in no file; NULL = none */
};

/* Frees all but what is counted. Takes NULL. */
void process_walk_release(struct process_walk *w);

/* Names of its JIT code from now on. Of the drain thread, before the walker knows the process, and
 * before that has made any. 0 or -ENOMEM. */
int process_walk_jit(struct process *p);

/* Is something unloaded since the mappings were looked at, or just now? */
int process_map_is_stale(const struct process *p);

/* Look at the mappings (again): not if that was done at @now_ns or later, and at most so often that
 * it costs little. Returns the number of changes. */
int process_look(struct process *p, uint64_t now_ns);

/* Should the mappings be looked at, when that has cost too much for now? The time to pay for one
 * look is a fraction of a second at most. */
int process_look_is_owed(struct process *p, uint64_t now_ns);

/* Reads which libraries there are now, and tells the worker. */
void process_look_libraries(struct process *p);

/* In map_publish.c. What the process's handlers walk by: if its mappings or its epoch have changed
 * since the newest snapshot, one at once, with the tables that are there already, and another when
 * the rest is built. */
void map_publish(struct modules *modules, const struct tables *tables, struct process *p);

#endif
