/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What truth.c (the tally, main), used.c (the CPU time) and truth_cases.c (the programs) share.
 *
 * Whatever a thread does is done by act(): it sets the tag, does the work, takes the tag away, and
 * adds the CPU time that it took to the tally, which lies in a memfd that children
 * and what they exec find by its number. A and B are also two functions, act_a() and act_b(), so
 * that a profiler that knows of no tags can be asked the same.
 */
#ifndef TRUTH_H
#define TRUTH_H

#include <stdint.h>
#include <time.h>

enum { A, B, KINDS };
enum how { USER, READS, HUGE_WRITE, PIPES, WAIT };

struct tally {
	uint64_t used_ns[KINDS];
	uint64_t passed_ns[KINDS]; /* running or not */
	uint64_t acts[KINDS];
};

struct program {
	const char *name;
	void (*run)(double ms);
	double ms;
	const char *text;
};

extern const struct program programs[]; /* ends with a NULL name */
extern struct tally *tally;
extern double seconds, phase;
extern char *const *own_argv;
extern int tally_fd;

/*
 * CPU time of the calling thread between two points of it. Not by its CPU clock: whoever reads
 * that, after his slice of a busy CPU is used up, loses the CPU there and then, between two ticks
 * of the kernel (used.c).
 */
struct used {
	uint64_t now_ns;   /* counted by perf; else CLOCK_MONOTONIC */
	uint64_t ran_ns;   /* on a CPU, up to the last tick or switch */
	uint64_t delay_ns; /* runnable, and without a CPU; exact */
	int is_exact;      /* now_ns is CPU time, and all else 0 */
};

void used_open(void); /* of the calling thread; before anything is measured, and closed after it */
void used_close(void);
void used_begin(struct used *at);
uint64_t used_since(const struct used *began);

uint64_t now_ns(clockid_t clock);
double random_part(void); /* uniform on [0, 1), from --seed */
void act(int what, enum how how, double ms);
void act_in_span(int what, double ms, uint64_t span);
void act_plain(int what, double ms); /* neither tags nor tally */
int is_enough(void);                 /* A and B together have used what was asked for */
double used_seconds(int what);

#endif
