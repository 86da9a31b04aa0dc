/* SPDX-License-Identifier: Apache-2.0 */
/* Chunks of a copy: metadata, events, one checkpoint with what they refer to, a header. */
#include "base/clock.h"
#include "jfr/common/chunk_parts.h"
#include "jfr/common/encode.h"
#include "jfr/common/types.h"
#include "jfr/merge/copy_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LARGEST_EVENTS ((size_t)256 << 20) /* of a chunk; more become several */

int copy_create(struct copy **out, int fd, const struct copy_clock *clock)
{
	struct copy *c = calloc(1, sizeof(*c));
	int rc;

	if (!c)
		return -ENOMEM;
	c->clock = *clock;
	c->last_start_ns = INT64_MIN;
	c->by_name = map_new();
	c->ids = map_new();
	c->ref_places = map_new();
	rc = c->by_name && c->ids && c->ref_places ? file_from(&c->file, fd) : -ENOMEM;
	if (rc != 0) {
		c->file.fd = -1;
		copy_close(c);
		return rc;
	}
	*out = c;
	return 0;
}

struct copy_source *copy_source(struct copy *c, struct weft_jfr_reader *r, unsigned int flags)
{
	struct copy_source *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->copy = c;
	s->reader = r;
	s->same_clock = (flags & COPY_SAME_CLOCK) != 0;
	s->own_numbers = (flags & COPY_OWN_NUMBERS) != 0;
	s->types = map_new();
	s->threads = map_new();
	s->next = c->sources;
	c->sources = s;
	return s->types && s->threads ? s : NULL;
}

/* ---- clocks */

static int64_t clamp(__int128 value)
{
	if (value > INT64_MAX)
		return INT64_MAX;
	return value < INT64_MIN ? INT64_MIN : (int64_t)value;
}

static int64_t scale(int64_t value, int64_t from, int64_t to)
{
	return from == to ? value : clamp((__int128)value * to / from);
}

/* Of the recording's clock, at a moment. */
static int64_t ticks_at(const struct copy *c, int64_t ns)
{
	__int128 since = (__int128)ns - c->clock.ns;

	return clamp(since * c->clock.ticks_per_second / NS_PER_S + c->clock.ticks);
}

/* As the JDK converts them, by double, so that its tools show the same to the last digit. */
static int64_t copy_ticks_ns(const struct weft_jfr_chunk_view *from, __int128 ticks)
{
	double ns;

	if (from->ticks_per_second == NS_PER_S)
		return clamp(ticks);
	ns = (double)ticks / ((double)from->ticks_per_second / 1e9);
	if (ns >= 9.2e18)
		return INT64_MAX;
	return ns <= -9.2e18 ? INT64_MIN : (int64_t)ns;
}

/* The least and the greatest number mean "none" and "for ever". */
int64_t copy_moment(const struct copy_source *s, int64_t ticks)
{
	const struct weft_jfr_chunk_view *from = &s->reader->chunk;
	__int128 since = (__int128)ticks - from->start_ticks;

	if (s->same_clock || ticks == INT64_MIN || ticks == INT64_MAX)
		return ticks;
	return ticks_at(s->copy, clamp((__int128)copy_ticks_ns(from, since) + from->start_ns));
}

int64_t copy_span(const struct copy_source *s, int64_t ticks)
{
	if (s->same_clock || ticks == INT64_MIN || ticks == INT64_MAX)
		return ticks;
	return scale(copy_ticks_ns(&s->reader->chunk, ticks), NS_PER_S,
		     s->copy->clock.ticks_per_second);
}

/* ---- a chunk's parts */

static void copy_put_checkpoint(struct copy_source *s, struct buf *out, int64_t ticks)
{
	struct buf body = {0};
	uint64_t pools = 0;

	for (uint32_t i = 0; i < s->set->set->count; i++)
		pools += s->set->classes[i].count != 0;
	buf_put_start(&body, TYPE_CHECKPOINT, (uint64_t)ticks);
	buf_put_leb128(&body, 0); /* no checkpoint before this one */
	buf_put_u8(&body, 1);     /* a flush */
	buf_put_leb128(&body, pools);
	for (uint32_t i = 0; i < s->set->set->count; i++) {
		struct copy_class *class = &s->set->classes[i];

		if (!class->count)
			continue;
		buf_put_leb128(&body, class->type->id);
		buf_put_leb128(&body, class->count);
		buf_put(&body, class->values.data, class->values.size);
	}
	buf_put_framed(out, &body);
	buf_free(&body);
}

static int copy_append(struct copy_source *s, int64_t start_ns, int64_t ticks)
{
	const struct weft_jfr_chunk_view *from = &s->reader->chunk;
	int64_t end_ns = clamp((__int128)from->start_ns + from->duration_ns);
	struct copy *c = s->copy;
	struct chunk_parts p = {.events = &c->events};
	const struct chunk_clock clock = {.start_ns = start_ns,
					  .duration_ns = end_ns > start_ns ? end_ns - start_ns : 1,
					  .start_ticks = ticks,
					  .ticks_per_second = c->clock.ticks_per_second};
	uint64_t offset = c->file.bytes;
	int rc;

	buf_put_metadata(&p.metadata, (uint64_t)ticks, s->set->metadata_id, &s->set->metadata);
	copy_put_checkpoint(s, &p.checkpoint, ticks);
	rc = chunk_parts_finish(&p, &clock, CHUNK_COMPRESSED);
	if (rc == 0)
		rc = file_append(&c->file, p.part, 4);
	if (rc == 0)
		c->last_offset = offset;
	chunk_parts_free(&p);
	return rc;
}

static void forget_chunk(struct copy_source *s)
{
	struct copy *c = s->copy;

	buf_clear(&c->events);
	c->chunk_events = 0;
	copy_refs_clear(c);
	for (uint32_t i = 0; i < s->set->set->count; i++) {
		buf_clear(&s->set->classes[i].values);
		s->set->classes[i].count = 0;
	}
}

static int copy_write_chunk(struct copy_source *s)
{
	struct copy *c = s->copy;
	struct weft_jfr_reader *r = s->reader;
	int64_t start_ns = r->chunk.start_ns, ticks;
	int rc, damaged = r->rc;

	/* what is whole of a chunk that is damaged further on has its pools, too */
	r->rc = 0;
	copy_entries(s);
	r->rc = r->rc == -ENOMEM ? r->rc : damaged;
	if (c->last_start_ns != INT64_MIN && start_ns <= c->last_start_ns)
		start_ns = c->last_start_ns + 1; /* readers drop an equal start */
	ticks = s->same_clock ? r->chunk.start_ticks + scale(start_ns - r->chunk.start_ns, NS_PER_S,
							     r->chunk.ticks_per_second)
			      : ticks_at(c, start_ns);
	rc = c->failed ? c->failed : copy_append(s, start_ns, ticks);
	if (rc == 0) {
		c->last_start_ns = start_ns;
		c->chunks++;
	}
	forget_chunk(s);
	return rc;
}

/* ---- events */

int copy_chunk(struct copy_source *s)
{
	s->set = copy_set_of(s);
	return s->set ? 0 : -errno;
}

int copy_event(struct copy_source *s, const struct weft_jfr_event_view *view, int without_stack)
{
	struct copy *c = s->copy;
	struct weft_jfr_reader *r = s->reader;
	struct copy_writer w = {.source = s, .out = &c->body, .without_stack = without_stack};
	const uint8_t *start = r->map + view->offset;

	if (c->events.size + view->bytes > LARGEST_EVENTS && c->chunk_events) {
		int rc = copy_write_chunk(s);

		if (rc != 0)
			return rc;
	}
	arena_reset(&r->memory);
	decoder_start(&w.from, r, start, (size_t)view->bytes, &r->memory);
	input_i32(&w.from.in); /* size */
	input_i64(&w.from.in); /* type */
	buf_clear(&c->body);
	buf_put_leb128(&c->body, s->set->classes[view->type->index].type->id);
	copy_fields(&w, view->type);
	if (w.from.in.failed)
		return r->rc == -ENOMEM ? -ENOMEM : -EBADMSG;
	buf_put_framed(&c->events, &c->body);
	c->chunk_events++;
	if (c->events.failed)
		c->failed = -ENOMEM;
	return c->failed;
}

int copy_chunk_end(struct copy_source *s, int always)
{
	if (s->copy->chunk_events || always)
		return copy_write_chunk(s);
	forget_chunk(s);
	return 0;
}

int64_t copy_type_id(struct copy_source *s, const struct weft_jfr_class *class)
{
	return (int64_t)s->set->classes[class->index].type->id;
}

uint64_t copy_chunks(const struct copy *c)
{
	return c->chunks;
}

static int mark_final(const struct copy *c)
{
	const uint8_t flags = CHUNK_COMPRESSED | CHUNK_FINAL;
	off_t at = (off_t)c->last_offset + CHUNK_FLAGS_AT + 1;

	if (!c->file.regular || c->last_start_ns == INT64_MIN)
		return 0;
	return pwrite(c->file.fd, &flags, 1, at) == 1 ? 0 : -errno;
}

int copy_close(struct copy *c)
{
	int rc = 0, rc_close;

	if (!c)
		return 0;
	if (c->file.fd >= 0) {
		rc = mark_final(c);
		rc_close = file_close(&c->file);
		rc = rc ? rc : rc_close;
	}
	while (c->sources) {
		struct copy_source *next = c->sources->next;

		copy_sets_free(c->sources);
		map_free(c->sources->types);
		map_free(c->sources->threads);
		free(c->sources);
		c->sources = next;
	}
	copy_types_free(c);
	map_free(c->by_name);
	map_free(c->ids);
	buf_free(&c->events);
	buf_free(&c->body);
	free(c->refs);
	map_free(c->ref_places);
	free(c);
	return rc;
}
