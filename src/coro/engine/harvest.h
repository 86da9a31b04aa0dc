/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From stations to events: reads all three dialects, keeps a cursor per station, and the books.
 * It alone knows how slots are read; who runs it (a live engine, a dump of a left-over file) does
 * not matter to it. It writes to the mapping only where the engine's fields are (dirty bits).
 *
 * Invariant, after every call: books.written == harvested + lost + pending, for each station and
 * in sum. Events of a coroutine come in the order in which they happened.
 */
#ifndef WEFT_CORO_HARVEST_H
#define WEFT_CORO_HARVEST_H

#include "coro/engine/shm.h"
#include "coro/engine/trace.h"

struct coro_harvest;

/* A death behind so many of a batch's events. */
struct coro_batch_death {
	size_t events;
	struct coro_death death;
};

/* A batch: what calls of coro_harvest_take() found. */
struct coro_batch {
	struct coro_event *events;
	size_t count, room;
	struct coro_batch_death *deaths;
	size_t death_count, death_room;
};
void coro_batch_free(struct coro_batch *batch);

/* Begins with each station's first event: one that is overwritten already counts as lost. */
int coro_harvest_new(struct coro_harvest **out, struct coro_shm *shm);
/* The same with the caller's cursors, CORO_CURSOR_BYTES for each of shm->count: zeros, or what an
 * engine left, however it ended; then it goes on from there. */
#define CORO_CURSOR_BYTES 128
int coro_harvest_resume(struct coro_harvest **out, struct coro_shm *shm, void *cursors);
/* Passes over all events that are there already: they are in no books. 0 or -errno. */
int coro_harvest_skip(struct coro_harvest *h);
/* From now on batches have deaths, too. */
void coro_harvest_tell_deaths(struct coro_harvest *h);
void coro_harvest_free(struct coro_harvest *h);

enum coro_sweep {
	CORO_SWEEP_DIRTY, /* dirty groups, legacy stations, and a share of all the others */
	CORO_SWEEP_ALL,
	CORO_SWEEP_LAST, /* all, and nobody writes any more: what is half written is lost */
};

/* Appends to @batch what is new. How many events, or -errno (-EIO: the file was cut short). */
int64_t coro_harvest_take(struct coro_harvest *h, enum coro_sweep sweep, struct coro_batch *batch);
/* In the last call legacy stations were so busy that the next one should come at once. */
int coro_harvest_is_pressed(const struct coro_harvest *h);

/* Calls @each for the processes of stations whose coroutines live, some more than once. */
int coro_harvest_each_pid(struct coro_harvest *h, int (*each)(void *arg, uint32_t pid), void *arg);

/* These events were taken, and go nowhere: they count as lost (unwritten). */
void coro_harvest_give_up(struct coro_harvest *h, const struct coro_event *events, size_t count);

/* Stations of a process that is no more: odd slots are "died in mid-write" and count as lost, the
 * stations become free to be used again. How many coroutines died so, or -errno. Take all first. */
int64_t coro_harvest_bury(struct coro_harvest *h, uint32_t pid);

/* What pending events are is looked up in the file: -EIO when it was cut short; then @books tells
 * what was known before. */
int coro_harvest_books(struct coro_harvest *h, struct coro_books *books);

#endif
