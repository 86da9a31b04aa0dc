/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reader's state: a mapped file, the chunk being read, and its constant pools.
 *
 * Pools are read when the first reference of the chunk is met: every checkpoint is walked
 * once and each entry's place noted; an entry is decoded when it is first referred to, and
 * kept until the chunk is left. A reference back to an entry that is being decoded, or one
 * nested too deep, is null: what users get is always a tree of bounded depth.
 *
 * Damage is final: the first inconsistency ends the reading with -EBADMSG and a reason.
 */
#ifndef WEFT_JFR_READER_H
#define WEFT_JFR_READER_H

#include "jfr/common/arena.h"
#include "jfr/common/chunk_parts.h"
#include "jfr/common/classes.h"
#include "jfr/common/input.h"

#include <weft/jfr.h>

#include <stddef.h>
#include <stdint.h>

enum pool_slot_state { SLOT_UNREAD, SLOT_READING, SLOT_READ };

struct pool_slot {
	uint64_t key;
	const struct weft_jfr_class *type; /* NULL = empty slot */
	const uint8_t *value;
	const struct weft_jfr_node *node; /* once read */
	uint32_t bytes;
	uint8_t state; /* enum pool_slot_state */
};

#define POOL_RECENT 1024 /* a power of two */

struct pool_index {
	struct weft_jfr_node recent[POOL_RECENT]; /* what references led to; no type: nothing */
	struct pool_slot *slots;
	size_t room, count; /* room is a power of two */
	uint64_t salt;
	int loaded;
	struct arena memory; /* decoded entries */
};

struct weft_jfr_reader {
	const uint8_t *map;
	size_t map_bytes;
	uint64_t map_start;  /* offset in the file; 0 unless it is followed */
	int borrowed;        /* the memory is the caller's */
	char packing[96];    /* how the archive that it came from is damaged; "" = it is not */
	int follows, fd;     /* the file is being written: it stays open */
	char *path;          /* of that file */
	int skips;           /* the file was replaced: chunks that were read before are skipped */
	int ends;            /* nobody writes it any more */
	int live;            /* the chunk being read may grow */
	uint64_t next_chunk; /* offset of the chunk after this one */
	uint64_t chunk_count;
	int in_chunk;
	struct weft_jfr_chunk_view chunk; /* but for number and gmt_offset_s */
	const uint8_t *chunk_data;
	uint64_t checkpoint, metadata; /* offsets in the chunk */
	uint8_t fixed, state;          /* state: 0 = complete */
	const uint8_t *at;             /* next event */

	struct class_set *classes; /* of this chunk; older ones behind it */
	const struct weft_jfr_class **event_types;
	size_t event_type_count, event_type_room;

	struct pool_index pools;
	struct arena memory; /* of one event */

	int (*wanted)(const struct weft_jfr_class *type, void *arg);
	void *wanted_arg;

	int64_t first_ns, last_ns;
	int rc; /* sticky: 0 or -errno */
	char error[256];
};

/* A reader of @data, which must stay. NULL with errno: EBADMSG, ENOMEM. */
struct weft_jfr_reader *reader_of_memory(const void *data, size_t bytes);

/* Notes why reading ends; @at is a place in the map. The first reason stays. Returns r->rc. */
int reader_damaged(struct weft_jfr_reader *r, const void *at, const char *reason);
int reader_damaged_at(struct weft_jfr_reader *r, uint64_t offset, const char *reason);
int reader_no_memory(struct weft_jfr_reader *r); /* -ENOMEM */
/* For weft_jfr_filter(): no event's fields are wanted, their times are enough. */
int reader_no_fields(const struct weft_jfr_class *type, void *arg);

/*
 * chunk_view.c: opens the next chunk, its header checked. 1; 0: the file is at its end; -EAGAIN:
 * the chunk is not whole yet; -errno.
 */
int chunk_open(struct weft_jfr_reader *r);
int reader_next_chunk(struct weft_jfr_reader *r); /* leaves the open chunk before */
/* Looks whether a live chunk has grown: 1; 0: it is complete; -EAGAIN: not yet; -errno. */
int chunk_grow(struct weft_jfr_reader *r);

/*
 * follow.c: maps the next chunk and reads its header, or reads that of the open chunk anew. 1;
 * 0: there is no more; -EAGAIN: not yet; -errno.
 */
int follow_open_chunk(struct weft_jfr_reader *r, uint8_t *header, size_t *left);
int follow_grow_chunk(struct weft_jfr_reader *r, uint8_t *header);
/* 0: @fd is the reader's now; -errno: it is still the caller's. */
int follow_fd(struct weft_jfr_reader *r, int fd, const char *path);
void follow_close(struct weft_jfr_reader *r);

/* pool_index.c */
void pools_stale(struct weft_jfr_reader *r); /* the chunk grew: new entries are to be found */
void pools_leave(struct weft_jfr_reader *r);
struct pool_slot *pools_find(struct weft_jfr_reader *r, const struct weft_jfr_class *type,
			     uint64_t key);

/*
 * The place at which what a reference led to is remembered. Keys are mostly counted up, so those
 * of neighbours have different places.
 */
static inline struct weft_jfr_node *pools_recent(struct weft_jfr_reader *r,
						 const struct weft_jfr_class *type, uint64_t key)
{
	return &r->pools.recent[(key + type->index * UINT64_C(131)) & (POOL_RECENT - 1)];
}

/*
 * decode.c. A decoder turns the bytes of one event or pool entry into nodes. @budget bounds how
 * many: a value may take no bytes, so that the size of the file does not.
 */
struct decoder {
	struct weft_jfr_reader *reader;
	struct input in;
	struct arena *memory;
	size_t budget;
	int depth; /* of structs and references around the value */
};

void decoder_start(struct decoder *d, struct weft_jfr_reader *r, const uint8_t *data, size_t bytes,
		   struct arena *memory);
/* [class->field_count] nodes, or NULL with d->in.failed (or r->rc) set. */
const struct weft_jfr_node *decode_fields(struct decoder *d, const struct weft_jfr_class *class);
void skip_value(struct decoder *d, const struct weft_jfr_class *class);
void skip_field(struct decoder *d, const struct class_field *f);

/* view.c: the "value" of the annotation of this name, "" if it has none; NULL: not annotated. */
const char *annotation_value(const struct weft_jfr_annotation_view *a, size_t count,
			     const char *name);

#endif
