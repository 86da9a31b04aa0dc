/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The wall engine: stacks of blocked threads, read from outside, without a signal and without
 * stopping anybody. For each thread, at each tick of the wall clock:
 *
 *   run count (/proc/PID/task/TID/schedstat, third field; else the switch counts of status)
 *     unchanged since its last sample: it has not run, so its stack is the same: nothing is
 *       read, the tick is added to that sample (WALL_MORE). Such a thread is looked at ever less
 *       often, down to once a second: the ticks in between are filled in afterwards, exactly.
 *     changed: its state; pc and sp (.../syscall), stack (process_vm_readv), context of its slot,
 *       then syscall and run count again. Nothing moved: a sample (WALL_SAMPLE). Else: none
 *       (wall_moved), for time on a CPU is the cpu engine's.
 *
 * Time that a thread waited for a CPU (schedstat's run delay) is a state of its own: whose it
 * is, wall_delay.c says. Runs on the outside thread (outside.h); pushes batches of kind BATCH_WALL.
 */
#ifndef WEFT_COLLECTOR_WALL_H
#define WEFT_COLLECTOR_WALL_H

#include "collector/look/published.h"
#include "collector/look/threads.h"
#include "collector/process/queue.h"
#include "collector/process/wall_word.h"

/* Batches of a thread without slot: batch_thread.slot, .generation. */
#define WALL_NO_SLOT UINT32_MAX /* then generation = start << 22 | tid */

struct wall_options {
	uint64_t period_ns;
	int context_only;         /* --wall-filter context */
	const char *pattern;      /* --threads GLOB of thread names; NULL = all */
	enum published_from from; /* --context-from */
};

struct wall; /* of one process */

/* @t and @out must live longer; @counts: counters WALL_... are added there. */
struct wall *wall_new(struct process *p, const struct wall_options *o, struct queue *out,
		      struct session_counts *counts);
/* Says WALL_END for all stays; takes NULL. Before threads_free(). */
void wall_free(struct wall *w, uint64_t now_ns);

/* From the watcher's callbacks. wall_thread_new(): wall_meet() follows, with their slots found. */
void wall_thread_new(struct wall *w, struct watched_thread *t);
void wall_thread_dead(struct wall *w, struct watched_thread *t, uint64_t now_ns);

/*
 * Threads that are new: @is_look, at a time that nothing in the process can know of, they are
 * looked at at once; else they have their own looks from now on.
 *
 * Of a thread each moment shall be looked at with one probability, and from when it is known its
 * own looks see to that. Before, wall_meet_gap() does: it lies between two such times, on average a
 * period, exponentially distributed, so that whether there was one says nothing of when the next
 * is. The first that meets a thread is its first look. So a moment u behind its begin b is looked
 * at by the first meeting with density exp(-(u - b) / P) / P, or by its own looks with 1 / P if it
 * was met before, of which the chance is 1 - exp(-(u - b) / P): 1 / P together, be it gone a moment
 * later. Lists at other times that find it change nothing: they do not depend on the meetings.
 */
void wall_meet(struct wall *w, struct threads *t, int is_look);
uint64_t wall_meet_gap(struct wall *w);

/* All that is due by @now_ns, for at most @budget_ns; when to come again (CLOCK_MONOTONIC). */
uint64_t wall_tick(struct wall *w, struct threads *t, uint64_t now_ns, uint64_t budget_ns);

/* What other libraries publish of its threads is read by @published, which must live longer; NULL:
 * it is not. When a variable has come or gone, who is blocked since before is read anew. */
void wall_use_published(struct wall *w, struct published *published);
void wall_look_anew(struct wall *w);

/* Before a chunk ends: ticks that are not told yet are. */
void wall_flush(struct wall *w, uint64_t now_ns);

#endif
