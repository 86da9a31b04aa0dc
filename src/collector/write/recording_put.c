/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What all recording_*.c stand on: puts an event into the open chunk, also for a setting and for a
 * warning. The first error is kept.
 */
#include "collector/write/recording_private.h"

#include "base/map.h"

#include <errno.h>
#include <fnmatch.h>

#define WARNED_MAX 4096 /* texts; they may name processes, of which there is no end */

int recording_wants(const struct recording *r, const char *name)
{
	return !r->o.threads || fnmatch(r->o.threads, name, 0) == 0;
}

void recording_note_error(struct recording *r, int rc)
{
	if (rc < 0 && r->error == 0)
		r->error = rc;
}

void recording_put(struct recording *r, const struct weft_jfr_type *type,
		   const struct weft_jfr_value *values, size_t count)
{
	recording_note_error(r, type ? weft_jfr_event(r->writer, type, values, count) : -ENOMEM);
}

void recording_put_setting(struct recording *r, const struct weft_jfr_type *type, const char *name,
			   const char *value)
{
	struct weft_jfr_value v[] = {
		{.number = (int64_t)recording_now(r)},
		{.number = weft_jfr_type_id(type)},
		{.string = text_value(name)},
		{.string = text_value(value)},
	};

	recording_put(r, r->setting, v, 4);
}

void recording_put_one_setting(struct recording *r, const struct weft_jfr_type *type,
			       const struct event_settings *s, enum event_setting which)
{
	char value[64];

	weft_setting_text(s, which, value, sizeof(value));
	recording_put_setting(r, type, weft_setting_name(which), value);
}

int64_t recording_stack(const struct recording *r, const struct recording_trace *trace)
{
	return trace->count ? (int64_t)weft_jfr_stack(r->writer, trace->frame, trace->count,
						      trace->truncated)
			    : 0;
}

void recording_put_warning(struct recording *r, const char *text)
{
	struct weft_jfr_value v[] = {
		{.number = (int64_t)recording_now(r)},
		{.string = text_value(text)},
	};
	int fresh = 0;

	if (!r->warned)
		r->warned = map_new();
	if (r->warned && map_count(r->warned) >= WARNED_MAX)
		map_clear(r->warned);
	if (!r->warned || !map_put(r->warned, text, strlen(text), &fresh) || !fresh)
		return;
	if (!r->type[TYPE_WARNING])
		r->type[TYPE_WARNING] = declare_type(r->writer, TYPE_WARNING, &r->tags);
	recording_put(r, r->type[TYPE_WARNING], v, 2);
	if (r->o.tell)
		r->o.tell(r->o.tell_arg, text);
}
