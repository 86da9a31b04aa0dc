/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The books of a recording, by its counters: attempted = delivered + lost + pending. The collector
 * checks those of each slot when it closes them; what does not add up is never hidden.
 */
#ifndef WEFT_REPORT_BOOKS_H
#define WEFT_REPORT_BOOKS_H

#include "report/read/facts.h"

struct books {
	int64_t attempted, delivered;
	int64_t lost;        /* by cause, without pending */
	int64_t pending;     /* begun, or still in a ring, when the file was finished */
	int64_t difference;  /* attempted - all of these: 0 when they balance */
	int64_t generations; /* generations of slots whose books the collector closed */
	int64_t unbalanced;  /* as many of these did not balance */
};

/* 0: the file holds no counters of weft. */
int books_read(const struct facts *f, struct books *out);
int books_balance(const struct books *b);

/* The least upper end of a bucket of a log2 histogram below which @share of all values lie; 0: the
 * file has no such histogram. */
int64_t books_quantile(const struct facts *f, const char *histogram, double share);

#endif
