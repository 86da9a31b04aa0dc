/* SPDX-License-Identifier: Apache-2.0 */
#include "export/gzip.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <zlib.h>

#define GZIP_WINDOW (15 + 16) /* zlib: 32 KiB, and a gzip header */

static int gzip_write(struct output *o, z_stream *z)
{
	unsigned char out[16 * 1024];
	int state, rc;

	do {
		z->next_out = out;
		z->avail_out = sizeof(out);
		state = deflate(z, Z_FINISH);
		rc = output_write(o, out, sizeof(out) - z->avail_out);
	} while (!rc && state == Z_OK);
	return rc || state == Z_STREAM_END ? rc : -EIO;
}

int gzip_message(struct output *o, const ProtobufCMessage *message)
{
	size_t bytes = protobuf_c_message_get_packed_size(message);
	unsigned char *packed = bytes <= UINT_MAX ? malloc(bytes + 1) : NULL;
	z_stream z = {.next_in = packed, .avail_in = (uInt)bytes};
	int rc = -ENOMEM;

	if (packed && deflateInit2(&z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, GZIP_WINDOW, 8,
				   Z_DEFAULT_STRATEGY) == Z_OK) {
		protobuf_c_message_pack(message, packed);
		rc = gzip_write(o, &z);
		deflateEnd(&z);
	}
	free(packed);
	return rc;
}
