/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rows are written into a recording in memory, by the writer that writes all recordings, and
 * copied from there like another source.
 */
#include "jfr/merge/merge_settings.h"

#include "base/array.h"
#include "base/map.h"
#include "jfr/read/reader.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Settings that can be applied to a recording afterwards. */
static const enum event_setting applied[] = {
	SETTING_ENABLED, SETTING_SELECT, SETTING_THRESHOLD, SETTING_THROTTLE, SETTING_STACK_TRACE,
};
#define APPLIED_COUNT (sizeof(applied) / sizeof(applied[0]))

void merge_settings_free(struct merge_settings *m)
{
	free(m->noted);
	map_free(m->types);
}

static int merge_merge_settings_note(struct merge_settings *m, int64_t type,
				     const struct event_settings *settings)
{
	int fresh;
	struct noted *n;

	if (!m->types)
		m->types = map_new();
	if (!m->types || !map_put(m->types, &type, sizeof(type), &fresh))
		return -ENOMEM;
	if (!fresh)
		return 0;
	n = array_add(&m->noted, &m->count, &m->room, sizeof(*n));
	if (n)
		*n = (struct noted){type, *settings};
	return n ? 0 : -ENOMEM;
}

int merge_settings_note(struct merge_settings *m, struct filter *f, const struct weft_jfr_reader *r,
			struct copy_source *s)
{
	if (m->set == r->classes)
		return 0;
	m->set = r->classes;
	for (uint32_t i = 0; i < r->classes->count; i++) {
		const struct weft_jfr_class *class = r->classes->list[i];
		const struct event_settings *settings;

		if (!class->is_event)
			continue;
		settings = filter_settings(f, r, class);
		if (!settings || (settings->given &&
				  merge_merge_settings_note(m, copy_type_id(s, class), settings)))
			return -ENOMEM;
	}
	return 0;
}

static int merge_settings_put_rows(struct weft_jfr_writer *w, const struct weft_jfr_type *type,
				   const struct noted *n)
{
	char text[48];

	for (size_t i = 0; i < APPLIED_COUNT; i++) {
		const char *name = weft_setting_name(applied[i]);
		struct weft_jfr_value v[4] = {{.number = 1}, {.number = n->type}};
		int rc;

		if (!(n->settings.given & 1u << applied[i]))
			continue;
		v[2].string = (struct weft_jfr_string){name, strlen(name)};
		v[3].string = (struct weft_jfr_string){
			text, weft_setting_text(&n->settings, applied[i], text, sizeof(text))};
		rc = weft_jfr_event(w, type, v, 4);
		if (rc != 0)
			return rc;
	}
	return 0;
}

static int write_rows(const struct merge_settings *m, const char *path, int64_t end_ns)
{
	struct weft_jfr_options options = {.size = sizeof(options),
					   .path = path,
					   .start_mono_ns = 1,
					   .start_real_ns = end_ns > 0 ? (uint64_t)end_ns : 1};
	struct weft_jfr_writer *w = weft_jfr_create(&options);
	struct weft_jfr_type *type;
	int rc = 0, rc_close;

	if (!w)
		return -errno;
	type = weft_jfr_standard_type(w, WEFT_JFR_ACTIVE_SETTING);
	if (!type)
		rc = -errno;
	for (size_t i = 0; i < m->count && rc == 0; i++)
		rc = merge_settings_put_rows(w, type, &m->noted[i]);
	rc_close = weft_jfr_close(w);
	return rc ? rc : rc_close;
}

static int copy_rows(struct copy *c, struct weft_jfr_reader *r)
{
	struct copy_source *s = copy_source(c, r, COPY_OWN_NUMBERS);
	struct weft_jfr_event_view view;
	int rc = s ? 0 : -ENOMEM;

	while (rc == 0 && reader_next_chunk(r) > 0) {
		rc = copy_chunk(s);
		while (rc == 0 && weft_jfr_next_here(r, &view) > 0)
			rc = copy_event(s, &view, 0);
		if (rc == 0)
			rc = copy_chunk_end(s, 0);
	}
	return rc ? rc : r->rc;
}

int merge_settings_copy(struct merge_settings *m, struct copy *c, int64_t end_ns)
{
	char path[40];
	struct weft_jfr_reader *r;
	int rc, fd;

	if (!m->count)
		return 0;
	/* by name only a descriptor is opened that may survive an exec (base/output.h) */
	fd = memfd_create("weft-merge", 0);
	if (fd < 0)
		return -errno;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	rc = write_rows(m, path, end_ns);
	r = rc == 0 ? weft_jfr_open(path) : NULL;
	if (rc == 0)
		rc = r ? copy_rows(c, r) : -errno;
	weft_jfr_reader_free(r);
	close(fd);
	return rc;
}
