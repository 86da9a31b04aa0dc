/* SPDX-License-Identifier: Apache-2.0 */
/* LZ4 frames, one after the other; checksums are the library's business. */
#ifdef WEFT_HAVE_LZ4

#include "jfr/read/unpack_private.h"

#include <errno.h>
#include <lz4frame.h>

/* All of @bytes of u->input. *wanted: what the frame still asks for, 0 = it is over. */
static int unpack_lz4_take(struct unpack *u, LZ4F_dctx *context, size_t bytes, size_t *wanted)
{
	size_t at = 0, room = 0, used;

	/* output that fills its room may have more behind it, without further input */
	while (at < bytes || room == sizeof(u->output)) {
		int rc;

		room = sizeof(u->output);
		used = bytes - at;
		*wanted = LZ4F_decompress(context, u->output, &room, u->input + at, &used, NULL);
		if (LZ4F_isError(*wanted)) {
			*wanted = 0;
			return unpack_breaks(u, "damaged");
		}
		rc = unpack_put(u, u->output, room);
		if (rc != 0)
			return rc;
		at += used;
		if (at == bytes && *wanted == 0)
			return 0;
	}
	return 0;
}

int unpack_lz4(struct unpack *u)
{
	LZ4F_dctx *context;
	size_t wanted = 1;
	int n, rc = 0;

	if (LZ4F_isError(LZ4F_createDecompressionContext(&context, LZ4F_VERSION)))
		return -ENOMEM;
	while (rc == 0 && !u->damage[0]) {
		n = unpack_more(u);
		if (n <= 0) {
			rc = n;
			break;
		}
		rc = unpack_lz4_take(u, context, (size_t)n, &wanted);
	}
	if (rc == 0 && wanted)
		unpack_breaks(u, "cut short");
	LZ4F_freeDecompressionContext(context);
	return rc;
}

#endif
