/* SPDX-License-Identifier: Apache-2.0 */
/* Event types of a recording, declared from tables; those with tags can be declared anew. */
#ifndef WEFT_COLLECTOR_RECORDING_TYPES_H
#define WEFT_COLLECTOR_RECORDING_TYPES_H

#include <weft/jfr.h>

#define TAG_COLUMNS_MAX 64

/* Names of tags, as fields. A name once given keeps its column. */
struct tag_columns {
	char *name[TAG_COLUMNS_MAX];
	size_t count;
};

void tag_columns_free(struct tag_columns *c);

/*
 * tag_columns_find() - the column of a tag name, added when new; -ENOSPC when there are too
 * many, -ENOMEM. The name is made a Java identifier; one that collides with a fixed
 * field gets "tag_" before it.
 */
int tag_columns_find(struct tag_columns *c, const char *name);

struct weft_jfr_type *declare_span(struct weft_jfr_writer *w, const struct tag_columns *tags);
struct weft_jfr_type *declare_inline_sample(struct weft_jfr_writer *w,
					    const struct tag_columns *tags);
struct weft_jfr_type *declare_counter(struct weft_jfr_writer *w);
struct weft_jfr_type *declare_histogram(struct weft_jfr_writer *w);
struct weft_jfr_type *declare_recording(struct weft_jfr_writer *w);
struct weft_jfr_type *declare_process(struct weft_jfr_writer *w);
struct weft_jfr_type *declare_module(struct weft_jfr_writer *w);

#endif
