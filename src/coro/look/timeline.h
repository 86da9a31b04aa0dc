/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A trace as a timeline: for each thread which coroutine ran when, the longest waits,
 * and how many coroutines ran, were suspended, were alive, and how many events were lost, at any
 * time. What the formats for timelines have in common; holds the whole trace in memory, about 64
 * bytes an event.
 *
 * Slices of a thread nest: of two that overlap without one being inside the other (events were
 * lost, or the trace has no thread ids) the later one is cut in two where the earlier ends.
 * A run whose end nobody saw (its coroutine died: death is no event; or the trace does not say)
 * ends at the next event on its thread.
 */
#ifndef WEFT_CORO_TIMELINE_H
#define WEFT_CORO_TIMELINE_H

#include "coro/engine/order.h"
#include "coro/look/lives.h"

#define CORO_LONGEST_DEFAULT 32

struct coro_slice {
	uint64_t begin_ns, end_ns;
	uint64_t addr; /* of the suspension that ends it; 0 = not known */
	const struct coro_life *life;
	uint64_t flow;       /* runs that follow each other with nothing lost between have one */
	uint32_t thread;     /* index */
	uint32_t context;    /* 1 + index in contexts; 0 = not known */
	uint8_t is_open;     /* its end was not seen */
	uint8_t is_rest;     /* the second part of one that was cut */
	uint8_t is_cut;      /* the first part of one that was cut */
	uint8_t comes, goes; /* its flow has a slice before it, one after it */
};

struct coro_thread {
	uint64_t tid;
	uint32_t pid; /* 0 = not known */
};

struct coro_wait {
	uint64_t begin_ns, end_ns, addr;
	const struct coro_life *life;
	uint8_t is_open, is_first;
};

enum coro_counter { CORO_RUNNING, CORO_SUSPENDED, CORO_LIVE, CORO_LOST, CORO_COUNTERS };

struct slices {
	struct coro_slice *at;
	size_t count, room;
};

/* To be read when it is finished: threads, `nested`, waits, contexts and `lost`. */
struct coro_timeline {
	struct order order;
	struct coro_lives *lives;
	struct map *thread_of; /* struct coro_thread -> index */
	struct coro_thread *threads;
	size_t thread_count, thread_room;
	struct map *context_of; /* prefix -> index */
	struct weft_ctp_context_prefix *contexts;
	size_t context_count, context_room;
	/* nested: thread by thread; in each by begin, what is outside before what is inside. */
	struct slices runs, nested;
	/* Until the end up to twice as many as are wanted; then coroutine by coroutine (in order of
	 * their lives), in each by begin. */
	struct coro_wait *waits;
	size_t wait_count, wait_room, longest;
	struct coro_step *steps;
	size_t step_count, step_room;
	uint64_t flows, lost;
	int error; /* the first error; the call that brings intervals cannot return one */
};

int coro_timeline_new(struct coro_timeline **out, uint32_t longest); /* 0 or -errno */
void coro_timeline_free(struct coro_timeline *t);
int coro_timeline_event(struct coro_timeline *t, const struct coro_event *event); /* 0, -errno */
/* The trace is over. @books may be NULL. 0 or -errno. */
int coro_timeline_finish(struct coro_timeline *t, const struct coro_books *books);

/* Or NULL. */
static inline const struct weft_ctp_context_prefix *
coro_timeline_context(const struct coro_timeline *t, const struct coro_slice *slice)
{
	return slice->context ? &t->contexts[slice->context - 1] : NULL;
}

/* Calls @each with the counters at each time when one changes; @changed has a bit for each. */
int coro_timeline_counters(const struct coro_timeline *t,
			   int (*each)(void *arg, uint64_t ns, const int64_t *counters,
				       unsigned int changed),
			   void *arg);

/* Short and for people: "coro 7". At most 31 bytes. */
#define CORO_SHORT_BYTES 32
void coro_timeline_name(char name[CORO_SHORT_BYTES], const struct coro_life *life);

/* --- for timeline_*.c */

int slices_add(struct slices *s, const struct coro_slice *slice); /* 0 or -ENOMEM */
/* Sorts by thread and time. Slices whose end nobody saw end where their thread does something else.
 */
void slices_sort(struct slices *s);
/* Puts sorted slices into @nested, cut where they cross. 0 or -ENOMEM. */
int slices_nest(const struct slices *sorted, struct slices *nested);

#endif
