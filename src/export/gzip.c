/* SPDX-License-Identifier: Apache-2.0 */
#include "export/gzip.h"

#include <errno.h>
#define ZLIB_CONST
#include <zlib.h>

#define GZIP_WINDOW (15 + 16) /* zlib: 32 KiB, and a gzip header */

struct gzip {
	ProtobufCBuffer base; /* first: the callback gets its address */
	struct output *output;
	z_stream stream;
	int error;
	unsigned char out[16 * 1024];
};

/* Feeds what stands in the stream's input; with Z_FINISH to the very end. */
static void deflate_all(struct gzip *z, int flush)
{
	int state;

	do {
		z->stream.next_out = z->out;
		z->stream.avail_out = sizeof(z->out);
		state = deflate(&z->stream, flush);
		if (state != Z_OK && state != Z_STREAM_END && state != Z_BUF_ERROR)
			z->error = -EIO;
		if (!z->error)
			z->error = output_write(z->output, z->out,
						sizeof(z->out) - z->stream.avail_out);
	} while (!z->error && z->stream.avail_out == 0);
}

static void append(ProtobufCBuffer *base, size_t bytes, const uint8_t *data)
{
	struct gzip *z = (struct gzip *)base;

	while (bytes && !z->error) {
		size_t piece = bytes < 1U << 30 ? bytes : 1U << 30;

		z->stream.next_in = data;
		z->stream.avail_in = (uInt)piece;
		deflate_all(z, Z_NO_FLUSH);
		data += piece;
		bytes -= piece;
	}
}

int gzip_message(struct output *o, const ProtobufCMessage *message)
{
	struct gzip z = {.base.append = append, .output = o};

	if (deflateInit2(&z.stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, GZIP_WINDOW, 8,
			 Z_DEFAULT_STRATEGY) != Z_OK)
		return -ENOMEM;
	protobuf_c_message_pack_to_buffer(message, &z.base);
	if (!z.error)
		deflate_all(&z, Z_FINISH);
	deflateEnd(&z.stream);
	return z.error;
}
