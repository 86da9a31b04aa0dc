/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The engine of cTP. It makes the shared file and the socket, harvests by a timer of 1 to 50 ms
 * (the more there is, the sooner), buries what processes left that ended, and keeps the books. When
 * nothing comes the file says so (tracer_sleeping), and legacy probes wake the engine by a byte.
 *
 * One thread drives it: poll coro_engine_fd() for reading, then call coro_engine_step(). The output
 * is written by a thread of its own.
 *
 *   engine.c       the engine, driven by steps
 *   shm.c          the shared file
 *   station.c      one station, three dialects
 *   harvest.c      from stations to events
 *   anchor.c       TSC against CLOCK_MONOTONIC
 *   tracees.c      the socket, who came by it
 *   progress.c     for the engine that comes after
 *   writer.c       the output's own thread
 *   maps_note.c    code that tracees have mapped
 *   snapshot.c     all coroutines, as they are
 *   order.c        a coroutine's events by time
 *   times.c        quantiles of many times
 *   trace.h        events, and where they go
 */
#ifndef WEFT_CORO_ENGINE_H
#define WEFT_CORO_ENGINE_H

#include "coro/engine/shm.h"
#include "coro/engine/trace.h"

struct coro_engine_options {
	uint32_t stations;
	const char *shm_path;  /* NULL: in a new private directory */
	const char *sock_path; /* likewise */
	enum coro_shm_replace replace;
	uint64_t idle_scans;   /* without an event, before it sleeps */
	int attach;            /* takes over the file at shm_path */
	int keep;              /* leaves the shared file where it is */
	const char *maps_path; /* where the processes' code is noted; NULL: nowhere */
	/* The caller's, until the process ends: a thread that was given up may still be in it. */
	struct coro_sink *sink;
	/* Asked at the end, while the output takes nothing more: 1 gives the rest up. Or NULL. */
	int (*is_enough)(void *arg);
	void *is_enough_arg;
};

struct coro_engine_result {
	struct coro_books books;
	int rc;          /* of output or file: 0 or -errno */
	const char *why; /* in other words than the number's, or NULL */
	int is_cut;      /* the shared file was cut short while it was mapped */
	int maps_rc;     /* of maps_path: 0 or -errno */
	int64_t died;    /* coroutines whose process ended before them */
};

struct coro_engine;
/* 0, or -errno, *what it is about, and *why in other words than the number's, or NULL (@why may be
 * NULL): both until the next call. */
int coro_engine_open(struct coro_engine **out, const struct coro_engine_options *options,
		     const char **what, const char **why);
const char *coro_engine_shm_path(const struct coro_engine *e);
const char *coro_engine_sock_path(const struct coro_engine *e); /* "" = none */
uint32_t coro_engine_stations(const struct coro_engine *e);
int coro_engine_fd(const struct coro_engine *e);
/* After coro_engine_fd() became readable. 0, or -errno: it can go on no more. */
int coro_engine_step(struct coro_engine *e);
/* How many processes live that are connected or watched. */
size_t coro_engine_alive(const struct coro_engine *e);
/* Harvests until two sweeps find nothing, closes the books and the output. */
void coro_engine_finish(struct coro_engine *e, struct coro_engine_result *result);
void coro_engine_free(struct coro_engine *e);

#endif
