/* SPDX-License-Identifier: Apache-2.0 */
/* Growable byte buffer and the two variable-length integer encodings. */
#include "base/buf.h"

#include "base/array.h"

#include <stdlib.h>
#include <string.h>

void buf_free(struct buf *b)
{
	free(b->data);
	memset(b, 0, sizeof(*b));
}

void buf_clear(struct buf *b)
{
	b->size = 0;
	b->failed = 0;
}

uint8_t *buf_reserve(struct buf *b, size_t bytes)
{
	uint8_t *data = NULL;

	if (b->data && bytes <= b->room - b->size && !b->failed)
		return b->data + b->size;
	if (!b->failed && bytes <= SIZE_MAX / 2 - b->size)
		data = array_grown(b->data, b->size + bytes, &b->room, 1);
	b->failed = !data;
	if (!data)
		return NULL;
	b->data = data;
	return data + b->size;
}

void buf_put(struct buf *b, const void *data, size_t bytes)
{
	uint8_t *to = buf_reserve(b, bytes);

	if (!to || !bytes)
		return;
	memcpy(to, data, bytes);
	b->size += bytes;
}

void buf_put_u8(struct buf *b, uint8_t value)
{
	buf_put(b, &value, 1);
}

void buf_put_be(struct buf *b, uint64_t value, unsigned int bytes)
{
	uint8_t out[8];

	for (unsigned int i = 0; i < bytes && i < sizeof(out); i++)
		out[i] = (uint8_t)(value >> (8 * (bytes - 1 - i)));
	buf_put(b, out, bytes <= sizeof(out) ? bytes : sizeof(out));
}
