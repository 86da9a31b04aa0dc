/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A second opinion on recordings: walks chunks, metadata and pools by the format alone, and
 * shares no code with src/jfr. Anything out of order fails the running test.
 */
#ifndef TEST_JFR_RAW_H
#define TEST_JFR_RAW_H

#include <stddef.h>
#include <stdint.h>

#define RAW_MOST_CHUNKS 64
#define RAW_MOST_CLASSES 128
#define RAW_MOST_FIELDS 32

struct raw_chunk {
	const uint8_t *data;
	uint64_t bytes, checkpoint, metadata;
	int64_t start_ns, duration_ns, start_ticks, ticks_per_second;
	uint8_t state;
	uint16_t flags;
};

struct raw_file {
	uint8_t *data;
	size_t bytes;
	size_t chunk_count;
	struct raw_chunk chunks[RAW_MOST_CHUNKS];
};

struct raw_field {
	char name[64];
	int64_t class;
	int pooled, array;
	int annotations[8];
	int annotation_count;
};

struct raw_class {
	char name[64], super[64];
	int64_t id;
	int simple;
	int field_count;
	struct raw_field fields[RAW_MOST_FIELDS];
	int annotations[8];
	int annotation_count;
};

struct raw_metadata {
	uint64_t id;
	const uint8_t *body; /* string table and tree */
	size_t body_bytes;
	int class_count;
	struct raw_class classes[RAW_MOST_CLASSES];
};

/* Loads a file; every byte must belong to a whole chunk. */
void raw_load(struct raw_file *f, const char *path);
void raw_free(struct raw_file *f);

void raw_metadata(const struct raw_chunk *c, struct raw_metadata *m);
const struct raw_class *raw_class(const struct raw_metadata *m, const char *name);
const struct raw_class *raw_class_by_id(const struct raw_metadata *m, int64_t id);

uint64_t raw_int(const uint8_t **at, const uint8_t *end);

/* Every entry of every pool of the chunk; a pool that is empty or of unknown type fails. */
typedef void raw_entry_fn(void *arg, const struct raw_class *type, uint64_t key,
			  const uint8_t *value, size_t bytes);
void raw_pools(const struct raw_chunk *c, const struct raw_metadata *m, raw_entry_fn *fn,
	       void *arg);
/* The entry's bytes, or NULL when the chunk has none of that key. */
const uint8_t *raw_entry(const struct raw_chunk *c, const struct raw_metadata *m, const char *type,
			 uint64_t key, size_t *bytes);

/* Every event but metadata and checkpoints; each must be used up by its fields exactly. */
typedef void raw_event_fn(void *arg, const struct raw_class *type, const uint8_t *fields,
			  size_t bytes);
void raw_events(const struct raw_chunk *c, const struct raw_metadata *m, raw_event_fn *fn,
		void *arg);

#endif
