/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading one station: its cursor, and the three dialects (weft/abi/ctp.h). The cursor says
 * which event comes next, so that the one slot where it will stand tells whether there is
 * anything new, and events come out in order.
 *
 * Invariant of a cursor: next - start == harvested + lost (modulo 2^64), start being the first
 * event of the dialect. unwritten counts events that were harvested first. What was written is
 * never less than next. A cursor may lie in a file that outlives the engine (progress.h); one that
 * was cut off in mid-update is made whole by cursor_mend().
 */
#ifndef WEFT_CORO_ENGINE_STATION_H
#define WEFT_CORO_ENGINE_STATION_H

#include "coro/engine/trace.h"

enum cursor_dialect {
	CURSOR_UNKNOWN = 0,
	CURSOR_S = 1,
	CURSOR_D = 2,
	CURSOR_M = 3,
};

struct cursor {
	uint64_t next; /* event that is read next: n, or seq (D) */
	uint64_t start;
	uint64_t harvested;
	uint64_t lapped, recycled, mid_write, unwritten; /* lost */
	uint64_t probe_id, birth_ts;                     /* of the generation that was seen last */
	uint32_t generation, pid;
	uint32_t coroutines; /* generations that were seen */
	uint32_t told;       /* generation whose death was told, or is not to be */
	uint8_t dialect;     /* enum cursor_dialect */
	uint8_t likely;      /* a dialect that the next look has to confirm */
	uint8_t is_listed;   /* in the list of those that are looked at every time */
	uint8_t rsv[33];
};
_Static_assert(sizeof(struct cursor) == 128, "cursors lie in files");

struct station_reader {
	const struct weft_ctp_station *station;
	struct cursor *cursor;
	uint32_t index;
	int is_last;     /* nobody writes any more */
	int is_thorough; /* looks whether it was begun anew, too */
	void (*take)(void *arg, const struct coro_event *event);
	void (*died)(void *arg, const struct coro_death *death); /* or NULL */
	void *arg;
};

/* Hands out events that are whole and new, in order, about @most. Returns how many. */
int64_t station_read(struct station_reader *r, uint32_t most);

/* Events ever written there, as far as it shows; never below what the cursor has. */
uint64_t station_written(const struct weft_ctp_station *station, const struct cursor *cursor);

/* Puts the cursor behind all events that are there; one that is being written may still come. */
void station_skip(const struct weft_ctp_station *station, struct cursor *cursor);

/* Its writer is dead: an event that was being written is lost. */
void station_bury_slots(const struct weft_ctp_station *station, struct cursor *cursor);

void cursor_mend(struct cursor *cursor);
uint64_t cursor_lost(const struct cursor *cursor);

int station_is_zero(const void *bytes, size_t count);

#endif
