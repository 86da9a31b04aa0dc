/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What clocks.c (work, figures), clocks_kinds.c (the clocks) and clocks_fates.c
 * (exec, blocked signals) share: the tally, in memory that
 * parent and child share, and the thread-local word that says what a thread does.
 */
#ifndef BENCH_CLOCKS_H
#define BENCH_CLOCKS_H

#include <stddef.h>
#include <stdint.h>
#include <time.h>

#define KERNEL_BYTES 65536

enum { A, B, NEITHER, KINDS };

struct tally {
	uint64_t used_ns[KINDS]; /* by the CPU clock of the thread */
	uint64_t seen_ns[KINDS]; /* weights of the signals */
	uint64_t signals[KINDS];
	uint64_t start_ns, end_ns, starts;
	uint64_t handler_ns, handlers;
	int error;
};

/* What one thread holds of its clock; the handler finds it through own_clock_here. */
struct own_clock {
	int fd;
	void *mapped;
	timer_t timer;
};

struct clock {
	const char *name;
	enum { GAPS_FIXED, GAPS_ONCE, GAPS_LATE, GAPS_RANDOM } later; /* what the handler sets */
	int signo;
	void (*process)(void); /* once, before the work */
	void (*begin)(struct own_clock *own);
	void (*end)(struct own_clock *own);
};

extern const struct clock clocks[]; /* ends with a NULL name */
extern const struct clock *clock_used;
extern struct tally *tally;
extern uint64_t period_ns;
extern __thread volatile int doing;

uint64_t now_ns(clockid_t clock);
double random_part(void);                 /* uniform on [0, 1) */
void print_fates(const char *only_clock); /* clocks_fates.c */

static inline void tally_add(uint64_t *word, uint64_t add)
{
	__atomic_fetch_add(word, add, __ATOMIC_RELAXED);
}

#endif
