/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of a text report; see report_text(). */
#ifndef WEFT_REPORT_TEXT_H
#define WEFT_REPORT_TEXT_H

#include "report/sum/report.h"

/* What shares are shares of: weight if the file has it, else samples. */
uint64_t text_part(const struct report *r, uint64_t weight_ns, uint64_t samples);

/* Have shares errors, and is there room for them beside @used columns of figures? */
int text_has_errors(const struct report *r, const struct report_style *s, int used);
/* A share, and its error if @has_errors; returns the columns. */
int text_share(const struct report *r, uint64_t ns, uint64_t samples, const struct draws *draws,
	       int has_errors, FILE *out);

/* How many more samples would halve the error of a share; not in overviews. */
void text_halving(const struct report *r, const struct draws *top, const struct report_style *s,
		  FILE *out);

int text_tree(struct report *r, const struct report_style *s, FILE *out);
/* By what clock samples were taken, and the CPU time that the kernel counted and that was seen. */
void text_account(const struct report *r, const struct report_style *s, FILE *out);
void text_counters(const struct report *r, const struct report_style *s, FILE *out);
void text_all_counters(const struct report *r, const struct report_style *s, FILE *out);

#endif
