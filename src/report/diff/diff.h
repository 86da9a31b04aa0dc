/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two recordings side by side: functions (or another key of weft report), event types that
 * last, spans; rows are joined by name. Recordings of different length are compared by shares,
 * and by time and number per second, or per span; absolute figures are in the JSON.
 *
 *   diff.c       rows and settings of both, joined by name
 *   diff_print.c as text, as JSON
 */
#ifndef WEFT_REPORT_DIFF_H
#define WEFT_REPORT_DIFF_H

#include "report/view/view.h"

enum diff_per { DIFF_PER_SECOND, DIFF_PER_SPAN, DIFF_TOTAL };

struct diff_query {
	const char *path[2];
	const char *events;   /* see source_open(); NULL = default */
	const struct key *by; /* NULL = function */
	struct where *wheres; /* stay as they are */
	size_t where_count;
	enum diff_per per;
};

enum diff_section { DIFF_SUMS, DIFF_LATENCIES, DIFF_SPANS, DIFF_SECTIONS };

#define DIFF_COLUMNS 40
#define DIFF_TITLE 64

/* The names of a table's columns: "self A", "self_a". */
struct diff_columns {
	struct table_column column[DIFF_COLUMNS];
	char title[DIFF_COLUMNS][DIFF_TITLE], json[DIFF_COLUMNS][DIFF_TITLE];
	size_t count;
};

struct diff_side {
	struct view_query query[DIFF_SECTIONS];
	struct view_run *view[DIFF_SECTIONS];
	double units; /* seconds, spans, or 1 */
	uint64_t duration_ns, spans;
};

struct diff {
	const struct diff_query *query;
	struct diff_side side[2];
	struct diff_columns columns[DIFF_SECTIONS];
	struct table table[DIFF_SECTIONS];
	struct table settings; /* those that differ */
	int samples_only;      /* a side has no weights: samples are compared, not time */
};

/* 0; -errno as source_open(), *@failed is the index of the file then. @out is freed with
 * diff_free(); the query must live on. */
int diff_run(struct diff **out, const struct diff_query *query, int *failed);
void diff_free(struct diff *d);

/* Facts of a side, and the sums that its shares are of. */
const struct facts *diff_facts(const struct diff *d, int side);
int64_t diff_lost(const struct diff *d, int side);
uint64_t diff_samples(const struct diff *d, int side);
uint64_t diff_weight(const struct diff *d, int side);

int diff_text(const struct diff *d, const struct text_style *style, FILE *out);
/* @top 0 = all rows. Both: 0 or -ENOMEM; errors of @out stay in it (ferror). */
int diff_json(const struct diff *d, uint64_t top, FILE *out);

#endif
