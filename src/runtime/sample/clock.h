/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The clock of the cpu engine: an hrtimer for each thread, perf's cpu-clock event, which counts the
 * thread's time on a CPU and fires at any nanosecond of it. A CPU timer (timer.c) is looked at by
 * the kernel in its tick alone, so work that repeats with ticks is met at the same phase for ever.
 *
 * Who covers what, at each instant of a thread's CPU time exactly one of the two:
 *   open     user mode by the event, the kernel by those ticks that met it there
 *   closed   all of it by ticks: the thread blocks SIGURG, the program handles it, perf refuses,
 *            it is switched too often (clock_rest.h), or none was opened yet
 * A tick that finds the clock closed counts in full. If it opens the clock, closed since some
 * instant between two ticks, it stands for the half, which is what is left of a tick on average.
 *
 * Opening costs more than many threads live, so of those that are started one after the other in
 * great number only one in n, drawn, gets its clock at once, the others at their first tick. What
 * lies before a thread's first tick is then the drawn ones' to tell: up to theirs each stands for n
 * (and has gaps as much shorter, where that can be, so a sample keeps its weight), and the tick
 * that opens a clock in the others for nothing. An instant before the first tick is so met with the
 * chance 1/n and counts n times, one behind it is met in each, whatever brings the tick when
 * (Horvitz and Thompson, 1952). Ticks themselves could not stand for it: on a CPU with other work
 * slices begin and end at ticks, so how long a thread has lived at its first is not by chance.
 *
 * The event counts user mode only: the kernel allows it to everybody (perf_event_paranoid 2), and
 * a signal that begins in user mode never cuts a system call short. It is SIGURG by F_SETSIG to the
 * thread, whose default is to be ignored: one that crosses exec harms nobody. No descriptor stays:
 * a mapping of the event's control page keeps it alive, which exec, exit and fork undo by
 * themselves, and closefrom() does not.
 *
 * Not beside a program that handles SIGURG itself: the kernel drops one sent to a thread for which
 * the event's is pending, and it may have been sent but this once.
 *
 * Gaps between two samples are random (clock_gaps.h).
 *
 * Writer: the owning thread (and its handlers), but for the first word, which whoever ends the
 * engine exchanges for 0: who gets the address undoes the mapping. All is async-signal-safe.
 */
#ifndef WEFT_RUNTIME_CLOCK_H
#define WEFT_RUNTIME_CLOCK_H

#include <signal.h>
#include <stdint.h>

#include <weft/abi/session.h>

#include "runtime/sample/clock_gaps.h"

#define WEFT_CLOCK_OPENING UINT64_C(1) /* somebody is at it: the words below are his */

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

	return clock->gaps.gap_ns &&
	       __atomic_load_n(&clock->page, __ATOMIC_RELAXED) > WEFT_CLOCK_OPENING;
}

/* The thread begins: @mask are the signals that it blocks. Signals are blocked meanwhile. */
void weft_clock_begin(struct weft_slot *slot, uint64_t mask);

/* May a thread that blocks @mask have one, as far as is known? */
int weft_clock_is_possible(uint64_t mask);

/* By who starts the engine, for a thread that has no timer yet. 0 where it cannot be had. */
int weft_clock_open(struct weft_slot *slot, uint64_t mask);

/*
 * A tick has found it closed, in user mode or not: opens it, where it can be had. What that tick
 * then stands for in user mode, nanoseconds, which would stand for @weight_ns (a tick, or a long
 * call).
 */
uint64_t weft_clock_open_late(struct weft_slot *slot, uint64_t mask, uint64_t weight_ns);

/* A tick has found it open: from its first on the thread stands for itself alone. */
void weft_clock_first_tick(struct weft_slot *slot);

/* What a sample of it stands for that is due now, nanoseconds. */
uint64_t weft_clock_weight_ns(struct weft_slot *slot);

/*
 * A forked child has one from its beginning, in its private slot: at a tick alone its share would
 * depend on how its life lies to the ticks. With the first sample its session begins.
 */
void weft_clock_after_fork(int is_wanted);

/* Its session has begun, and @slot is the calling thread's own (NULL: it could not be). */
void weft_clock_after_begin(struct weft_slot *slot);

void weft_clock_close(struct weft_slot *slot); /* from any thread; closed already: nothing */

/* The program uses SIGURG itself: all are closed, for good. */
void weft_clock_yield(void);

/* The thread is about to block SIGURG, and has done so: none may be left pending. A tick in between
 * may have opened it again; ticks after that do not. */
void weft_clock_before_mask(void);
void weft_clock_after_mask(void);

/* A SIGURG: is it from the calling thread's event? Also from one that is closed by now. */
int weft_clock_sent(const siginfo_t *info);

/* It has fired: not for the first time with its first gap (clock_gaps.h), so it is no sample? Then
 * it has been opened anew. Asks for the CPU time once for each opening. */
int weft_clock_is_repeat(struct weft_slot *slot);

/*
 * It has fired, and a handler has begun at @fired_ns: counts it, and opens it anew when its time
 * has come. 0: it could not be, so what it has covered, which began within a gap, ends with one:
 * the sample stands for half of that.
 */
int weft_clock_fired(struct weft_slot *slot, uint64_t fired_ns);

/* A tick, at @cpu_us (as kept) of the thread's CPU time. Nothing came from it for long: is it still
 * what it was? Else it is closed. */
void weft_clock_is_quiet(struct weft_slot *slot, uint32_t cpu_us);

/* Does it cover user mode, for a tick that interrupted a thread with @mask? */
int weft_clock_covers(struct weft_slot *slot, uint64_t mask);

uint64_t weft_clock_random(struct weft_slot *slot); /* of the calling thread's own slot */

#endif
