/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Event types of a recording, declared from tables; those with columns for tags and labels can
 * be declared anew.
 */
#ifndef WEFT_COLLECTOR_RECORDING_TYPES_H
#define WEFT_COLLECTOR_RECORDING_TYPES_H

#include <weft/jfr.h>

#define TAG_COLUMNS_MAX 64
#define LABEL_COLUMNS_MAX 64
#define COLUMNS_MAX (TAG_COLUMNS_MAX + LABEL_COLUMNS_MAX + 1) /* and the coroutine's */

/* Fields for tags, labels and the coroutine, in the order in which they were met. Who has one keeps
 * it. */
struct tag_columns {
	char *name[COLUMNS_MAX]; /* of the field */
	char *key[COLUMNS_MAX];  /* of a label, as it is; NULL: of a tag, or the coroutine */
	size_t count, labels;    /* labels: of count */
	size_t coroutine;        /* 1 + its column; 0 = there is none yet */
};

void tag_columns_free(struct tag_columns *c);

/*
 * tag_columns_find() - the column of a tag name, added when new; -ENOSPC when there are too
 * many, -ENOMEM. The name is made a Java identifier; one that collides with a fixed
 * field, or a label's, gets "tag_" before it.
 */
int tag_columns_find(struct tag_columns *c, const char *name);

/*
 * label_columns_find() - likewise, of a label's key. One that is spelled like another field
 * when it is an identifier gets "label_" before it, and a number behind it if need be.
 */
int label_columns_find(struct tag_columns *c, const char *key);

/* The coroutine's column, likewise; -ENOMEM. */
int coroutine_column_find(struct tag_columns *c);

struct weft_jfr_type *declare_span(struct weft_jfr_writer *w, const struct tag_columns *tags);
struct weft_jfr_type *declare_inline_sample(struct weft_jfr_writer *w,
					    const struct tag_columns *tags);
struct weft_jfr_type *declare_inline_wall(struct weft_jfr_writer *w,
					  const struct tag_columns *tags);
/* These have a field for the coroutine, in place of its column. */
struct weft_jfr_type *declare_coroutine_run(struct weft_jfr_writer *w,
					    const struct tag_columns *tags);
struct weft_jfr_type *declare_coroutine_wait(struct weft_jfr_writer *w,
					     const struct tag_columns *tags);
/* Types that have none of these columns. */
enum plain_type {
	PLAIN_THREAD_CPU,
	PLAIN_THREAD_TIME,
	PLAIN_COUNTER,
	PLAIN_HISTOGRAM,
	PLAIN_RECORDING,
	PLAIN_PROCESS,
	PLAIN_CLOCK,
	PLAIN_MODULE,
	PLAIN_WARNING
};
struct weft_jfr_type *declare_plain(struct weft_jfr_writer *w, enum plain_type which);

#endif
