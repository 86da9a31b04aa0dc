/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Wall-clock samples weighed by the kernel's account of their thread (weft.ThreadTime), so that
 * running, waiting for a CPU and blocked add up to the time that passed for it.
 *
 * A sample is a whole period, and how many there are is chance. Of a thread that lived for a second
 * or more (RECORDING_TIME_LIFE_NS) samples of one state are worth
 *
 *   due / seen                in a state in which it was for RECORDING_TIME_PERIODS or more: all
 *                             of them by one factor, so the shares of stacks and spans within the
 *                             state stay what looks at random times make them
 *   1                         in one that it was in less than that. Looks meet that rarely, and
 *                             each that does stands for those that do not: weighing it by what it
 *                             met would make little of what is seldom
 *   (passed - others) / seen  in the one that it was in most, so that the sum is right. It is
 *                             right on average, as the others are
 */
#ifndef WEFT_REPORT_TIMES_H
#define WEFT_REPORT_TIMES_H

#include "report/read/facts.h"

#define TIMES_ROWS_MAX 10
#define TIMES_CLOSE 0.005 /* of the time that passed: within this it adds up */

/* Of a state of wall-clock samples, by its name in the model. */
enum fact_place times_place(const char *state);

/* By what a sample of each state is multiplied; all 1: it is not judged. @period_ns: of samples. */
struct times {
	double factor[FACT_PLACES];
	int is_judged;
	double told_ns; /* then: what samples add up to, of passed_ns */
};
void times_of_thread(const struct fact_time *t, uint64_t period_ns, struct times *out);

/* Remembers the thread that it was asked for last. */
struct times_weigher {
	uint32_t thread;
	struct times times;
};
/* By what a sample of a thread in a state is multiplied, by the thread's account. */
double times_factor(struct times_weigher *w, const struct facts *f, uint32_t thread,
		    const char *state, uint64_t period_ns);

/* The period of wall-clock samples; 0: the file does not tell. */
uint64_t times_period(const struct facts *f, const struct model *m);

/* How many threads were judged, and of how many the time does not add up. */
struct times_sum {
	uint32_t judged, off;
	int64_t passed_ns;
	double told_ns;
};
void times_read(const struct facts *f, const struct model *m, struct times_sum *out);

/* Those judged that are off most, by the part of what passed, first. Returns how many were put, at
 * most @room. */
size_t times_rows(const struct facts *f, const struct model *m, const struct fact_time **out,
		  size_t room);

#endif
