/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The books of a recording: attempted = delivered + lost + pending, as its counters say. The
 * collector checks each slot's when it closes them; what does not add up is never hidden.
 */
#ifndef WEFT_REPORT_BOOKS_H
#define WEFT_REPORT_BOOKS_H

#include "report/read/facts.h"

struct books {
	int64_t attempted, delivered;
	int64_t lost;        /* by cause, without pending */
	int64_t pending;     /* begun or left in a ring when the file was finished */
	int64_t difference;  /* attempted - all of these: 0 when they balance */
	int64_t generations; /* slot generations whose books the collector closed */
	int64_t unbalanced;  /* of these, out of balance */
};

/* 0: the file holds no counters of weft. */
int books_read(const struct facts *f, const struct model *m, struct books *out);
int books_balance(const struct books *b);

/* A log2 histogram's bucket in which a share of all values lies below its upper end; 0: the
 * file has none of that name. */
int64_t books_quantile(const struct facts *f, const struct model *m, const char *histogram,
		       double share);

#endif
