/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Views: what a recording shows of one thing (locks, spans, ...), as a table. A view is an
 * entry of the const table in view.c: which events it takes, how an event finds its rows, and which
 * measures the rows have; text, JSON, help and completion come from it.
 *
 * Any event type's name is a view, too: the table of its events, see view_events.c.
 *
 *   view.c        the table of views, run
 *   view_sums.c   hot-methods, latencies, labels, threads
 *   view_spans.c  spans
 *   view_locks.c  locks and their holders
 *   view_events.c events of any one type
 *   view_print.c  a view as text, JSON
 */
#ifndef WEFT_REPORT_VIEW_H
#define WEFT_REPORT_VIEW_H

#include "report/read/source.h"
#include "report/read/where.h"
#include "report/show/table.h"
#include "report/sum/tally.h"

struct view_run;

/* How a measure is shown. A share is of all of its measure; if that is 0, of the one before. */
enum view_form { VIEW_COUNT, VIEW_TIME, VIEW_SHARE, VIEW_QUANTILE };

struct view_column {
	const char *title, *json;
	enum view_form form;
	enum measure measure;
	unsigned int permille; /* VIEW_QUANTILE */
};

#define VIEW_COLUMNS 12

struct view {
	const char *name, *help;
	unsigned int kinds; /* enum sample_kind: events that it takes */
	const char *events; /* see source_open(): samples, unless the query says which */
	enum measure order[TALLY_ORDER]; /* heaviest first by these */
	struct view_column column[VIEW_COLUMNS];
	const char *names[TALLY_NAMES + 1]; /* titles; the last one is of the note */
	int by;                             /* takes --by */
	/* Adds an event to its rows. 0 or -ENOMEM. */
	int (*add)(struct view_run *v, const struct sample *s);
	/* Called before the first event and after the last; NULL = nothing to do. 0 or -errno. */
	int (*begin)(struct view_run *v);
	int (*finish)(struct view_run *v);
};

struct view_query {
	const struct view *view; /* NULL = the events of a type */
	const char *path;
	const char *type;     /* the event type, if @view is NULL */
	const char *events;   /* see source_open(); NULL = the view's */
	const struct key *by; /* of a view that takes one; NULL = its default */
	int by_type;          /* instead of @by: rows by type alone */
	struct where *wheres; /* stay as they are */
	size_t where_count;
	int bare_names;    /* threads and processes without their numbers */
	uint64_t rows_max; /* of the events of a type: how many are kept; 0 = all */
};

struct view_run {
	const struct view *view;
	const struct view_query *query;
	struct source *source;
	struct tally tally;
	struct table table;
	struct table_column column[VIEW_COLUMNS + TALLY_NAMES + 1];
	struct key by;
	struct where *wheres; /* the query's, bound to the model of the source */
	uint64_t number;      /* of the event, from 1 */
	uint64_t read;        /* events read, selected or not */
	void *state;          /* the view's own: freed, where its finish() has not set it to NULL */
};

extern const struct view view_methods, view_latencies, view_spans, view_labels, view_threads,
	view_locks;

/* In order of help; ends with NULL. */
extern const struct view *const views[];
const struct view *view_find(const char *name); /* or NULL */

/* 0; -errno as source_open(): -EINVAL when there is no such type, or no such view. @out is
 * freed with view_free(); the query must live on. */
int view_run(struct view_run **out, const struct view_query *query);
void view_free(struct view_run *v);

/* Do all conditions of the query hold? */
int view_selects(const struct view_run *v, const struct sample *s);

/* Of the events of a type: adds the one that the source is at. 0 or -ENOMEM. */
int view_events_add(struct view_run *v, const struct sample *s);
void view_events_free(struct view_run *v);

/* The function at the leaf of a stack, without frames of the JDK if there are others. */
uint32_t view_place(const struct model *m, uint32_t stack);

int view_text(const struct view_run *v, const struct text_style *style, FILE *out);
/* @top 0 = all rows. Both: 0 or -ENOMEM; errors of @out stay in it (ferror). */
int view_json(const struct view_run *v, uint64_t top, FILE *out);

#endif
