/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A chunk as it is written, whole at once: the header (big endian), the metadata event, the events,
 * and one checkpoint event with the entries of constant pools that they use. The header's state
 * byte is 0, which tells readers that the chunk is complete.
 */
#ifndef WEFT_JFR_CHUNK_PARTS_H
#define WEFT_JFR_CHUNK_PARTS_H

#include "base/buf.h"

#include <stdint.h>
#include <sys/uio.h>

#define CHUNK_HEADER_BYTES 68
#define CHUNK_FLAGS_AT 66 /* two bytes, and both flags are in the second */

enum chunk_flag {
	CHUNK_COMPRESSED = 1, /* integers are LEB128 */
	CHUNK_FINAL = 2,      /* the file's last one */
};

struct chunk_clock {
	int64_t start_ns, duration_ns; /* the start: since 1970 */
	int64_t start_ticks, ticks_per_second;
};

/* The caller fills the metadata and the checkpoint. */
struct chunk_parts {
	struct buf header, metadata, checkpoint;
	const struct buf *events; /* the caller's */
	struct iovec part[4];     /* as they stand in the file */
};

/* Makes the header and the list of parts. 0; -ENOMEM: one of the buffers has failed; -EFBIG:
 * readers load a chunk into one array, and it is too large for that. */
int chunk_parts_finish(struct chunk_parts *p, const struct chunk_clock *clock, unsigned int flags);
void chunk_parts_free(struct chunk_parts *p);

#endif
