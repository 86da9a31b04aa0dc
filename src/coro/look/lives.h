/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs and waits of coroutines, out of events. It is fed event by event, in the order of time for
 * each coroutine; hands out each interval as it ends, and at the end those still open.
 * Reports, timelines and `--stuck` are built on it.
 *
 * A gap ends the open interval as unknown, never as a long run: a resume after a resume, a
 * sequence number left out (how a dialect counts is found out from the numbers), an
 * event earlier than the one before it (which is itself passed over).
 *
 * Who a coroutine is: (station, generation, pid, probe_id) where the trace has that; else its
 * probe_id, until its numbers begin anew. A station's next coroutine is the end of the last.
 */
#ifndef WEFT_CORO_LIVES_H
#define WEFT_CORO_LIVES_H

#include "coro/engine/trace.h"

enum coro_interval_kind {
	CORO_RUN,  /* from resume to suspend */
	CORO_WAIT, /* from suspend (or birth, where known) to resume */
};

struct coro_interval {
	enum coro_interval_kind kind;
	uint8_t is_open;  /* at the end of the trace, or of the coroutine */
	uint8_t is_first; /* begins with birth */
	uint64_t begin_ns, end_ns;
	uint64_t addr; /* of the suspension that ends the run, or began the wait; 0 = not known */
	uint64_t tid;  /* of a run */
	const struct coro_life *life;
};

struct coro_life {
	uint64_t probe_id, birth_ns, first_ns, last_ns; /* birth 0 = not known */
	uint32_t pid, station, generation;              /* 0 where not known */
	uint8_t is_running, is_dead, knows_identity;
	uint8_t knows_death; /* its trace tells deaths */
	uint8_t is_replaced; /* that it is dead is known only by its successor */
	uint64_t death_ns;   /* when it was dead; 0 = at its last event, or alive */
	uint8_t is_open;     /* its run or wait since open_ns is known without a gap */
	uint8_t counting;    /* enum coro_counting */
	uint8_t lap;         /* of CORO_COUNTS_LAPS: events with last_seq so far */
	uint64_t open_ns;    /* begin of the run or wait that is open */
	uint64_t resumes, suspends, gaps, max_wait_ns;
	uint64_t lost; /* events that are left out between its own, by their numbers */
	uint64_t last_seq;
	uint64_t last_addr, last_tid;
	uint64_t last_suspend_addr;
	uint64_t tids;    /* how many times it changed its thread */
	uint64_t returns; /* of these: back to the thread that it came from */
	uint64_t previous_tid;
	struct weft_ctp_context_prefix context;
	uint8_t has_context;
	void *user; /* the caller's */
};

/* How a coroutine's events are numbered (weft/abi/ctp.h). */
enum coro_counting {
	CORO_COUNTS_UNKNOWN,
	CORO_COUNTS_EVENTS, /* M: 2, 4, 6 ... */
	CORO_COUNTS_LAPS,   /* S: 2 eight times, then 4 eight times */
	CORO_COUNTS_ONES,   /* D: 1, 2, 3 ... */
};

/* Read by the caller, changed here alone. */
struct coro_lives {
	void (*interval)(void *arg, const struct coro_interval *interval);
	void *arg;
	struct coro_life **blocks;
	size_t count, blocks_room;  /* count: of lives, for coro_lives_at() */
	struct map *now;            /* struct lives_place -> 1 + index */
	uint64_t first_ns, last_ns; /* of all events; 0 = none */
	uint64_t lost;              /* the lives' sum, so far */
};

struct coro_lives *coro_lives_new(void (*interval)(void *arg, const struct coro_interval *interval),
				  void *arg);                                   /* or NULL */
int coro_lives_event(struct coro_lives *lives, const struct coro_event *event); /* 0 or -errno */
/* A coroutine whose last event was fed is dead at @death->ts; one that is not known is ignored. */
void coro_lives_death(struct coro_lives *lives, const struct coro_death *death);
/* The trace is over: open intervals are handed out, with end_ns = the trace's last time. */
void coro_lives_end(struct coro_lives *lives);
struct coro_life *coro_lives_at(struct coro_lives *lives, size_t index);
void coro_lives_free(struct coro_lives *lives);

#endif
