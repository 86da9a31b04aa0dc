/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All coroutines of a shared file as they are now: for `ps`, `top`, `dump`, and a report of a
 * live or left-over file. Reads only; needs no engine, and disturbs none. Built from stations
 * alone, so it is immune to lost events.
 *
 * Weakly consistent: each coroutine is as it was at a moment of the call, one after the other;
 * coroutines that are born meanwhile may be in it or not.
 */
#ifndef WEFT_CORO_SNAPSHOT_H
#define WEFT_CORO_SNAPSHOT_H

#include "coro/engine/shm.h"
#include "coro/engine/trace.h"

struct coro_state {
	uint32_t station, generation, pid, tid;
	uint64_t probe_id, birth_ts;
	uint8_t state; /* enum weft_ctp_state; of legacy stations by their newest event */
	uint8_t dialect, is_dead;
	uint8_t has_totals; /* 0: a legacy station has none */
	uint8_t has_context;
	uint64_t since_ns; /* of its last event, or birth */
	uint64_t addr;     /* of its last event */
	uint64_t site, last_wake_ns;
	uint32_t parent_station, parent_generation;
	struct weft_ctp_totals totals;
	uint32_t run_histogram[WEFT_CTP_BUCKETS], wait_histogram[WEFT_CTP_BUCKETS];
	struct weft_ctp_context context;
	/* Its last switches, oldest first; of this generation alone, numbered as the station has
	 * them. Fewer than eight where one was being written. */
	struct weft_ctp_epoch events[WEFT_CTP_SLOTS];
	uint8_t event_count;
};

/* Calls @each for all that were ever had, in order, until it returns not 0. That, 0, or -errno. One
 * that would not hold still is left out. */
int coro_snapshot(const struct coro_shm *shm,
		  int (*each)(void *arg, const struct coro_state *state), void *arg);

/* What @state says of its @index-th event, as a trace would. */
struct coro_event coro_state_event(const struct coro_state *state, size_t index);

#endif
