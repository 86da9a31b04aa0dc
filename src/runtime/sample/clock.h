/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The clock of the cpu engine: an hrtimer for each thread, perf's cpu-clock event, which counts the
 * thread's time on a CPU and fires at any nanosecond of it. The kernel checks a CPU timer (timer.c)
 * only in its tick, so that work that repeats with ticks is always met at the same phase.
 *
 * At each instant of a thread's CPU time exactly one of the two covers it:
 *
 *   open     user mode by the event, the kernel by those ticks that met it there
 *   closed   all of it by ticks: the thread blocks SIGURG, the program handles it, perf refuses,
 *            it is switched too often (clock_rest.h), or none was opened yet
 *
 * A tick that finds the clock closed counts in full. If it opens the clock, which was closed since
 * some instant between two ticks, it stands for half, the average rest of a tick.
 *
 * Opening costs more time than many threads live. So of threads that are started in quick
 * succession only one in n, drawn at random, gets its clock at once; the others at their first
 * tick. Up to its first tick each chosen thread stands for n (and has gaps as much shorter, if
 * possible, so that a sample keeps its weight), and the tick that opens the clock of another stands
 * for nothing. An instant before the first tick is so met with a chance of 1/n and counts n times,
 * one after it is met in each thread, whatever the times of ticks (Horvitz and Thompson, 1952).
 * Ticks themselves could not be weighted instead: on a CPU with other work, time slices begin and
 * end at ticks, so that a thread's age at its first tick is not random.
 *
 * The event counts user mode only: the kernel allows that to everybody (perf_event_paranoid 2), and
 * a signal that begins in user mode never cuts a system call short. It sends the thread SIGURG by
 * F_SETSIG, whose default is to be ignored: one that arrives during exec harms nobody. No
 * descriptor stays open: the mapping of the event's control page keeps the event alive. exec, exit
 * and fork remove that by themselves, closefrom() does not. A program that unmaps it gets ticks
 * until the next clock is opened; it is looked at before we unmap it, for there may be something of
 * the program's by then.
 *
 * Not used if the program handles SIGURG itself: the kernel drops one sent to a thread for which
 * the event's is pending, and it may not be sent again.
 *
 * Gaps between two samples are random (clock_gaps.h).
 *
 * Writer: the owning thread (and its handlers), except for the first word, which whoever stops the
 * engine exchanges for 0: whoever gets the address unmaps it. All is async-signal-safe.
 */
#ifndef WEFT_RUNTIME_CLOCK_H
#define WEFT_RUNTIME_CLOCK_H

#include <signal.h>
#include <stdint.h>

#include <weft/abi/session.h>

#include "base/atomic.h"
#include "runtime/sample/clock_gaps.h"

/* being opened or closed: only that thread may use the words below */
#define WEFT_CLOCK_OPENING UINT64_C(1)

/* In the slot: samples_p.own. */
struct weft_clock {
	uint64_t page;      /* the event's control page; 0 = closed; WEFT_CLOCK_OPENING */
	uint64_t random;    /* state of the generator; 0 = not seeded */
	uint32_t kernel_us; /* the thread's time in the kernel at its last tick, plus 1; 0 = none */
	uint32_t since_us;  /* its CPU time, kept so, as the first gap began, or at the first tick
			       after the event fired last; 0 = there was none yet */
	struct weft_gaps gaps; /* gap_ns 0 = open, and of no use any more; share: the thread stands
				  for so many until its first tick, by no clock if gap_ns is 0;
				  1 = for itself; 0 = not begun */
	int32_t fd;            /* the number that its signals carry */
	uint32_t told_us; /* the same at the last sample of it in the kernel; 0 = there is none */
};
_Static_assert(sizeof(struct weft_clock) == sizeof(((struct weft_ring_producer *)0)->own),
	       "its room in the slot");

static inline struct weft_clock *weft_clock_of(struct weft_slot *slot)
{
	return (struct weft_clock *)(void *)slot->samples_p.own;
}

static inline int weft_clock_is_open(struct weft_slot *slot)
{
	const struct weft_clock *clock = weft_clock_of(slot);

	return clock->gaps.gap_ns && load_relaxed(&clock->page) > WEFT_CLOCK_OPENING;
}

/* When a thread begins, with signals blocked; @mask: the thread's mask without that. */
void weft_clock_begin(struct weft_slot *slot, uint64_t mask);

/* May a thread with @mask have a clock, as far as is known? */
int weft_clock_is_possible(uint64_t mask);

/* By whoever starts the engine, for a thread without a timer yet. 0: not possible. */
int weft_clock_open(struct weft_slot *slot, uint64_t mask);

/*
 * A tick has found the clock closed, in user mode or not: opens it if possible. Returns the
 * nanoseconds that the tick then stands for in user mode, of @weight_ns (a tick, or a long call).
 */
uint64_t weft_clock_open_late(struct weft_slot *slot, uint64_t mask, uint64_t weight_ns);

/* A tick has found the clock open: from its first tick on a thread stands only for itself. */
void weft_clock_first_tick(struct weft_slot *slot);

/* The nanoseconds that a sample due now stands for. */
uint64_t weft_clock_weight_ns(struct weft_slot *slot);

/*
 * A forked child has a clock from its beginning, in its private slot: with ticks only, its share
 * would depend on the phase of its life to ticks. Its session begins with its first sample.
 */
void weft_clock_after_fork(int is_wanted);

/* The child's session has begun; @slot: the calling thread's own (NULL: the session failed). */
void weft_clock_after_begin(struct weft_slot *slot);

void weft_clock_close(struct weft_slot *slot); /* of any thread; does nothing if it is closed */

/* The program uses SIGURG itself: closes all clocks, for good. */
void weft_clock_yield(void);

/* Before and after the thread blocks SIGURG: none may be left pending. A tick in between may have
 * opened the clock again; later ticks do not. */
void weft_clock_before_mask(void);
void weft_clock_after_mask(void);

/* Is this SIGURG from the calling thread's event, even if that is closed by now? */
int weft_clock_sent(const siginfo_t *info);

/* The event has fired. 1: it is a repeat of its first gap (clock_gaps.h), and no sample; it has
 * been opened anew. Reads the CPU time once for each opening. */
int weft_clock_is_repeat(struct weft_slot *slot);

/*
 * The event has fired, and a handler has begun at @fired_ns: counts it, and opens it anew when due.
 * 0: could not be opened; what it covered ends within a gap, and the sample stands for half of one.
 */
int weft_clock_fired(struct weft_slot *slot, uint64_t fired_ns);

/* In a tick, at @cpu_us of the thread's CPU time (as kept), if the event has been quiet for long:
 * closes the clock if the event is not what it was. */
void weft_clock_is_quiet(struct weft_slot *slot, uint32_t cpu_us);

/* Does the clock cover user mode, for a tick that interrupted a thread with @mask? */
int weft_clock_covers(struct weft_slot *slot, uint64_t mask);

uint64_t weft_clock_random_below(struct weft_slot *slot, uint64_t below); /* the calling thread's */

#endif
