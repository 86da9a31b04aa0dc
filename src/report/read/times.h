/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Wall-clock samples weighed by the kernel's account of their thread (weft.ThreadTime), so that
 * running, waiting for a CPU and blocked add up to the time that passed for it.
 *
 * A sample stands for a whole period, and how many there are is chance. So samples of a thread that
 * lived for a second or more (RECORDING_TIME_LIFE_NS) are multiplied, by their state, by
 *
 *   due / seen                if the thread was in the state for RECORDING_TIME_PERIODS or longer.
 *                             All have the same factor, so stacks and spans within the state keep
 *                             the shares that looks at random times gave them
 *   1                         if it was in the state for less than that. Looks meet that rarely,
 *                             and one that does stands for those that do not: weighed by the
 *                             thread's own account it would make what is seldom disappear
 *   (passed - others) / seen  in the state that it was in most, so that the sum is right. On
 *                             average that is right, as the other factors are
 */
#ifndef WEFT_REPORT_TIMES_H
#define WEFT_REPORT_TIMES_H

#include "report/read/facts.h"

#define TIMES_ROWS_MAX 10
#define TIMES_CLOSE 0.005 /* of the time that passed: a smaller difference adds up */

/* Of a state of wall-clock samples, by its name in the model. */
enum fact_place times_place(const char *state);

/* By what samples of each state are multiplied; all 1 where the thread is not judged. */
struct times {
	double factor[FACT_PLACES];
	int is_judged;
	double told_ns; /* if it is judged: what its samples add up to then */
};
/* @period_ns: the period of the samples. */
void times_of_thread(const struct fact_time *t, uint64_t period_ns, struct times *out);

/* The factors of the thread that was asked for last. */
struct times_weigher {
	uint32_t thread;
	struct times times;
};
/* By what a sample of a thread in a state is multiplied, by the thread's account. */
double times_factor(struct times_weigher *w, const struct facts *f, uint32_t thread,
		    const char *state, uint64_t period_ns);

/* The period of wall-clock samples; 0: the file does not tell. */
uint64_t times_period(const struct facts *f);

/* How many threads were judged, and of how many of these the time does not add up. */
struct times_sum {
	uint32_t judged, off;
	int64_t passed_ns;
	double told_ns;
};
void times_read(const struct facts *f, struct times_sum *out);

/* The threads that are off most, by the part of the time that passed; the worst first. Returns how
 * many, at most @room. */
size_t times_rows(const struct facts *f, const struct fact_time **out, size_t room);

#endif
