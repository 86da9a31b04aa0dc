/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the outside thread does for the cpu engine of one process:
 *
 *   - a thread that computes and has no slot, or no timer where there is room for one, gets the
 *     priming signal (WEFT_ORDER_PRIME). Never one that sleeps, or was woken and waits for a CPU: a
 *     signal with a handler would interrupt its call. Not one that blocks the signal, does not
 *     catch it, or whose process reads it from a signalfd or may queue no more: counted
 *     priming_refused
 *   - so does one whose timer stands still (WEFT_SLOT_PAUSED) though it does not block SIGPROF any
 *     more, whether samples of its hrtimer come or not: it then starts the timer again
 *   - one that uses CPU time and cannot be signalled is adopted: another thread, that takes the
 *     signal without harm, makes a timer for it (WEFT_ORDER_ADOPT)
 *   - a process that has got a system call filter (filters.h) is found out, and left alone from
 *     then on
 *   - a thread that uses CPU time and gives no samples all the same, because it blocks SIGPROF, the
 *     handler was replaced behind our back, or nobody could make a timer for it, is marked
 *     (watched_thread.unsampled)
 *
 * SIGPROF stands for the signal of ticks here, which may be SIGWINCH (header.tick_signal).
 *
 * The number comes from the target's header, which anybody may have written: SIGURG, whose
 * default action is to be ignored, or, if the user asked for one, a real-time signal; nothing
 * else is ever sent. An exec between our look and the signal leaves it pending for the next
 * program: SIGURG is harmless there, a real-time one would end it. Our hook of exec waits for
 * senders therefore (header.prime_sending); an exec by a raw system call does not, which is why
 * that one is a choice.
 */
#ifndef WEFT_COLLECTOR_PRIMING_H
#define WEFT_COLLECTOR_PRIMING_H

#include "collector/look/threads.h"

struct priming {
	struct process *process;
	struct session_counts *counts;
	int wanted;      /* signal that the user chose; 0 = none */
	uint64_t cpu_ns; /* CPU time of the process, not long ago: nobody in it has used more */
	uint32_t waited; /* threads that were waited for in this look, to see whether they run on */
	int read_by_signalfd;
	uint64_t signalfd_ns;            /* when that was looked at; 0 = never */
	struct watched_thread *stranded; /* in this look: it needs another's help */
	uint64_t adopted_ns;             /* when such an order was given last; 0 = never */
	size_t filter_cursor;            /* the thread whose filters are counted next */
};

/* After threads_look() and threads_find_slots(). */
void priming_look(struct priming *p, struct threads *t, uint64_t now_ns);

/* What is said of a thread without samples in a process that filters its system calls. */
extern const char priming_why_feared[];

/* Why ticks do not reach a thread with these masks; NULL: they do. */
struct thread_masks;
const char *priming_why_deaf(const struct process *p, const struct thread_masks *masks);

/* Is @signo one that may be sent, when the user chose @wanted? */
int priming_may_send(int wanted, uint32_t signo);

#endif
