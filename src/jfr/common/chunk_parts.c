/* SPDX-License-Identifier: Apache-2.0 */
/* A chunk as it is written: see chunk_parts.h. */
#include "jfr/common/chunk_parts.h"

#include <errno.h>

#define LARGEST_CHUNK INT32_MAX

static void chunk_parts_put_header(struct chunk_parts *p, const struct chunk_clock *clock,
				   unsigned int flags)
{
	uint64_t checkpoint = CHUNK_HEADER_BYTES + p->metadata.size + p->events->size;
	struct buf *out = &p->header;

	buf_put(out, "FLR", 4);
	buf_put_be(out, 2, 2); /* version 2.1 */
	buf_put_be(out, 1, 2);
	buf_put_be(out, checkpoint + p->checkpoint.size, 8);
	buf_put_be(out, checkpoint, 8);
	buf_put_be(out, CHUNK_HEADER_BYTES, 8); /* metadata */
	buf_put_be(out, (uint64_t)clock->start_ns, 8);
	buf_put_be(out, (uint64_t)clock->duration_ns, 8);
	buf_put_be(out, (uint64_t)clock->start_ticks, 8);
	buf_put_be(out, (uint64_t)clock->ticks_per_second, 8);
	buf_put_be(out, 0, 2); /* state: complete */
	buf_put_be(out, flags, 2);
}

int chunk_parts_finish(struct chunk_parts *p, const struct chunk_clock *clock, unsigned int flags)
{
	const struct buf *all[] = {&p->header, &p->metadata, p->events, &p->checkpoint};
	uint64_t bytes = 0;

	chunk_parts_put_header(p, clock, flags);
	for (int i = 0; i < 4; i++) {
		p->part[i] = (struct iovec){all[i]->data, all[i]->size};
		bytes += all[i]->size;
	}
	if (p->header.failed || p->metadata.failed || p->checkpoint.failed)
		return -ENOMEM;
	return bytes > LARGEST_CHUNK ? -EFBIG : 0;
}

void chunk_parts_free(struct chunk_parts *p)
{
	buf_free(&p->header);
	buf_free(&p->metadata);
	buf_free(&p->checkpoint);
}
