/* SPDX-License-Identifier: Apache-2.0 */
/* The public functions of the writer: a recording from create to close, events encoded. */
#include "jfr/write/writer.h"

#include "base/clock.h"
#include "jfr/common/encode.h"
#include "jfr/common/types.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_CHUNK_NS UINT64_C(10000000000)
#define DEFAULT_CHUNK_BYTES ((uint64_t)16 << 20)
#define LARGEST_CHUNK_BYTES ((uint64_t)1 << 30)
#define LARGEST_TEXT ((size_t)1 << 20)
#define LONGEST_INLINE 64 /* bytes of a text that is not worth a pool entry */

static void writer_set_times(struct weft_jfr_writer *w, const struct weft_jfr_options *o)
{
	uint64_t mono = clock_mono_ns(), real = clock_ns(CLOCK_REALTIME);

	w->own_clock = !o->start_mono_ns;
	w->start_mono_ns = o->start_mono_ns ? o->start_mono_ns : mono;
	w->start_real_ns = o->start_real_ns ? o->start_real_ns : real - (mono - w->start_mono_ns);
	w->chunk_start_ns = w->now_ns = w->start_mono_ns;
	w->chunk_ns = o->chunk_ns ? o->chunk_ns : DEFAULT_CHUNK_NS;
	w->chunk_bytes = o->chunk_bytes ? o->chunk_bytes : DEFAULT_CHUNK_BYTES;
}

static void free_writer(struct weft_jfr_writer *w)
{
	for (int i = 0; i < POOL_COUNT; i++)
		pool_free(&w->pools[i]);
	arena_free(&w->types.memory);
	buf_free(&w->scratch);
	buf_free(&w->metadata);
	buf_free(&w->events);
	retention_free(&w->retention);
	free(w);
}

static struct weft_jfr_writer *new_writer(const struct weft_jfr_options *options)
{
	struct weft_jfr_writer *w = calloc(1, sizeof(*w));

	if (!w)
		return NULL;
	w->chunk = 1;
	w->metadata_stale = 1;
	writer_set_times(w, options);
	for (int i = 0; i < POOL_COUNT; i++)
		pool_init(&w->pools[i], (uint64_t)(uintptr_t)w ^ clock_mono_ns());
	w->descriptor = intern_symbol(w, "()V", 3);
	if (!w->descriptor) {
		free_writer(w);
		return NULL;
	}
	return w;
}

/* Callers that were built with an older header pass a smaller struct. */
static int writer_copy_options(struct weft_jfr_options *own, const struct weft_jfr_options *given)
{
	size_t least = offsetof(struct weft_jfr_options, max_bytes);

	if (!given || given->size < least || !given->path ||
	    given->chunk_bytes >= LARGEST_CHUNK_BYTES)
		return -EINVAL;
	*own = (struct weft_jfr_options){0};
	memcpy(own, given, given->size < sizeof(*own) ? given->size : sizeof(*own));
	return 0;
}

static int writer_open_file(struct weft_jfr_writer *w, const struct weft_jfr_options *o)
{
	int rc = file_create(&w->file, o->path);

	w->retention.max_bytes = o->max_bytes;
	w->retention.max_age_ns = o->max_age_ns;
	if (rc || !retention_is_on(&w->retention))
		return rc;
	rc = file_make_replaceable(&w->file, o->path);
	if (rc)
		file_close(&w->file);
	return rc;
}

struct weft_jfr_writer *weft_jfr_create(const struct weft_jfr_options *options)
{
	struct weft_jfr_options own;
	struct weft_jfr_writer *w;
	int rc;

	if (writer_copy_options(&own, options)) {
		errno = EINVAL;
		return NULL;
	}
	w = new_writer(&own);
	if (!w)
		return NULL;
	rc = writer_open_file(w, &own);
	if (rc != 0) {
		free_writer(w);
		errno = -rc;
		return NULL;
	}
	return w;
}

struct weft_jfr_type *weft_jfr_type(struct weft_jfr_writer *w, const struct weft_jfr_type_def *def)
{
	int fresh;
	struct weft_jfr_type *t = type_declare(&w->types, def, &fresh);

	if (fresh)
		w->metadata_stale = 1;
	return t;
}

struct weft_jfr_type *weft_jfr_standard_type(struct weft_jfr_writer *w,
					     enum weft_jfr_standard which)
{
	if ((size_t)which < standard_type_count)
		return weft_jfr_type(w, &standard_types[which]);
	errno = EINVAL;
	return NULL;
}

int weft_jfr_retire(struct weft_jfr_writer *w, struct weft_jfr_type *type)
{
	if (w->chunk_events)
		return -EBUSY;
	type_forget(&w->types, type);
	w->metadata_stale = 1;
	return 0;
}

int64_t weft_jfr_type_id(const struct weft_jfr_type *type)
{
	return type->id;
}

/* Checks values that would make the file unreadable. The bytes that the event takes at most. */
static int64_t event_room(const struct weft_jfr_writer *w, const struct weft_jfr_type *type,
			  const struct weft_jfr_value *v)
{
	size_t room = 3 * LEB128_MAX;

	for (size_t i = 0; i < type->def.field_count; i++, v++) {
		uint64_t id = (uint64_t)v->number;

		room += LEB128_MAX;
		switch (type->kinds[i]) {
		case WEFT_JFR_STRING:
			if (v->string.bytes > LARGEST_TEXT)
				return -EMSGSIZE;
			if (v->string.bytes <= LONGEST_INLINE)
				room += encode_utf8_room(v->string.bytes);
			break;
		case WEFT_JFR_THREAD:
			if (id && !pool_has(&w->pools[POOL_THREAD], id))
				return -EINVAL;
			break;
		case WEFT_JFR_STACK:
			if (id && !pool_has(&w->pools[POOL_STACK], id))
				return -EINVAL;
			break;
		case WEFT_JFR_STATE:
			if (id > WEFT_JFR_STATE_WAITING_FOR_CPU)
				return -EINVAL;
			break;
		}
	}
	return (int64_t)room;
}

static uint8_t *encode_real(uint8_t *to, uint64_t bits, unsigned int bytes)
{
	while (bytes)
		*to++ = (uint8_t)(bits >> (8 * --bytes));
	return to;
}

static uint8_t *encode_text(struct weft_jfr_writer *w, uint8_t *to,
			    const struct weft_jfr_string *text)
{
	uint64_t key;

	if (!text->data) {
		*to++ = STRING_NULL;
		return to;
	}
	if (text->bytes <= LONGEST_INLINE)
		return encode_utf8(to, text->data, text->bytes);
	key = intern_text(w, text->data, text->bytes);
	if (!key)
		return NULL;
	*to++ = STRING_POOL;
	return encode_leb128(to, key);
}

static uint8_t *encode_value(struct weft_jfr_writer *w, uint8_t *to, uint8_t kind,
			     const struct weft_jfr_value *v)
{
	uint64_t number = (uint64_t)v->number, bits;
	float single;

	switch (kind) {
	case WEFT_JFR_BOOLEAN:
		*to++ = number != 0;
		return to;
	case WEFT_JFR_BYTE:
		*to++ = (uint8_t)number;
		return to;
	case WEFT_JFR_CHAR:
	case WEFT_JFR_SHORT:
		return encode_leb128(to, (uint16_t)number);
	case WEFT_JFR_INT:
		return encode_leb128(to, (uint32_t)number);
	case WEFT_JFR_FLOAT:
		single = (float)v->real;
		bits = 0;
		memcpy(&bits, &single, sizeof(single));
		return encode_real(to, bits, sizeof(single));
	case WEFT_JFR_DOUBLE:
		memcpy(&bits, &v->real, sizeof(bits));
		return encode_real(to, bits, sizeof(bits));
	case WEFT_JFR_STRING:
		return encode_text(w, to, &v->string);
	case WEFT_JFR_THREAD:
		if (number)
			mark_thread(w, number);
		break;
	case WEFT_JFR_STACK:
		if (number)
			mark_stack(w, number);
		break;
	}
	return encode_leb128(to, number);
}

/* The size comes first and counts itself: one byte for most events; for others the rest moves. */
static uint8_t *encode_size(uint8_t *start, uint8_t *end)
{
	uint64_t bytes = (uint64_t)(end - start);
	unsigned int length = 1;

	if (bytes < 0x80) {
		*start = (uint8_t)bytes;
		return end;
	}
	while ((bytes - 1 + length) >> (7 * length))
		length++;
	memmove(start + length, start + 1, bytes - 1);
	encode_leb128(start, bytes - 1 + length);
	return end + length - 1;
}

static int encode_event(struct weft_jfr_writer *w, const struct weft_jfr_type *type,
			const struct weft_jfr_value *values, size_t room)
{
	uint8_t *start = buf_reserve(&w->events, room), *to;

	if (!start)
		goto no_memory;
	to = encode_leb128(start + 1, (uint64_t)type->id);
	for (size_t i = 0; i < type->def.field_count; i++) {
		to = encode_value(w, to, type->kinds[i], &values[i]);
		if (!to)
			goto no_memory;
	}
	w->events.size += (size_t)(encode_size(start, to) - start);
	w->chunk_events++;
	return 0;
no_memory:
	w->events.failed = 0;
	w->written.events_lost++;
	return -ENOMEM;
}

static uint64_t chunk_size(const struct weft_jfr_writer *w)
{
	uint64_t bytes = w->events.size + w->metadata.size;

	for (int i = 0; i < POOL_COUNT; i++)
		bytes += w->pools[i].used_bytes;
	return bytes;
}

static int chunk_is_full(const struct weft_jfr_writer *w)
{
	return w->chunk_events && chunk_size(w) >= w->chunk_bytes;
}

/*
 * A chunk without events is written before the first event, so that the file can be opened from
 * then on; not earlier, because tools look into the first chunk for the types that a file has.
 */
static int is_first_event(const struct weft_jfr_writer *w)
{
	return w->chunk == 1;
}

static void note_time(struct weft_jfr_writer *w, const struct weft_jfr_type *type,
		      const struct weft_jfr_value *v)
{
	uint64_t end = (uint64_t)v[0].number;

	if (end > w->now_ns && !w->own_clock)
		w->now_ns = end;
	if (type->lasts && v[1].number > 0)
		end += (uint64_t)v[1].number;
	if (end > w->last_end_ns)
		w->last_end_ns = end;
}

int weft_jfr_event(struct weft_jfr_writer *w, const struct weft_jfr_type *type,
		   const struct weft_jfr_value *values, size_t count)
{
	int64_t room;
	int rc = 0, rc_full = 0;

	if (count != type->def.field_count)
		return -EINVAL;
	room = event_room(w, type, values);
	if (room < 0)
		return (int)room;
	if (is_first_event(w) || chunk_is_full(w)) {
		if (w->own_clock)
			w->now_ns = clock_mono_ns();
		rc_full = chunk_end(w, 0);
	}
	rc = encode_event(w, type, values, (size_t)room);
	if (rc == 0 && type->timed)
		note_time(w, type, values);
	return rc_full ? rc_full : rc;
}

int weft_jfr_rotate(struct weft_jfr_writer *w, uint64_t now_ns, int force)
{
	int rc;

	if (now_ns > w->now_ns)
		w->now_ns = now_ns;
	if (!force) {
		int due = now_ns >= w->chunk_start_ns + w->chunk_ns ||
			  chunk_size(w) >= w->chunk_bytes;

		if (!w->chunk_events || !due)
			return 0;
	}
	rc = chunk_end(w, 0);
	return rc == 0 ? 1 : rc;
}

void weft_jfr_written(const struct weft_jfr_writer *w, struct weft_jfr_written *out)
{
	*out = w->written;
	out->open_bytes = w->chunk_events ? chunk_size(w) : 0;
}

int weft_jfr_end(struct weft_jfr_writer *w)
{
	int rc, rc_close;

	if (w->ended)
		return 0;
	w->ended = 1;
	if (w->own_clock)
		w->now_ns = clock_mono_ns();
	rc = chunk_end(w, 1);
	rc_close = file_close(&w->file);
	return rc ? rc : rc_close;
}

int weft_jfr_close(struct weft_jfr_writer *w)
{
	int rc;

	if (!w)
		return 0;
	rc = weft_jfr_end(w);
	if (rc == 0)
		rc = w->written.limit_error;
	free_writer(w);
	return rc;
}
