/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The settings that a recording was made with (jdk.ActiveSetting): "jdk.ThreadPark#threshold" =
 * "20 ms". The last value of a setting counts.
 */
#ifndef WEFT_REPORT_DIFF_SETTINGS_H
#define WEFT_REPORT_DIFF_SETTINGS_H

#include "report/read/names.h"
#include "report/show/table.h"

struct setting {
	uint32_t name, value; /* ids in settings.names */
};

struct settings {
	struct names names;
	struct map *index; /* name's id -> index + 1 */
	struct setting *setting;
	size_t count, room;
};

/* 0; -errno of opening. Of a damaged file what is whole. settings_free() is allowed after both. */
int settings_read(struct settings *s, const char *path);
void settings_free(struct settings *s);
/* NULL: the recording does not have it. */
const char *settings_value(const struct settings *s, const char *name);
/* Settings that differ, by name: setting, value in A, value in B. */
void settings_compare(const struct settings *a, const struct settings *b, struct table *out);

#endif
