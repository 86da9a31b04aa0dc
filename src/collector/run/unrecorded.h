/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs below the recorded one that are not recorded, for they ran already when it was
 * attached to, no library can be loaded into them, LD_PRELOAD was taken from their environment, or
 * they could not join, as a forked child cannot that has no descriptor left or filters its system
 * calls: found by looking at what runs, now and then. One that ends between two looks, or that
 * another thread than the main one of its parent has started, is not seen.
 */
#ifndef WEFT_COLLECTOR_UNRECORDED_H
#define WEFT_COLLECTOR_UNRECORDED_H

#include <stddef.h>
#include <sys/types.h>

#define UNRECORDED_MAX 16

struct unrecorded_program {
	pid_t pid;
	char command[16];
	const char *why; /* static: "statically linked" */
};

struct map;

struct unrecorded {
	struct unrecorded_program program[UNRECORDED_MAX]; /* the first */
	size_t count;                                      /* of all */
	struct map *seen; /* {pid, file, place of its stack} -> looked at; NULL at first */
};

/* Looks at @root and its descendants, or at the descendants alone. */
void unrecorded_look(struct unrecorded *u, pid_t root);
void unrecorded_look_below(struct unrecorded *u, pid_t root);

/* @count processes are attached to: their other descendants that run now are not recorded. */
void unrecorded_begin(struct unrecorded *u, const pid_t *pids, size_t count);
void unrecorded_free(struct unrecorded *u);

#endif
