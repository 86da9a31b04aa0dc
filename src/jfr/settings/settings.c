/* SPDX-License-Identifier: Apache-2.0 */
/* The list: entries in order of precedence, as lines, and what is wrong with them. */
#include "jfr/settings/settings.h"

#include "base/array.h"
#include "base/buf.h"
#include "base/map.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct weft_jfr_settings *weft_jfr_settings_new(const char *directory)
{
	struct weft_jfr_settings *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->places = map_new();
	s->unknown = map_new();
	s->file_names = map_new();
	s->directory = directory ? strdup(directory) : NULL;
	if (s->places && s->unknown && s->file_names && (s->directory || !directory))
		return s;
	weft_jfr_settings_free(s);
	errno = ENOMEM;
	return NULL;
}

void weft_jfr_settings_free(struct weft_jfr_settings *s)
{
	if (!s)
		return;
	for (int i = 0; i <= WEFT_JFR_FROM_SET; i++)
		settings_drop(&s->chains[i]);
	map_free(s->places);
	map_free(s->unknown);
	map_free(s->file_names);
	arena_free(&s->files);
	free(s->directory);
	free(s->all);
	free(s->lines);
	free(s);
}

int settings_fail(struct weft_jfr_settings *s, int err, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	/* NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized): begun above */
	vsnprintf(s->error, sizeof(s->error), format, args);
	va_end(args);
	return err;
}

const char *weft_jfr_settings_error(const struct weft_jfr_settings *s)
{
	return s->error;
}

/* ---- entries */

static int has_any(struct setting_text text, const char *of)
{
	for (size_t i = 0; i < text.bytes; i++)
		if (!text.at[i] || strchr(of, text.at[i]))
			return 1;
	return 0;
}

static char *settings_put_text(char *to, struct setting_text text)
{
	for (size_t i = 0; i < text.bytes; i++)
		to[i] = strchr("\t\r\n", text.at[i]) ? ' ' : text.at[i];
	to[text.bytes] = '\0';
	return to + text.bytes + 1;
}

static void settings_judge(struct setting_entry *e)
{
	struct event_settings scratch = {0};

	e->known = weft_setting_find(e->public.name, strlen(e->public.name));
	if (e->known < 0)
		e->known = -1;
	else
		e->wrong = weft_setting_put(&scratch, (enum event_setting)e->known, e->public.value,
					    strlen(e->public.value)) != 0;
}

static void settings_append(struct setting_chain *to, struct setting_entry *e)
{
	e->next = NULL;
	e->before = to->last;
	if (to->last)
		to->last->next = e;
	else
		to->first = e;
	to->last = e;
}

int settings_gather(struct setting_chain *to, struct setting_line said,
		    const struct weft_jfr_setting *where)
{
	struct setting_text glob = weft_setting_trimmed(said.glob),
			    name = weft_setting_trimmed(said.name);
	struct setting_text value = weft_setting_trimmed(said.value);
	struct setting_entry *e;
	char *at;

	if (!glob.bytes || !name.bytes || has_any(glob, "#\r\n\t") || has_any(name, "#=\r\n\t") ||
	    has_any(value, ""))
		return -EINVAL;
	e = calloc(1, sizeof(*e) + glob.bytes + name.bytes + value.bytes + 3);
	if (!e)
		return -ENOMEM;
	e->public = *where;
	at = (char *)(e + 1);
	e->public.glob = at;
	at = settings_put_text(at, glob);
	e->public.name = at;
	at = settings_put_text(at, name);
	e->public.value = at;
	settings_put_text(at, value);
	settings_judge(e);
	settings_append(to, e);
	return 0;
}

void settings_drop(struct setting_chain *chain)
{
	struct setting_entry *e = chain->first;

	while (e) {
		struct setting_entry *next = e->next;

		free(e);
		e = next;
	}
	chain->first = chain->last = NULL;
}

static void settings_take_out(struct setting_chain *chain, struct setting_entry *e)
{
	if (e->before)
		e->before->next = e->next;
	else
		chain->first = e->next;
	if (e->next)
		e->next->before = e->before;
	else
		chain->last = e->before;
	free(e);
}

/* The place that leads to the entry of this source, glob and setting. NULL: no memory. */
static uint64_t *settings_place_of(struct weft_jfr_settings *s, const struct setting_entry *e)
{
	struct buf key = {0};
	uint64_t *place = NULL;
	int fresh;

	buf_put_u8(&key, (uint8_t)e->public.source);
	buf_put(&key, e->public.glob, strlen(e->public.glob) + 1);
	if (e->known < 0)
		buf_put(&key, e->public.name, strlen(e->public.name));
	else
		buf_put_u8(&key, (uint8_t)(1 + e->known));
	if (!key.failed)
		place = map_put(s->places, key.data, key.size, &fresh);
	buf_free(&key);
	return place;
}

void settings_join(struct weft_jfr_settings *s, struct setting_chain *fresh)
{
	struct setting_entry *e = fresh->first;

	while (e) {
		struct setting_entry *next = e->next;
		struct setting_chain *chain = &s->chains[e->public.source];
		/* a wrong value leaves the older entry in force */
		int replaces = !e->wrong || e->known == SETTING_SELECT;
		uint64_t *place = replaces ? settings_place_of(s, e) : NULL;

		if (place && *place)
			settings_take_out(chain, (struct setting_entry *)(uintptr_t)*place);
		if (place)
			*place = (uintptr_t)e;
		settings_append(chain, e);
		e = next;
	}
	fresh->first = fresh->last = NULL;
}

/* ---- what the list says */

size_t weft_jfr_settings_all(struct weft_jfr_settings *s, const struct weft_jfr_setting **out)
{
	struct weft_jfr_setting *added = array_grown(s->all, 1, &s->all_room, sizeof(*added));
	size_t count = 0;

	*out = NULL; /* no memory; an empty list has a place */
	if (!added)
		return 0;
	s->all = added;
	for (int i = 0; i <= WEFT_JFR_FROM_SET; i++)
		for (const struct setting_entry *e = s->chains[i].first; e; e = e->next) {
			added = array_add(&s->all, &count, &s->all_room, sizeof(*added));
			if (!added)
				return 0;
			*added = e->public;
		}
	*out = s->all;
	return count;
}

static int has_effect(const struct setting_entry *e)
{
	return e->known >= 0 && (!e->wrong || e->known == SETTING_SELECT);
}

const char *weft_jfr_settings_lines(struct weft_jfr_settings *s)
{
	struct buf lines = {0};

	for (int i = 0; i <= WEFT_JFR_FROM_SET; i++)
		for (const struct setting_entry *e = s->chains[i].first; e; e = e->next) {
			if (!has_effect(e))
				continue;
			buf_put(&lines, e->public.glob, strlen(e->public.glob));
			buf_put_u8(&lines, '#');
			buf_put(&lines, e->public.name, strlen(e->public.name));
			buf_put_u8(&lines, '=');
			buf_put(&lines, e->public.value, strlen(e->public.value));
			buf_put_u8(&lines, '\n');
		}
	buf_put_u8(&lines, 0);
	if (lines.failed) {
		buf_free(&lines);
		errno = ENOMEM;
		return NULL;
	}
	free(s->lines);
	s->lines = (char *)lines.data;
	return s->lines;
}

static int is_to_be_told(struct weft_jfr_settings *s, struct setting_entry *e)
{
	int fresh = 1;

	if (e->told || (e->known >= 0 && !e->wrong))
		return 0;
	e->told = 1;
	if (e->known < 0)
		(void)map_put(s->unknown, e->public.name, strlen(e->public.name), &fresh);
	return fresh;
}

size_t weft_jfr_settings_check(struct weft_jfr_settings *s,
			       void (*tell)(enum weft_jfr_settings_trouble trouble,
					    const struct weft_jfr_setting *setting, void *arg),
			       void *arg)
{
	size_t count = 0;

	for (int i = 0; i <= WEFT_JFR_FROM_SET; i++)
		for (struct setting_entry *e = s->chains[i].first; e; e = e->next) {
			if (!is_to_be_told(s, e))
				continue;
			count++;
			tell(e->known < 0 ? WEFT_JFR_SETTING_UNKNOWN : WEFT_JFR_SETTING_WRONG,
			     &e->public, arg);
		}
	return count;
}

int weft_jfr_setting_applies(const char *glob, const char *event)
{
	return weft_setting_glob(glob, strlen(glob), event);
}
