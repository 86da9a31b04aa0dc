/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How weft measures itself. Three rules:
 *
 *   1. Never a time alone: each figure stands beside a baseline taken in the same run.
 *   2. Interleaved rounds: a round runs every case once, in turn, and the median over the
 *      rounds counts, so that a machine that slows down slows all of them down.
 *   3. Nothing is asserted: a missed budget is a line in a table, not a failure.
 *
 * A group (struct bench_group) is one file; it adds rows to the table, main.c prints it.
 */
#ifndef BENCH_HARNESS_H
#define BENCH_HARNESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bench_options {
	bool quick;        /* fewer rounds: for a first look, and for the test of the bench */
	const char *build; /* the build tree: weft, bench/..., examples/... */
};

struct bench_group {
	const char *name;
	const char *text; /* what it measures, one line */
	void (*run)(const struct bench_options *options);
};

extern const struct bench_group bench_context, bench_ring, bench_handler, bench_program,
	bench_startup, bench_memory, bench_priming, bench_reading, bench_writing, bench_naming,
	bench_tables, bench_drain, bench_wall, bench_watching, bench_labels, bench_coro,
	bench_events, bench_waits, bench_switches;

enum bench_limit {
	BENCH_NO_BUDGET,
	BENCH_AT_MOST,  /* measured <= budget */
	BENCH_AT_LEAST, /* measured >= budget */
};

struct bench_row {
	const char *operation; /* static string, or bench_text() */
	const char *unit;
	double measured;
	enum bench_limit limit;
	double budget;
	double noise;         /* closer to the budget than this nobody can tell; 0 = not known */
	const char *baseline; /* what it is compared with; NULL = nothing */
	double base;          /* the baseline's own figure, same unit */
};

void bench_add(const struct bench_row *row);
/** A line under the table: what could not be measured, and why; printf-like. */
void bench_note(const char *format, ...) __attribute__((format(printf, 1, 2)));
/** printf into a string that lives until the end. */
const char *bench_text(const char *format, ...) __attribute__((format(printf, 1, 2)));
void bench_print(bool json);

/* ---- operations of nanoseconds */

struct bench_case {
	void (*run)(uint64_t iterations, void *arg);
	void *arg;
	double ns; /* out: median over the rounds of nanoseconds per iteration */
};

void bench_interleave(struct bench_case *cases, size_t count, unsigned int rounds,
		      uint64_t iterations);

/*
 * P50, P99, P999 of one operation. One operation is shorter than the clock's own step, so
 * @batch operations are timed together, @samples times; what a percentile then tells is
 * "the mean of a batch", and the resolution is the clock's step divided by @batch.
 */
struct bench_percentiles {
	double p50, p99, p999, resolution;
};
void bench_percentiles(const struct bench_case *c, unsigned int batch, size_t samples,
		       struct bench_percentiles *out);

/* ---- whole programs */

struct bench_run {
	double wall_ns, cpu_ns; /* CPU: user and system of the child and what it waited for */
	int status;             /* as of waitpid(2) */
	char output[512];       /* the first bytes of its standard output */
};

/** Runs argv (argv[0] is a path or found in PATH) with "NAME=value" put into the environment
 *  unless NULL. 0 or -errno. Standard error is dropped. */
int bench_spawn(const char *const *argv, const char *setting, struct bench_run *out);
bool bench_have(const char *program); /* is it in PATH? */

double bench_median(double *values, size_t count); /* sorts them */
uint64_t bench_now_ns(void);                       /* CLOCK_MONOTONIC */

/** Keeps the compiler from dropping or moving what computes @p's target. */
static inline void bench_keep(const void *p)
{
	__asm__ volatile("" : : "g"(p) : "memory");
}

#endif
