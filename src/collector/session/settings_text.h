/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The settings of a recording as text: lines "GLOB#SETTING=VALUE\n", of which the last that applies
 * counts (base/event_settings.h), and its place in a session (abi/events.h).
 */
#ifndef WEFT_COLLECTOR_SETTINGS_TEXT_H
#define WEFT_COLLECTOR_SETTINGS_TEXT_H

#include "base/event_settings.h"

#include <stddef.h>
#include <weft/abi/events.h>

struct settings_text {
	char *text; /* NULL = empty */
	size_t bytes;
};

#define SETTINGS_TEXT_MAX (WEFT_EVENT_TEXT_BYTES - sizeof(struct weft_event_text))

/* weft_setting_line() of a text from elsewhere: what has an empty part or a NUL is none, too. */
int settings_line_next(const char *text, size_t bytes, size_t *at, struct setting_line *out);

/* Adds lines. Older ones of the same GLOB and setting go. 0; -ENOSPC: too long, nothing was
 * changed; -ENOMEM likewise. Lines that are none are left out. */
int settings_text_add(struct settings_text *t, const char *lines, size_t bytes);
void settings_text_free(struct settings_text *t);

/* Into a session, which the program may read meanwhile. */
void settings_text_publish(const struct settings_text *t, struct weft_event_text *to);

#endif
