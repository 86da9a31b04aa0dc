/* SPDX-License-Identifier: Apache-2.0 */
/* The event types that weft declares in a recording, and the columns for tags and labels that some
 * of them have. When a column is added, those types are declared anew. */
#ifndef WEFT_COLLECTOR_RECORDING_TYPES_H
#define WEFT_COLLECTOR_RECORDING_TYPES_H

#include <weft/jfr.h>

#define TAG_COLUMNS_MAX 64
#define LABEL_COLUMNS_MAX 64
#define COLUMNS_MAX (TAG_COLUMNS_MAX + LABEL_COLUMNS_MAX + 1) /* and the coroutine's */

/* Fields for tags, labels and the coroutine, in the order in which they were met. A column never
 * changes its place. */
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

enum recording_type {
	TYPE_THREAD_CPU,
	TYPE_THREAD_TIME,
	TYPE_COUNTER,
	TYPE_HISTOGRAM,
	TYPE_RECORDING,
	TYPE_PROCESS,
	TYPE_CLOCK,
	TYPE_RESOURCE,
	TYPE_MODULE, /* up to here: of every recording */
	TYPE_WARNING,
	TYPE_SPAN, /* from here on: with columns */
	TYPE_INLINE_SAMPLE,
	TYPE_INLINE_WALL,
	TYPE_RUN, /* these two have a field for the coroutine, in place of its column */
	TYPE_WAIT,
	TYPE_COUNT
};

/* Declares one of weft's own types, with its columns as they are by now. NULL with errno. */
struct weft_jfr_type *declare_type(struct weft_jfr_writer *w, enum recording_type which,
				   const struct tag_columns *tags);

#endif
