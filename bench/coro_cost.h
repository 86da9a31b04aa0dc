/* SPDX-License-Identifier: Apache-2.0 */
/* What coro-cost measures: nanoseconds per switch, one figure for each, in this order. */
#ifndef BENCH_CORO_COST_H
#define BENCH_CORO_COST_H

enum coro_case {
	CORO_FOUNDING, /* the founding write protocol, the thread's id asked of the kernel */
	CORO_CLOCK,    /* station and statistics, time from clock_gettime */
	CORO_TSC,      /* ... time from the TSC */
	CORO_LABELS,   /* with libweft: ... and three labels */
	CORO_RECORD,   /* with libweft: ... no labels, a record for the session's ring */
	CORO_RECORD_LABELS,
	CORO_CASE_COUNT,
};

#endif
