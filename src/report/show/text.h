/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of a text report; see report_text(). */
#ifndef WEFT_REPORT_TEXT_H
#define WEFT_REPORT_TEXT_H

#include "report/sum/report.h"

/* Have shares errors, and is there room for them beside @used columns of figures? */
int text_has_errors(const struct report *r, const struct text_style *s, int used);

/* How many more samples would halve the error of a share; not in overviews. */
void text_halving(const struct report *r, const struct amount *top, const struct text_style *s,
		  FILE *out);

int text_tree(struct report *r, const struct text_style *s, FILE *out);
/* By what clock samples were taken, and the CPU time that the kernel counted and that was seen. */
void text_account(const struct facts *f, const struct text_style *s, FILE *out);
void text_counters(const struct facts *f, const struct text_style *s, FILE *out);
void text_all_counters(const struct facts *f, const struct text_style *s, FILE *out);

#endif
