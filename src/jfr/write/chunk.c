/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes a whole chunk (jfr/common/chunk_parts.h): the metadata event, the events, and one
 * checkpoint event with the entries of constant pools that they use.
 */
#include "base/clock.h"
#include "jfr/common/chunk_parts.h"
#include "jfr/common/encode.h"
#include "jfr/common/types.h"
#include "jfr/write/writer.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#define CHECKPOINT_FLUSH 1

static long gmt_offset(uint64_t real_ns)
{
	time_t seconds = (time_t)(real_ns / 1000000000u);
	struct tm tm;

	return localtime_r(&seconds, &tm) ? tm.tm_gmtoff : 0;
}

static int refresh_metadata(struct weft_jfr_writer *w)
{
	int rc;

	if (!w->metadata_stale)
		return 0;
	buf_clear(&w->metadata);
	rc = metadata_build(&w->metadata, &w->types, gmt_offset(w->start_real_ns));
	if (rc == 0) {
		w->metadata_stale = 0;
		w->metadata_id++;
	}
	return rc;
}

static void chunk_put_names(struct buf *b, enum type_id type, const char *const *names, size_t from,
			    size_t to)
{
	buf_put_leb128(b, type);
	buf_put_leb128(b, to - from);
	for (size_t key = from; key < to; key++) {
		buf_put_leb128(b, key);
		buf_put_string(b, names[key], strlen(names[key]));
	}
}

/* It is stored with the group first (intern.c), and written in the order of the type's fields. */
static void chunk_put_thread(struct buf *b, const uint8_t *value, size_t bytes)
{
	size_t group = 1;

	while (group < LEB128_MAX && value[group - 1] >= 0x80)
		group++;
	buf_put(b, value + group, bytes - group);
	buf_put(b, value, group);
	buf_put_u8(b, 0); /* virtual */
}

static void put_pool(struct buf *b, enum pool_name name, enum type_id type, const struct pool *p)
{
	buf_put_leb128(b, type);
	buf_put_leb128(b, p->used_count);
	for (size_t i = 0; i < p->used_count; i++) {
		uint64_t id = pool_id(p, p->used[i]);
		size_t bytes;
		const uint8_t *value = pool_value(p, id, &bytes);

		buf_put_leb128(b, id);
		if (name == POOL_THREAD)
			chunk_put_thread(b, value, bytes);
		else
			buf_put(b, value, bytes);
	}
}

static const enum type_id pool_types[POOL_COUNT] = {
	[POOL_STRING] = TYPE_STRING,     [POOL_SYMBOL] = TYPE_SYMBOL,
	[POOL_CLASS] = TYPE_CLASS,       [POOL_METHOD] = TYPE_METHOD,
	[POOL_STACK] = TYPE_STACK_TRACE, [POOL_GROUP] = TYPE_THREAD_GROUP,
	[POOL_THREAD] = TYPE_THREAD,
};

static void chunk_put_checkpoint(struct weft_jfr_writer *w, struct buf *out)
{
	struct buf body = {0};
	unsigned int pools = 2;

	/* readers give up at a pool without entries: it is left out */
	for (int i = 0; i < POOL_COUNT; i++)
		pools += w->pools[i].used_count != 0;
	buf_put_start(&body, TYPE_CHECKPOINT, w->chunk_start_ns);
	buf_put_leb128(&body, 0); /* no checkpoint before this one */
	buf_put_u8(&body, CHECKPOINT_FLUSH);
	buf_put_leb128(&body, pools);
	chunk_put_names(&body, TYPE_FRAME_TYPE, frame_type_names, 0, 6);
	chunk_put_names(&body, TYPE_THREAD_STATE, thread_state_names, 1, 6);
	for (int i = 0; i < POOL_COUNT; i++)
		if (w->pools[i].used_count)
			put_pool(&body, (enum pool_name)i, pool_types[i], &w->pools[i]);
	buf_put_framed(out, &body);
	buf_free(&body);
}

static uint64_t chunk_duration(const struct weft_jfr_writer *w)
{
	uint64_t end = w->now_ns > w->last_end_ns ? w->now_ns : w->last_end_ns;

	return end > w->chunk_start_ns ? end - w->chunk_start_ns : 1;
}

/* Drops the @count oldest chunks as this one is written. -ENOTSUP: none has to go. */
static int replace_file(struct weft_jfr_writer *w, size_t count, struct iovec *parts, int n)
{
	struct retained_chunk gone = retention_sum(&w->retention, count);
	struct iovec copy[4];
	int rc;

	if (!count)
		return -ENOTSUP;
	memcpy(copy, parts, (size_t)n * sizeof(*copy));
	rc = file_replace(&w->file, gone.bytes, copy, n);
	if (rc)
		return rc;
	retention_drop(&w->retention, count);
	w->written.dropped_bytes += gone.bytes;
	w->written.dropped_chunks += count;
	w->written.dropped_events += gone.events;
	return 0;
}

/* A chunk that cannot be dropped stays: no new chunk is lost because of a limit. */
static int append_within_limits(struct weft_jfr_writer *w, struct iovec *parts, int n, int is_final)
{
	struct retention *kept = &w->retention;
	struct retained_chunk one = {0, w->chunk_events, w->chunk_start_ns + chunk_duration(w)};
	size_t count;
	int rc = retention_reserve(kept);

	if (rc)
		return rc;
	for (int i = 0; i < n; i++)
		one.bytes += parts[i].iov_len;
	count = retention_plan(kept, &one, is_final);
	rc = replace_file(w, count, parts, n);
	/* if the disk has no room for two copies, more of the oldest chunks go */
	while ((rc == -ENOSPC || rc == -EDQUOT) && count < kept->count - kept->first) {
		count += (kept->count - kept->first - count + 1) / 2;
		rc = replace_file(w, count, parts, n);
	}
	if (rc && rc != -ENOTSUP && !w->written.limit_error)
		w->written.limit_error = rc;
	if (rc)
		rc = file_append(&w->file, parts, n);
	if (rc == 0)
		retention_add(kept, &one);
	return rc;
}

static int put_parts(struct weft_jfr_writer *w, struct iovec *parts, int n, int is_final)
{
	if (retention_is_on(&w->retention))
		return append_within_limits(w, parts, n, is_final);
	return file_append(&w->file, parts, n);
}

static int chunk_write(struct weft_jfr_writer *w, int is_final)
{
	struct chunk_parts p = {.events = &w->events};
	const struct chunk_clock clock = {
		.start_ns = (int64_t)(w->start_real_ns + (w->chunk_start_ns - w->start_mono_ns)),
		.duration_ns = (int64_t)chunk_duration(w),
		.start_ticks = (int64_t)w->chunk_start_ns,
		.ticks_per_second = NS_PER_S};
	int rc = refresh_metadata(w);

	if (rc != 0)
		return rc;
	buf_put_metadata(&p.metadata, w->chunk_start_ns, w->metadata_id, &w->metadata);
	chunk_put_checkpoint(w, &p.checkpoint);
	rc = chunk_parts_finish(&p, &clock, CHUNK_COMPRESSED | (is_final ? CHUNK_FINAL : 0));
	if (rc == 0)
		rc = put_parts(w, p.part, 4, is_final);
	chunk_parts_free(&p);
	return rc;
}

static void start_next(struct weft_jfr_writer *w)
{
	uint64_t start = w->chunk_start_ns + 1; /* unique: readers drop an equal start */

	buf_clear(&w->events);
	for (int i = 0; i < POOL_COUNT; i++)
		pool_next_chunk(&w->pools[i]);
	pool_forget(&w->pools[POOL_STRING]);
	w->chunk++;
	w->chunk_events = 0;
	w->chunk_start_ns = w->now_ns > start ? w->now_ns : start;
	w->last_end_ns = 0;
}

int chunk_end(struct weft_jfr_writer *w, int is_final)
{
	int rc = chunk_write(w, is_final);

	if (rc == 0) {
		w->written.bytes = w->file.bytes + w->written.dropped_bytes;
		w->written.chunks++;
		w->written.events += w->chunk_events;
	} else {
		w->written.events_lost += w->chunk_events;
	}
	start_next(w);
	return rc;
}
