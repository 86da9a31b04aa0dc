/* SPDX-License-Identifier: Apache-2.0 */
/* Builds recordings that weft would never write, byte by byte, for tests of the reader. */
#ifndef TEST_JFR_FAKE_H
#define TEST_JFR_FAKE_H

#include "base/buf.h"

#include <stddef.h>
#include <stdint.h>

struct fake_field {
	const char *name;
	int64_t class;
	int pooled, array;
};

struct fake_attribute { /* a list ends with one without a name; so do the others */
	const char *name, *value;
};

struct fake_note {
	int64_t class; /* 0 = the end */
	const struct fake_attribute *members;
};

struct fake_setting {
	const char *name;
	int64_t class;
	const char *default_value;
};

struct fake_class { /* a list ends with one without a name */
	int64_t id;
	const char *name, *super;
	int simple;
	struct fake_field fields[8];
	const struct fake_setting *settings; /* NULL = none */
	const struct fake_note *notes;       /* annotations; NULL = none */
};

struct fake {
	struct buf file;
	size_t chunk;                /* offset of the chunk being built */
	size_t metadata, checkpoint; /* offsets in it; 0 = none yet */
	int fixed;                   /* integers without compression */
};

/* Integers as the chunk has them; @width in bytes without compression. */
void fake_int(const struct fake *f, struct buf *b, uint64_t value, unsigned int width);
void fake_text(const struct fake *f, struct buf *b, int encoding, const char *text);

void fake_chunk(struct fake *f, int fixed);
void fake_metadata(struct fake *f, const struct fake_class *classes);
void fake_event(struct fake *f, int64_t type, const struct buf *payload);
/* Pools: count and then, in @entries, all (type, count, (key, value)*). */
void fake_checkpoint(struct fake *f, unsigned int pools, const struct buf *entries);
void fake_end(struct fake *f); /* fills in the header */
void fake_save(const struct fake *f, const char *path);

#endif
