/* SPDX-License-Identifier: Apache-2.0 */
/* Packs bytes in every way that a recording may come packed, for tests of the reader. */
#ifndef TEST_JFR_PACK_H
#define TEST_JFR_PACK_H

#include "base/buf.h"

#include <stddef.h>
#include <stdint.h>

enum packing { PACK_GZIP, PACK_ZIP, PACK_ZIP_STORED, PACK_ZIP_STREAMED, PACK_LZ4, PACK_ZSTD };
#define PACKINGS 6

extern const char *const pack_names[PACKINGS];

/* Appends an archive of @data. 1; 0: this build has not what it takes. */
int pack(struct buf *out, enum packing how, const void *data, size_t bytes);

struct zip_entry {
	const char *name;
	const void *data;
	size_t bytes;
	int deflated, streamed; /* streamed: sizes and checksum follow the data */
	unsigned int flags;     /* more of the header's */
	uint32_t spoil;         /* checksum is wrong by */
};

void pack_zip(struct buf *out, const struct zip_entry *entries, size_t count);

#endif
