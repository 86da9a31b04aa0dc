/* SPDX-License-Identifier: Apache-2.0 */
/* Opens a chunk: its header is checked against what the file holds, and its metadata read. */
#include "jfr/read/reader.h"

#include "base/array.h"

#include <errno.h>
#include <string.h>

/* No chunk begins at @at, where the one before it ends. */
static int no_chunk(struct weft_jfr_reader *r, const void *at, const char *reason)
{
	if (r->chunk_count && r->state)
		reason = "what follows the last flush of a chunk that was being written";
	return reader_damaged(r, at, reason);
}

static int chunk_view_read_header(struct weft_jfr_reader *r, const uint8_t *header,
				  const uint8_t *at, size_t left)
{
	struct input in = {.at = header, .end = header + CHUNK_HEADER_BYTES};
	struct weft_jfr_chunk_view *c = &r->chunk;
	unsigned int major, minor;

	if (left < CHUNK_HEADER_BYTES)
		return no_chunk(r, at, "chunk header is cut short");
	if (memcmp(header, "FLR", 4) != 0)
		return no_chunk(r, at, "no chunk where one should be");
	input_be(&in, 4);
	major = (unsigned int)input_be(&in, 2);
	minor = (unsigned int)input_be(&in, 2);
	if (major != 1 && major != 2)
		return reader_damaged(r, at, "chunk of an unknown version");
	*c = (struct weft_jfr_chunk_view){
		.offset = r->map_start + (uint64_t)(at - r->map), .major = major, .minor = minor};
	r->chunk_data = at;
	c->bytes = input_be(&in, 8);
	r->checkpoint = input_be(&in, 8);
	r->metadata = input_be(&in, 8);
	c->start_ns = (int64_t)input_be(&in, 8);
	c->duration_ns = (int64_t)input_be(&in, 8);
	c->start_ticks = (int64_t)input_be(&in, 8);
	c->ticks_per_second = (int64_t)input_be(&in, 8);
	c->flags = (unsigned int)header[CHUNK_FLAGS_AT] << 8 | header[CHUNK_FLAGS_AT + 1];
	r->fixed = !(c->flags & CHUNK_COMPRESSED);
	r->state = header[64];
	return 0;
}

static int check_header(struct weft_jfr_reader *r, size_t left)
{
	const struct weft_jfr_chunk_view *c = &r->chunk;

	if (c->bytes < CHUNK_HEADER_BYTES)
		return reader_damaged(r, r->chunk_data, "chunk is smaller than its header");
	if (r->metadata == 0)
		return reader_damaged(r, r->chunk_data, "chunk was never finished");
	if (c->bytes > left)
		return reader_damaged(r, r->chunk_data, "chunk is cut short");
	if (r->metadata < CHUNK_HEADER_BYTES || r->metadata >= c->bytes)
		return reader_damaged(r, r->chunk_data, "metadata lies outside its chunk");
	if (r->checkpoint && (r->checkpoint < CHUNK_HEADER_BYTES || r->checkpoint >= c->bytes))
		return reader_damaged(r, r->chunk_data, "checkpoint lies outside its chunk");
	if (c->ticks_per_second <= 0)
		return reader_damaged(r, r->chunk_data, "chunk has no clock");
	return 0;
}

static int note_event_type(struct weft_jfr_reader *r, const struct weft_jfr_class *c)
{
	const struct weft_jfr_class **added;

	/* a type declared again replaces what it was */
	for (size_t i = 0; i < r->event_type_count; i++) {
		if (strcmp(r->event_types[i]->name, c->name) != 0)
			continue;
		r->event_types[i] = c;
		return 0;
	}
	added = array_add(&r->event_types, &r->event_type_count, &r->event_type_room,
			  sizeof(*added));
	if (!added)
		return reader_no_memory(r);
	*added = c;
	return 0;
}

static int take_classes(struct weft_jfr_reader *r, struct input in)
{
	struct class_set *set = r->classes;

	if (set && set->fixed == in.fixed && set->byte_count == input_left(&in) &&
	    memcmp(set->bytes, in.at, set->byte_count) == 0)
		return 0;
	set = classes_read(in);
	if (!set && errno == ENOMEM)
		return reader_no_memory(r);
	if (!set)
		return reader_damaged(r, in.at, "metadata is malformed");
	set->older = r->classes;
	r->classes = set;
	for (const struct weft_jfr_class *c = set->first; c; c = c->next) {
		int rc = c->is_event ? note_event_type(r, c) : 0;

		if (rc != 0)
			return rc;
	}
	return 0;
}

static int read_metadata(struct weft_jfr_reader *r)
{
	const struct weft_jfr_chunk_view *c = &r->chunk;
	const uint8_t *start = r->chunk_data + r->metadata;
	size_t left = (size_t)(c->bytes - r->metadata), bytes;
	struct input in = {.at = start, .end = start + left, .fixed = r->fixed};

	bytes = (uint32_t)input_i32(&in);
	if (in.failed || bytes > left || input_left(&in) < left - bytes)
		return reader_damaged(r, start, "metadata is longer than its chunk");
	in.end = start + bytes;
	if (input_i64(&in) != 0)
		return reader_damaged(r, start, "no metadata where it should be");
	input_i64(&in); /* start */
	input_i64(&in); /* duration */
	input_i64(&in); /* id */
	if (in.failed)
		return reader_damaged(r, start, "metadata is cut short");
	return take_classes(r, in);
}

/* The end of a file that was unpacked from a damaged archive is not the recording's end. */
static int end_of_file(struct weft_jfr_reader *r)
{
	return r->packing[0] ? reader_damaged_at(r, r->next_chunk, "the rest is missing") : 0;
}

static int take_chunk(struct weft_jfr_reader *r, const uint8_t *header, const uint8_t *at,
		      size_t left)
{
	int rc = chunk_view_read_header(r, header, at, left);

	if (rc == 0)
		rc = check_header(r, left);
	if (rc == 0)
		rc = read_metadata(r);
	if (rc != 0)
		return rc;
	r->next_chunk = r->chunk.offset + r->chunk.bytes;
	if (__builtin_add_overflow(r->chunk.start_ns, r->chunk.duration_ns, &r->last_ns))
		r->last_ns = INT64_MAX;
	return 0;
}

int chunk_open(struct weft_jfr_reader *r)
{
	uint8_t copy[CHUNK_HEADER_BYTES];
	const uint8_t *at, *header;
	size_t left;
	int rc;

	if (r->follows) {
		rc = follow_open_chunk(r, copy, &left);
		if (rc <= 0)
			return rc;
		at = r->map + (r->next_chunk - r->map_start);
		header = copy;
	} else {
		at = header = r->map + r->next_chunk;
		left = r->map_bytes - (size_t)r->next_chunk;
		if (!left)
			return end_of_file(r);
	}
	rc = take_chunk(r, header, at, left);
	if (rc != 0)
		return rc;
	r->at = at + CHUNK_HEADER_BYTES;
	if (!r->chunk_count++)
		r->first_ns = r->chunk.start_ns;
	return 1;
}

int chunk_grow(struct weft_jfr_reader *r)
{
	uint8_t header[CHUNK_HEADER_BYTES];
	const uint8_t *at = r->chunk_data;
	int rc = follow_grow_chunk(r, header);

	if (rc <= 0)
		return rc;
	rc = take_chunk(r, header, at, (size_t)(r->map + r->map_bytes - at));
	pools_stale(r);
	return rc ? rc : 1;
}
