/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The writer's state. A chunk in the making is one buffer of encoded events, plus a mark on
 * every pool entry that they use; chunk.c turns both into bytes when the chunk ends.
 *
 * Times: one tick base for the whole recording (ticks are CLOCK_MONOTONIC nanoseconds, and
 * real time = start_real + (tick - start_mono) in every chunk); each chunk starts later.
 */
#ifndef WEFT_JFR_WRITER_H
#define WEFT_JFR_WRITER_H

#include "base/buf.h"
#include "jfr/common/file.h"
#include "jfr/common/pool.h"
#include "jfr/write/declare.h"

#include <weft/jfr.h>

#include <stdint.h>

enum pool_name {
	POOL_STRING, /* long texts of this chunk only: forgotten when it ends */
	POOL_SYMBOL,
	POOL_CLASS,
	POOL_METHOD,
	POOL_STACK,
	POOL_GROUP,
	POOL_THREAD,
	POOL_COUNT,
};

struct retained_chunk {
	uint64_t bytes, events, end_ns;
};

struct retention {
	uint64_t max_bytes, max_age_ns;
	struct retained_chunk *chunk; /* those in the file are [first, count) */
	size_t first, count, room;
};

static inline int retention_is_on(const struct retention *r)
{
	return r->max_bytes || r->max_age_ns;
}

struct weft_jfr_writer {
	struct file file;
	struct type_list types;
	struct pool pools[POOL_COUNT];
	uint64_t descriptor; /* the symbol "()V" */
	struct buf scratch;  /* a value about to be interned */

	uint64_t start_mono_ns, start_real_ns;
	uint64_t chunk_ns, chunk_bytes;
	int own_clock; /* no start was given: the writer asks the clock itself */

	struct buf metadata; /* as last built */
	uint64_t metadata_id;
	int metadata_stale;

	/* the chunk in the making */
	struct buf events;
	uint32_t chunk; /* its number, from 1 */
	uint64_t chunk_start_ns;
	uint64_t now_ns;      /* latest time told or read */
	uint64_t last_end_ns; /* latest end of an event */
	uint64_t chunk_events;

	int ended; /* the file is closed */
	struct weft_jfr_written written;
	struct retention retention;
};

/* Writes the chunk in the making, whole or not at all, and starts the next. 0 or -errno. */
int chunk_end(struct weft_jfr_writer *w, int is_final);

/* Marks an entry and all it refers to as used by the chunk in the making. */
void mark_stack(struct weft_jfr_writer *w, uint64_t id);
void mark_thread(struct weft_jfr_writer *w, uint64_t id);

void retention_free(struct retention *r);

/*
 * retain.c: how many of the oldest chunks have to go so that there is room for @one; if it is the
 * last, all that are too old.
 */
size_t retention_plan(const struct retention *r, const struct retained_chunk *one, int is_final);

/* Sums of the @count oldest. */
struct retained_chunk retention_sum(const struct retention *r, size_t count);

void retention_drop(struct retention *r, size_t count);
int retention_reserve(struct retention *r); /* for one more: 0 or -ENOMEM */
void retention_add(struct retention *r, const struct retained_chunk *one);

/* Key of a text in the string pool, marked; 0: no memory. */
uint64_t intern_text(struct weft_jfr_writer *w, const char *text, size_t bytes);
uint64_t intern_symbol(struct weft_jfr_writer *w, const char *text, size_t bytes);

#endif
