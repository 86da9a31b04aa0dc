/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cpu engine inside the program: when a thread is sampled, by which clock, and what happens to
 * the program's own signals meanwhile. From the top: handlers (sampler.c, orders.c), the engine,
 * clocks and timers, and what all of these use (gate, pace, ticks, prime).
 *
 * Handlers run on the thread that they interrupt, with all signals blocked, in less than 1 KiB of
 * stack, and call nothing that may wait. Every signal is either ours, by the session's cookie, or
 * passed on to the program's own action.
 *
 *   sampler.c       the handlers: a sample and its weight
 *   orders.c        handler of the priming signal
 *   sample_labels.c a sample's labels, recorded once
 *   registers.h     registers out of a ucontext
 *   engine.c        start and stop of sampling
 *   adopt.c         threads that were there before
 *   attach.c        a collector that comes later
 *   join.c          connecting to the collector
 *   child.c         a forked child's session
 *   timer.c         CPU timers: the kernel's ticks
 *   clock.c         hrtimers: perf's cpu-clock
 *   clock_gaps.c    random gaps between samples
 *   clock_rest.c    threads that are switched often
 *   kernel_time.c   time in the kernel
 *   mask.c          the program's signal masks
 *   prime.c         the priming signal: which, sent how
 *   ticks.c         SIGPROF's handler, coming and going
 *   gate.c          who may make a timer now
 *   pace.c          period and tick
 */
#ifndef WEFT_RUNTIME_SAMPLE_H
#define WEFT_RUNTIME_SAMPLE_H

#include <signal.h>
#include <stdint.h>
#include <ucontext.h>

#include "runtime/core/runtime.h"
#include "runtime/signals/signals.h"

/* pace.c: how often */
uint64_t weft_period_ns(void); /* of the recording: what one sample stands for */
/* in a forked child: keeps the parent's, whose header may be unmapped */
void weft_period_keep(void);
uint64_t weft_clock_gap_ns(void); /* mean gap between two firings of a clock: the period, or 3 s */
uint64_t weft_tick_ns(void);      /* of the kernel */
void weft_tick_read(void);        /* reads the tick's length once, when the engine starts */

/* gate.c: before a timer is made, 1 if it may be; after it, 0 = stopped meanwhile, delete it. */
int weft_engine_enter(void);
int weft_engine_leave(void);
/* For the engine (engine.c): changes the state from @from to @to; 0: it was not @from. */
enum weft_gate { WEFT_GATE_OFF, WEFT_GATE_STARTING, WEFT_GATE_ON, WEFT_GATE_STOPPING };
int weft_gate_moves(enum weft_gate from, enum weft_gate to);
void weft_gate_set(enum weft_gate to);
int weft_gate_is_clear(void); /* nobody is making a timer */
void weft_gate_forget(void);  /* in a forked child */

/* timer.c; all async-signal-safe */
/* The calling thread's own timer and clock; @mask: signals that it blocks. */
void weft_timer_arm(struct weft_slot *slot, uint64_t mask);
void weft_timer_disarm(struct weft_slot *slot); /* both; of any thread */
void weft_timer_delete(int32_t timer_id);
void weft_timer_pause(void); /* the calling thread's own */
void weft_timer_resume(void);
int32_t weft_timer_make(int32_t tid, uint64_t value); /* of any thread; its number, or -1 */
/* That of @slot's thread. The owner, and whoever starts the engine, may do so at once: one stays.
 */
void weft_timer_make_for(struct weft_slot *slot);
/* Deletes the timers of all threads that have a slot or were adopted; may be called again. */
void weft_timer_disarm_all(void);
int weft_timer_is_wanted(void);   /* does the recording ask for the cpu engine? */
int weft_timer_arm_process(void); /* a forked child's: first CPU time of any thread */
void weft_timer_disarm_process(void);

/* adopt.c: threads that exist before the engine starts */
void weft_adopt_threads(void); /* primes those that run, makes timers for the others */
void weft_adopt_more(void);    /* makes timers for those with neither slot nor timer */
/* the thread makes a timer of its own: deletes the adopted one */
void weft_adopt_remove(int32_t tid);
int weft_adopt_was_untimed(int32_t tid); /* was it counted as one without timer? once */
void weft_adopt_delete_all(void);
void weft_adopt_forget(void); /* in a forked child: the timers are its parent's */

/* ticks.c */
int weft_sampler_install(void); /* the handler; the program's own action is kept */
int weft_sampler_is_installed(void);
void weft_sampler_uninstall(void); /* installs the program's own action again */
int weft_sampler_is_ours(const siginfo_t *info);
/* sampler.c, orders.c: the handlers, made known before any can be installed. */
void weft_sampler_begin(void);
void weft_sampler_handler(int signo, siginfo_t *info, void *ucontext);
void weft_order_handler(int signo, siginfo_t *info, void *ucontext);
void weft_sampler_clock(const ucontext_t *uc); /* the clock's, a SIGURG */

/* sample_labels.c: the size of labels after the sample's stack, at most @most (a multiple of 8). */
uint32_t weft_sample_labels_bytes(struct weft_slot *slot, uint32_t most);
/* Fills in label_generation and, if there is @room, appends the labels to the record. */
void weft_sample_labels_put(struct weft_slot *slot, struct weft_sample_record *sample,
			    uint32_t room);

/*
 * Marks handlers of ours that run, and events that walk a stack, for those who wait until they are
 * done: on a thread with a slot by a plain store, else by a shared count. weft_handling_end() takes
 * the result of begin; a handler that interrupts a walk restores what it found.
 */
struct weft_handling {
	struct weft_slot *slot; /* NULL: counted */
	uint64_t before;
};

static inline struct weft_handling weft_handling_begin(void)
{
	struct weft_handling h = {.slot = weft_slot_mine()};

	if (LIKELY(h.slot != NULL)) {
		h.before = load_relaxed(&h.slot->thread.handling);
		store_relaxed(&h.slot->thread.handling,
			      (uint64_t)(uintptr_t)__builtin_frame_address(0));
	} else {
		__atomic_fetch_add(&weft_rt.header->handling, 1, __ATOMIC_RELAXED);
	}
	KEEP_ORDER();
	return h;
}

static inline void weft_handling_end(struct weft_handling h)
{
	if (LIKELY(h.slot != NULL))
		store_release(&h.slot->thread.handling, h.before);
	else
		__atomic_fetch_sub(&weft_rt.header->handling, 1, __ATOMIC_RELEASE);
}

/* join.c */
int weft_join_set_path(const char *path); /* in the constructor, or when a collector attaches */
/* For a process that has a session: asks only for the unwind tables, and maps them. */
int weft_join_tables(void);
/* Connects to the collector and maps the session; flags: enum weft_hello_flag. 0 or -errno. */
int weft_join(uint32_t flags);

/* child.c */
int weft_child_begin(void);          /* a forked child's session; 0 or -errno */
void weft_child_before_thread(void); /* a thread begins: begins the session, if no tick would */
/* In the child's first SIGPROF: the slot of the thread that it met, or NULL. */
struct weft_slot *weft_child_first_tick(void);
void weft_child_after_fork(void); /* arms the timer that brings it */
/*
 * Moves the thread that forked from its private slot to one of the child's session. NULL: it was
 * interrupted in the middle of a context write (or there is no slot), and stays for now.
 */
struct weft_slot *weft_child_move_out(void);

#endif
