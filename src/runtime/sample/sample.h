/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cpu engine inside the program: when a thread is sampled, by which clock, and what happens to
 * the program's own signals meanwhile. From the top: handlers (sampler.c, orders.c), the engine,
 * clocks and timers, and what all of these use (gate, pace, prime).
 *
 * Handlers run on the thread that they interrupt, with all signals blocked, in less than 1 KiB of
 * stack, and call nothing that may wait. Every signal is either ours, by the session's cookie, or
 * passed on to the program's own action.
 *
 *   sampler.c       the handlers: a sample and its weight
 *   orders.c        handler of the priming signal
 *   sample_labels.c a sample's labels, recorded once
 *   sample_published.c other libraries' contexts
 *   engine.c        start and stop of sampling
 *   adopt.c         threads that were there before
 *   attach.c        a collector that comes later
 *   join.c          connecting to the collector
 *   child.c         a forked child's session
 *   timer.c         CPU timers: the kernel's ticks, their handler installed
 *   clock.c         hrtimers: perf's cpu-clock
 *   clock_gaps.c    random gaps between samples
 *   clock_rest.c    threads that are switched often
 *   kernel_time.c   time in the kernel
 *   mask.c          the program's signal masks
 *   prime.c         the priming signal: which, sent how
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
void weft_timer_tell_running(void);                   /* WEFT_SLOT_PAUSED holds no longer */
int32_t weft_timer_make(int32_t tid, uint64_t value); /* of any thread; its number, or -1 */
/* That of @slot's thread. The owner, and whoever starts the engine, may do so at once: one stays.
 */
void weft_timer_make_for(struct weft_slot *slot);
void weft_timer_all_missing(void); /* counts all threads that live as without one */
/* Deletes the timers of all threads that have a slot or were adopted; may be called again. */
void weft_timer_disarm_all(void);
int weft_timer_is_wanted(void);   /* does the recording ask for the cpu engine? */
int weft_timer_arm_process(void); /* a forked child's: first CPU time of any thread */
void weft_timer_disarm_process(void);
int weft_tick_signal(void);     /* SIGPROF, or by choice SIGWINCH */
int weft_sampler_install(void); /* the handler; the program's own action is kept */
int weft_sampler_is_installed(void);
void weft_sampler_uninstall(void); /* installs the program's own action again */
int weft_sampler_is_ours(const siginfo_t *info);

/* adopt.c: threads that exist before the engine starts */
void weft_adopt_threads(void); /* primes those that run, makes timers for the others */
void weft_adopt_more(void);    /* makes timers for those with neither slot nor timer */
/* the thread makes a timer of its own: deletes the adopted one */
void weft_adopt_remove(int32_t tid);
int weft_adopt_was_untimed(int32_t tid); /* was it counted as one without timer? once */
void weft_adopt_delete_all(void);
void weft_adopt_forget(void); /* in a forked child: the timers are its parent's */

/* sampler.c, orders.c: the handlers, made known before any can be installed. */
void weft_sampler_begin(void);
void weft_sampler_handler(int signo, siginfo_t *info, void *ucontext);
void weft_sampler_clock(const ucontext_t *uc); /* the clock's, a SIGURG */

/* sample_labels.c: the size of labels after the sample's stack, at most @most (a multiple of 8). */
uint32_t weft_sample_labels_bytes(struct weft_slot *slot, uint32_t most);
/* Fills in label_generation and, if there is @room, appends the labels to the record. */
void weft_sample_labels_put(struct weft_slot *slot, struct weft_sample_record *sample,
			    uint32_t room);

/* sample_published.c: other libraries' contexts. */
struct stack_take;
/* The room that they may take behind the labels, at most @most (a multiple of 8); 0 = none. */
uint32_t weft_sample_published_bytes(uint32_t most);
/* Is the thread in a context, or has it a label? */
int weft_sample_published_is_any(const struct stack_take *take);
/* Appends to the record what fits into @room. */
void weft_sample_published_put(const struct stack_take *take, uint32_t room,
			       struct weft_sample_record *sample);

/* join.c */
int weft_join_set_path(const char *path); /* in the constructor, or when a collector attaches */
/* For a process that has a session: asks only for the unwind tables, and maps them. */
int weft_join_tables(void);
/* Connects to the collector and maps the session; flags: enum weft_hello_flag. 0 or -errno. */
int weft_join(uint32_t flags);

/* engine.c */
/* 0; -EALREADY if the engine runs, or another thread is starting or stopping it; -errno if no
 * handler could be installed. What fails after that is left out and counted. */
int weft_engine_start(void);

/*
 * 0; -EALREADY likewise. -ETIMEDOUT (handlers_undrained): handlers were still running, so that what
 * they read must stay mapped; all is undone even so, except for the SIGPROF handler if a thread was
 * just about to arm a timer. That handler also stays while a thread believes SIGPROF blocked that
 * is really open (mask.c): the program's next SIGPROF would kill it. The priming signal's handler
 * stays if a collector can attach to the process (a session of its own).
 */
int weft_engine_stop(void);
void weft_engine_await_handlers(void); /* those that run now in other threads; bounded */

void weft_engine_forget(void); /* in a forked child, which does not own its parent's */

/* prime.c */
/* Installs the handler of the wanted number (header.prime_signal, SIGURG without a collector); if a
 * real-time one was wanted and is in use or out of range, of the next free one. Returns the number,
 * or -errno: then handlers claim slots by themselves. Flags and mask are those of the profiling
 * handler; the program's own action is called for its own signals. */
int weft_prime_install(int wanted);
void weft_prime_uninstall(void);
void weft_prime_end(void); /* uninstalls it, unless signals of ours could reach the program's */
/* to a thread of this process; 0 or -errno */
int weft_prime_send(int32_t tid, enum weft_order order);
int weft_prime_before_exec(void);        /* gives a real-time one up: its number, or 0 */
void weft_prime_after_exec(int signo);   /* exec failed: uses it again */
void weft_prime_forget(void);            /* in a forked child, which has none of its parent's */
int weft_prime_signal(void);             /* the number in use; 0 = none */
void weft_prime_parse(const char *word); /* of WEFT_PRIME_SIGNAL: urg, rt, none or a number */
void weft_prime_install_default(void);   /* without a collector, so that one can attach */

/* For its handler (orders.c). Was it queued with the session's cookie? */
int weft_prime_is_ours(const siginfo_t *info);
void weft_prime_received(void); /* received one that this process had sent */
/* The program ignores SIGURG, and gets one of another sender: removes our handler for good. */
void weft_prime_stand_aside(void);

/* attach.c: recordings of a process that is already running. Async-signal-safe. */
void weft_attach_run(void); /* carries out header.attach_number (WEFT_ORDER_ATTACH) */
void weft_attach_end(void); /* WEFT_ORDER_STOP */

void weft_attach_run_pending(void); /* likewise, outside handlers, if no handler has done it yet */

/* Before the process starts threads, children or programs: is there an order to carry out? */
static inline void weft_attach_before_children(void)
{
	const struct weft_session_header *h = weft_rt.header;

	if (LIKELY(!weft_rt_is_ready() ||
		   load_relaxed(&h->attach_number) == load_relaxed(&h->attach_taken) ||
		   weft_rt_run_state() != WEFT_RUN_RECORDING))
		return;
	weft_attach_run_pending();
}

/* At a tick: ends the recording if nobody records any more. */
void weft_attach_check(uint64_t now_ns);

/* Is weft_attach_check() worth a call? Two loads, in each handler. */
static inline int weft_attach_is_stale(uint64_t now_ns)
{
	const struct weft_session_header *h = weft_rt.header;

	return weft_rt_run_state() != WEFT_RUN_RECORDING ||
	       (int64_t)(now_ns - load_relaxed(&h->drained_ns)) > COLLECTOR_PATIENCE_NS;
}

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
