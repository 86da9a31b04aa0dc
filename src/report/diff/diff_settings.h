/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The settings that a recording was made with (jdk.ActiveSetting): "jdk.ThreadPark#threshold" =
 * "20 ms". Of one that changed while it was made the last value stands.
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

/* 0 or -errno of opening; what is whole of a damaged file. settings_free() is allowed after both.
 */
int settings_read(struct settings *s, const char *path);
void settings_free(struct settings *s);
/* NULL: it is not told. */
const char *settings_value(const struct settings *s, const char *name);
/* Those of @a and @b that differ, by name: setting, value in A, value in B. */
void settings_compare(const struct settings *a, const struct settings *b, struct table *out);

#endif
