/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A list of settings, one chain for each source. When the same source says the same glob and
 * setting again, with a right value, the new entry replaces the old one: a list to which settings
 * are added for hours is no longer than there are different ones.
 *
 * A call gathers what it adds in a chain of its own, which is joined once all of it was right.
 *
 *   settings.c      the list
 *   settings_jfc.c  .jfc files
 *   settings_text.c settings on a command line
 */
#ifndef WEFT_JFR_SETTINGS_PRIVATE_H
#define WEFT_JFR_SETTINGS_PRIVATE_H

#include "base/event_settings.h"
#include "jfr/common/arena.h"

#include <weft/jfr_settings.h>

#include <stddef.h>

#define LARGEST_JFC ((size_t)1 << 20)

struct map;

struct setting_entry {
	struct setting_entry *next, *before;
	struct weft_jfr_setting public; /* its texts are in this block, but for file */
	int known;                      /* enum event_setting; -1 = unknown */
	int wrong, told;                /* its value cannot be; it was reported */
};

struct setting_chain {
	struct setting_entry *first, *last;
};

struct weft_jfr_settings {
	struct setting_chain chains[WEFT_JFR_FROM_SET + 1];
	struct map *places; /* source, glob and setting -> its entry */
	char *directory;
	struct arena files;     /* their names, each once */
	struct map *file_names; /* name -> where it stands */
	struct map *unknown;    /* settings that were reported as such */
	struct weft_jfr_setting *all;
	size_t all_room;
	char *lines;
	char error[512];
};

/* Keeps the message for weft_jfr_settings_error(); returns @err. */
int settings_fail(struct weft_jfr_settings *s, int err, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Adds an entry at the chain's end. 0; -EINVAL: no line can say it; -ENOMEM. */
int settings_gather(struct setting_chain *to, struct setting_line said,
		    const struct weft_jfr_setting *where);
void settings_drop(struct setting_chain *chain);
void settings_join(struct weft_jfr_settings *s, struct setting_chain *fresh);

#endif
