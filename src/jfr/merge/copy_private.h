/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of a copy share: types of the output, the chunk in the making, references. */
#ifndef WEFT_JFR_COPY_PRIVATE_H
#define WEFT_JFR_COPY_PRIVATE_H

#include "base/buf.h"
#include "base/map.h"
#include "jfr/common/file.h"
#include "jfr/merge/copy.h"
#include "jfr/read/reader.h"

#include <stddef.h>
#include <stdint.h>

enum copy_keys {
	KEYS_FRESH,  /* counted up, a new one in each chunk */
	KEYS_KEPT,   /* words: the source's where it can be; one for each value */
	KEYS_STABLE, /* threads: the source's where it can be; one for each of the source's */
};

/* A type of the output. */
struct copy_type {
	struct copy_type *next;
	uint64_t id;
	enum copy_keys keys;
	uint64_t next_key;
	uint64_t missing;  /* KEPT: a key that no entry has; 0 = none was needed yet */
	size_t words;      /* KEPT: how many are known */
	struct map *taken; /* KEPT, STABLE: keys that have an entry, and words */
};

enum copy_field_flag {
	COPY_TICKS_AT = 1 << 0,  /* a moment */
	COPY_TICKS_FOR = 1 << 1, /* a span of time */
	COPY_STACK = 1 << 2,     /* the event's stack */
	COPY_TYPE_ID = 1 << 3,   /* a number that is a type's */
};

struct copy_class {
	struct copy_type *type;
	uint8_t *flags;    /* [field_count] enum copy_field_flag */
	struct buf values; /* pool entries of this chunk */
	size_t count;
};

/* A set of types of a source: what they are in the output. */
struct copy_set {
	struct copy_set *next;
	const struct class_set *set;
	struct copy_class *classes; /* [count] */
	uint32_t count;             /* the set may be gone */
	struct buf metadata;        /* string table and tree */
	uint64_t metadata_id;
};

struct copy_ref {
	const struct weft_jfr_class *type;
	uint64_t key, out;
};

struct copy_source {
	struct copy_source *next;
	struct copy *copy;
	struct weft_jfr_reader *reader;
	int same_clock, own_numbers;
	struct map *types;           /* number and name -> struct copy_type */
	struct map *threads;         /* type and key -> key in the output */
	struct copy_set *sets, *set; /* set: of the open chunk */
};

struct copy {
	struct file file;
	struct copy_clock clock;
	struct copy_source *sources;
	struct copy_type *types;
	struct map *by_name; /* name, shape and ordinal -> struct copy_type */
	struct map *ids;     /* that are taken */
	uint64_t next_id, next_metadata_id;

	/* the chunk in the making */
	struct buf events, body;
	uint64_t chunk_events;
	struct copy_ref *refs; /* in order of need */
	size_t ref_count, ref_room;
	struct map *ref_places; /* key and index of the class -> index in refs */

	int64_t last_start_ns; /* of a chunk; INT64_MIN = there is none */
	uint64_t last_offset, chunks;
	int failed; /* -ENOMEM */
};

/* copy_types.c: the open chunk's set, made now if need be; NULL: no memory. */
struct copy_set *copy_set_of(struct copy_source *s);
void copy_sets_free(struct copy_source *s);
void copy_types_free(struct copy *c);
/* The output's type for a number of the source that is not declared; NULL: no memory. */
struct copy_type *copy_type_undeclared(struct copy_source *s, int64_t id);

/* copy_metadata.c: string table and tree with the output's numbers. 0, -EBADMSG, -ENOMEM. */
int copy_metadata(struct copy_source *s, struct copy_set *set);

/* copy_value.c: a value in the output's terms, at the end of @out. */
struct copy_writer {
	struct decoder from;
	struct copy_source *source;
	struct buf *out;
	int without_stack;
};
void copy_fields(struct copy_writer *w, const struct weft_jfr_class *class);
void copy_value(struct copy_writer *w, const struct weft_jfr_class *class);

/* copy_pool.c: an entry's key in the output; the entry will be in the chunk if the source has it.
 */
uint64_t copy_reference(struct copy_source *s, const struct weft_jfr_class *class, uint64_t key);
/* Writes all entries that were referred to, and those that these refer to. */
void copy_entries(struct copy_source *s);
void copy_refs_clear(struct copy *c);

/* copy.c: on the source's clock and on the recording's */
int64_t copy_moment(const struct copy_source *s, int64_t ticks);
int64_t copy_span(const struct copy_source *s, int64_t ticks);

#endif
