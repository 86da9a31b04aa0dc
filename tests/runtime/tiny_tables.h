/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unwind tables and module maps of the test collector, made from /proc/PID/maps at every turn.
 */
#ifndef TINY_TABLES_H
#define TINY_TABLES_H

#include <weft/abi/module_map.h>

#include "unwind/rules.h"

#define TINY_MODULES_MAX 512

struct tiny_map {
	int pid;
	uint32_t number; /* of the snapshot that was published last */
	uint64_t place;  /* where the next one goes, from map_offset */
	uint64_t hash;   /* of the maps file */
	uint64_t epoch;  /* before it was read */
	int is_last;
	uint32_t count;
	struct weft_map_module modules[TINY_MODULES_MAX];
};

int tiny_tables_open(void); /* the memfd, once, or -1 */

/* No snapshot any more once one with this in a path is out; NULL = goes on. */
extern const char *tiny_last_map;

/* Looks at the process; publishes a snapshot if its maps changed. */
void tiny_map_publish(struct tiny_map *map, struct weft_session_header *shared,
		      const struct weft_session_header *layout);

/* An unwind_find over the newest snapshot; @arg: struct tiny_map. */
int tiny_map_find(void *arg, uint64_t pc, struct unwind_module *out);

#endif
