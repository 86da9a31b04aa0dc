/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A report: one recording, read once for all sums that were asked for, then printed as text or
 * JSON. Printing changes nothing but which nodes of the tree are shown.
 */
#ifndef WEFT_REPORT_REPORT_H
#define WEFT_REPORT_REPORT_H

#include "report/read/source.h"
#include "report/read/where.h"
#include "report/sum/aggregate.h"
#include "report/sum/partition.h"
#include "report/sum/tree.h"

#include <stdio.h>

#define REPORT_TABLES 6 /* of tags, at most, are shown in an overview */
#define REPORT_TAGS 12  /* are summed, to choose these tables from */
#define REPORT_SUMS (REPORT_TAGS + 6)

struct text_style;

struct report_query {
	const char *path;
	const char *events;   /* see source_open(); NULL = default */
	const struct key *by; /* NULL = overview: tags, spans, functions */
	int tree;             /* only with by = stack: as a tree */
	int counts;           /* samples are counted, not weighed by their time */
	int no_inlines;       /* inlined functions count as those that they are inlined into */
	struct where *wheres; /* stay as they are */
	size_t where_count;
};

#define REPORT_BEYOND UINT32_MAX /* in like[]: REPORT_TABLES are shown before it */

struct report {
	struct source *source;
	struct model *model; /* of the source */
	const struct facts *facts;
	const char *path;
	struct where *wheres; /* [where_count], bound to the model of the source */
	size_t where_count;
	struct aggregate sums[REPORT_SUMS];
	size_t sum_count;
	size_t first_tag, tag_count; /* in sums: tags and labels of an overview */
	uint32_t tags_left;          /* beyond REPORT_TAGS */
	struct partition partition;  /* by these, when they are several */
	uint32_t like[REPORT_SUMS];  /* why a sum is not shown: 1 + the index of another that
					says nearly the same, or REPORT_BEYOND; 0: it is */
	int overview, counts;
	uint32_t key_count; /* the first of the model's keys, which the file has */
	struct tree tree;
	int has_tree;
	uint64_t read;                     /* samples, selected or not */
	struct amount whole, with_context; /* of what --where selects; of that with context */
	int has_states;                    /* all that is counted is wall-clock time, with states */
	uint64_t state_ns[FACT_PLACES];    /* then: of whole.ns */
	int is_sampled;                    /* shares have an error: source_is_sampled() */
	uint64_t weightless, truncated, context_cut;
};

/* 0; -errno as source_open(). @out is freed with report_free(); the query must live on. */
int report_run(struct report **out, const struct report_query *query);
void report_free(struct report *r);
/* Is the table not empty? In an overview also: does it say anything, which one row seldom does? */
int report_worth_showing(const struct report *r, const struct aggregate *a);

int report_text(struct report *r, const struct text_style *style, FILE *out);
/* @top 0 = all rows. Both: 0 or -ENOMEM; errors of @out stay in it (ferror). */
int report_json(const struct report *r, uint64_t top, FILE *out);

#endif
