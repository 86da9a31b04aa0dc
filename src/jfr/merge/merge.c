/* SPDX-License-Identifier: Apache-2.0 */
/* Looks at all chunks' clocks, then always copies the chunk that starts first. */
#include "jfr/merge/merge.h"

#include "base/clock.h"
#include "base/map.h"
#include "jfr/merge/copy.h"
#include "jfr/merge/filter.h"
#include "jfr/merge/merge_settings.h"
#include "jfr/read/reader.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define CLOCKS_AGREE_NS 5000000
#define HEADROOM_NS INT64_C(1000000000000) /* of what began before the first chunk */

struct input_file {
	const char *path;
	struct weft_jfr_reader *reader;
	struct filter *filter;
	struct copy_source *source;
	int in_chunk, told;
};

struct merging {
	struct merge *said;
	struct copy *copy;
	struct input_file *files;
	struct merge_settings settings;
	struct map *wrong; /* types that were told of */
	struct copy_clock clock, first;
	int same_clock;
	int64_t end_ns;
};

static int merge_open_reader(struct merging *m, struct weft_jfr_reader **out, const char *path)
{
	*out = weft_jfr_open(path);
	if (!*out) {
		m->said->failed = path;
		return -errno;
	}
	weft_jfr_filter(*out, reader_no_fields, NULL);
	return 0;
}

/* ---- clocks */

/* How far a chunk's clock is from the first one's. */
static __int128 clock_off_ns(const struct copy_clock *first, const struct weft_jfr_chunk_view *c)
{
	__int128 ticks = (__int128)c->start_ticks - first->ticks;

	return ticks * NS_PER_S / first->ticks_per_second - (c->start_ns - first->ns);
}

static void compare_clocks(struct merging *m, const struct weft_jfr_chunk_view *c)
{
	__int128 off;

	if (!m->first.ticks_per_second)
		m->first = (struct copy_clock){c->start_ns, c->start_ticks, c->ticks_per_second};
	off = clock_off_ns(&m->first, c);
	if (c->ticks_per_second != m->first.ticks_per_second || off > CLOCKS_AGREE_NS ||
	    off < -CLOCKS_AGREE_NS)
		m->same_clock = 0;
	if (c->start_ns < m->first.ns)
		m->first = (struct copy_clock){c->start_ns, c->start_ticks, c->ticks_per_second};
}

/* Chunks of one recording have to start one after the other. */
static int survey_file(struct merging *m, const char *path)
{
	int64_t before = INT64_MIN;
	struct weft_jfr_reader *r;
	int rc = merge_open_reader(m, &r, path);

	if (rc != 0)
		return rc;
	while (reader_next_chunk(r) > 0) {
		compare_clocks(m, &r->chunk);
		if (r->chunk.start_ns <= before)
			m->same_clock = 0;
		before = r->chunk.start_ns;
	}
	rc = r->rc == -ENOMEM ? -ENOMEM : 0;
	weft_jfr_reader_free(r);
	return rc;
}

static int merge_survey(struct merging *m)
{
	int rc = 0;

	m->same_clock = 1;
	for (size_t i = 0; rc == 0 && i < m->said->count; i++)
		rc = survey_file(m, m->said->paths[i]);
	m->clock = m->first;
	if (rc == 0 && !m->first.ticks_per_second)
		m->same_clock = 0;
	if (!m->same_clock)
		m->clock = (struct copy_clock){m->first.ns - HEADROOM_NS, 0, NS_PER_S};
	return rc;
}

/* ---- files */

static void tell_wrong_select(const char *event, void *arg)
{
	struct merging *m = arg;
	int fresh = 1;

	(void)map_put(m->wrong, event, strlen(event), &fresh);
	if (fresh)
		m->said->wrong_select(event);
}

static void next_chunk(struct merging *m, struct input_file *f)
{
	f->in_chunk = reader_next_chunk(f->reader) > 0;
	if (f->reader->rc != 0 && !f->told) {
		f->told = 1;
		m->said->damaged(f->path, weft_jfr_error(f->reader));
	}
}

static int merge_open_file(struct merging *m, struct input_file *f, const char *path)
{
	int rc;

	f->path = path;
	f->filter = filter_new(m->said->lines, tell_wrong_select, m);
	rc = f->filter ? filter_prepare(f->filter, path) : -ENOMEM;
	if (rc == 0)
		rc = merge_open_reader(m, &f->reader, path);
	if (rc != 0)
		return rc;
	f->source = copy_source(m->copy, f->reader, m->same_clock ? COPY_SAME_CLOCK : 0);
	if (!f->source)
		return -ENOMEM;
	next_chunk(m, f);
	return f->reader->rc == -ENOMEM ? -ENOMEM : 0;
}

static struct input_file *earliest(struct merging *m)
{
	struct input_file *best = NULL;

	for (size_t i = 0; i < m->said->count; i++) {
		struct input_file *f = &m->files[i];

		if (f->in_chunk &&
		    (!best || f->reader->chunk.start_ns < best->reader->chunk.start_ns))
			best = f;
	}
	return best;
}

static int merge_copy_one(struct merging *m, struct input_file *f,
			  const struct weft_jfr_event_view *view)
{
	int without_stack, rc;

	m->said->events++;
	rc = filter_wants(f->filter, f->reader, view, &without_stack);
	if (rc <= 0)
		return rc;
	rc = copy_event(f->source, view, without_stack);
	if (rc == -EBADMSG && f->reader->rc == 0)
		(void)reader_damaged(f->reader, f->reader->map + view->offset,
				     "event does not fit its type");
	m->said->kept += rc == 0;
	return rc;
}

static int copy_events_of(struct merging *m, struct input_file *f)
{
	struct weft_jfr_event_view view;
	int rc = 0;

	while (rc == 0 && weft_jfr_next_here(f->reader, &view) > 0)
		rc = merge_copy_one(m, f, &view);
	return rc == -EBADMSG ? 0 : rc;
}

static void note_end(struct merging *m, const struct weft_jfr_chunk_view *c)
{
	int64_t end_ns;

	if (__builtin_add_overflow(c->start_ns, c->duration_ns, &end_ns))
		end_ns = c->start_ns;
	if (end_ns > m->end_ns)
		m->end_ns = end_ns;
}

static int copy_chunk_of(struct merging *m, struct input_file *f)
{
	const struct weft_jfr_chunk_view *c = &f->reader->chunk;
	int rc = copy_chunk(f->source);

	note_end(m, c);
	if (rc == -EBADMSG)
		(void)reader_damaged(f->reader, f->reader->chunk_data + f->reader->metadata,
				     "metadata is malformed");
	else if (rc == 0)
		rc = merge_settings_note(&m->settings, f->filter, f->reader, f->source);
	if (rc == 0)
		rc = copy_events_of(m, f);
	/* at least one chunk is written, or the file would be no recording */
	if (rc == 0)
		rc = copy_chunk_end(f->source, !copy_chunks(m->copy));
	if (rc != 0 && rc != -EBADMSG)
		return rc;
	next_chunk(m, f);
	return f->reader->rc == -ENOMEM ? -ENOMEM : 0;
}

static int copy_all(struct merging *m)
{
	struct input_file *f;
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < m->said->count; i++)
		rc = merge_open_file(m, &m->files[i], m->said->paths[i]);
	while (rc == 0 && (f = earliest(m)) != NULL)
		rc = copy_chunk_of(m, f);
	if (rc == 0 && !copy_chunks(m->copy))
		rc = -ENODATA;
	if (rc == 0)
		rc = merge_settings_copy(&m->settings, m->copy, m->end_ns);
	return rc;
}

int merge_run(struct merge *said)
{
	struct merging m = {.said = said, .end_ns = INT64_MIN};
	int rc = merge_survey(&m), rc_close;

	if (rc != 0)
		return rc;
	m.files = calloc(said->count, sizeof(*m.files));
	m.wrong = map_new();
	rc = m.files && m.wrong ? copy_create(&m.copy, said->output, &m.clock) : -ENOMEM;
	if (rc == 0)
		rc = copy_all(&m);
	rc_close = copy_close(m.copy);
	for (size_t i = 0; m.files && i < said->count; i++) {
		filter_free(m.files[i].filter);
		weft_jfr_reader_free(m.files[i].reader);
	}
	free(m.files);
	map_free(m.wrong);
	merge_settings_free(&m.settings);
	return rc ? rc : rc_close;
}
