/* SPDX-License-Identifier: Apache-2.0 */
#include "export/gzip.h"

#include <errno.h>
#include <string.h>
#define ZLIB_CONST
#include <zlib.h>

#define GZIP_WINDOW (15 + 16) /* zlib: 32 KiB, and a gzip header */

struct gzip {
	ProtobufCBuffer base; /* first: the callback gets its address */
	struct output *output;
	z_stream stream;
	int error;
	size_t used; /* of in: the packer hands over a few bytes at a time */
	unsigned char in[16 * 1024], out[16 * 1024];
};

/* Feeds what stands in the stream's input; with Z_FINISH to the very end. */
static void deflate_all(struct gzip *z, int how)
{
	int state;

	do {
		z->stream.next_out = z->out;
		z->stream.avail_out = sizeof(z->out);
		state = deflate(&z->stream, how);
		if (state != Z_OK && state != Z_STREAM_END && state != Z_BUF_ERROR)
			z->error = -EIO;
		if (!z->error)
			z->error = output_write(z->output, z->out,
						sizeof(z->out) - z->stream.avail_out);
	} while (!z->error && z->stream.avail_out == 0);
}

static void gzip_flush(struct gzip *z, int how)
{
	z->stream.next_in = z->in;
	z->stream.avail_in = (uInt)z->used;
	z->used = 0;
	deflate_all(z, how);
}

static void gzip_append(ProtobufCBuffer *base, size_t bytes, const uint8_t *data)
{
	struct gzip *z = (struct gzip *)base;

	while (bytes && !z->error) {
		size_t room = sizeof(z->in) - z->used;
		size_t piece = bytes < room ? bytes : room;

		memcpy(z->in + z->used, data, piece);
		z->used += piece;
		data += piece;
		bytes -= piece;
		if (z->used == sizeof(z->in))
			gzip_flush(z, Z_NO_FLUSH);
	}
}

int gzip_message(struct output *o, const ProtobufCMessage *message)
{
	struct gzip z = {.base.append = gzip_append, .output = o};

	if (deflateInit2(&z.stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, GZIP_WINDOW, 8,
			 Z_DEFAULT_STRATEGY) != Z_OK)
		return -ENOMEM;
	protobuf_c_message_pack_to_buffer(message, &z.base);
	if (!z.error)
		gzip_flush(&z, Z_FINISH);
	deflateEnd(&z.stream);
	return z.error;
}
