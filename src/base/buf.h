/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A growable byte buffer. Out of memory is remembered (failed), not reported by every call:
 * check once at the end. Not for the target's paths: it allocates.
 */
#ifndef WEFT_BASE_BUF_H
#define WEFT_BASE_BUF_H

#include <stddef.h>
#include <stdint.h>

struct buf {
	uint8_t *data;
	size_t size, room;
	int failed;
};

void buf_free(struct buf *b);                      /* and zero it */
void buf_clear(struct buf *b);                     /* keeps its room */
uint8_t *buf_reserve(struct buf *b, size_t bytes); /* room for more at the end; NULL: failed */
void buf_put(struct buf *b, const void *data, size_t bytes);
void buf_put_u8(struct buf *b, uint8_t value);
void buf_put_be(struct buf *b, uint64_t value, unsigned int bytes); /* big endian */

#endif
