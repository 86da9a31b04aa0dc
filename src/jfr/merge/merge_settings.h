/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The settings that a merge has applied to each type: noted once for a type, and written at the end
 * as events jdk.ActiveSetting in a chunk of their own.
 */
#ifndef WEFT_JFR_MERGE_SETTINGS_H
#define WEFT_JFR_MERGE_SETTINGS_H

#include "base/event_settings.h"
#include "jfr/merge/copy.h"
#include "jfr/merge/filter.h"

#include <stdint.h>

struct class_set;
struct map;

struct noted {
	int64_t type;
	struct event_settings settings;
};

struct merge_settings { /* starts as zeros */
	struct noted *noted;
	size_t count, room;
	struct map *types;
	const struct class_set *set; /* that was looked at last, of its reader */
};

void merge_settings_free(struct merge_settings *m);

/* Notes what is in force for the event types of the open chunk. 0 or -ENOMEM. */
int merge_settings_note(struct merge_settings *m, struct filter *f, const struct weft_jfr_reader *r,
			struct copy_source *s);

/* The rows, at @end_ns. 0 or -errno. */
int merge_settings_copy(struct merge_settings *m, struct copy *c, int64_t end_ns);

#endif
