/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writing module map snapshots into a session, round and round its area, by the protocol of
 * abi/module_map.h. Writer: one thread. Readers: any number of handlers, which may be
 * interrupted between any two loads. What the target stores there is never read back.
 */
#ifndef WEFT_COLLECTOR_SNAPSHOT_H
#define WEFT_COLLECTOR_SNAPSHOT_H

#include <weft/abi/module_map.h>

#define SNAPSHOTS_MAX 64 /* in the area at a time */

struct snapshot_place {
	uint64_t offset, bytes; /* in the area */
};

struct snapshots {
	struct weft_session_header *header; /* the shared one */
	uint8_t *area;
	uint64_t area_offset, area_bytes;
	uint32_t number;                            /* of the newest; 0 = none yet */
	uint64_t at;                                /* where the next begins */
	struct snapshot_place place[SNAPSHOTS_MAX]; /* in the order written, oldest first */
	uint32_t places;
};

/* @base: the session; @layout: the private copy of its header. Numbers go on from those of an
 * earlier recording of the session. */
void snapshots_begin(struct snapshots *s, void *base, const struct weft_session_header *layout);

/* The most modules that one snapshot can hold. */
uint32_t snapshots_most(const struct snapshots *s);

/* The number that the next one gets. */
uint32_t snapshots_next(const struct snapshots *s);

/*
 * snapshots_put() - publish @count modules, sorted, not overlapping; those that do not fit
 * are left out. @tables_used is published before; @epoch is as abi/module_map.h has it.
 * Returns the snapshot's number.
 */
uint32_t snapshots_put(struct snapshots *s, const struct weft_map_module *modules, uint32_t count,
		       uint64_t tables_used, uint64_t epoch);

#endif
